import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.registry import ToolRegistry
from hermes.tools.toolsets import LEGACY, Toolset, bundled, known_names, resolve, resolve_all
from hermes.types.error import ConfigError


def registry(*tools: tuple[str, str]) -> ToolRegistry:
    made = ToolRegistry()
    for name, toolset in tools:
        made.register(name, toolset, {"name": name, "description": ""}, lambda _args, **_: "{}")
    return made


def test_includes_compose() -> None:
    assert resolve("debugging", registry()) == resolve_all(["terminal", "web", "file"], registry())


def test_platform_presets_are_the_core() -> None:
    assert resolve("hermes-cli", registry()) == resolve("core", registry())
    assert "terminal" not in resolve("hermes-webhook", registry())


def test_tools_registered_for_a_toolset_join_it() -> None:
    assert resolve("file", registry(("grep_more", "file"))) == {
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "grep_more",
    }


def test_a_toolset_may_exist_only_because_tools_were_registered_for_it() -> None:
    assert resolve("weather", registry(("weather", "weather"))) == {"weather"}
    for name, meant in (("weather", ""), ("termnal", r" Did you mean terminal\?")):
        told = f"There is no toolset '{name}'.{meant} hermes tools list --toolsets shows them."
        with pytest.raises(ConfigError, match=told):
            resolve(name, registry())


def test_aliases_and_old_names_lead_to_today_s() -> None:
    made = registry(("mcp_git_log", "mcp-git"))
    made.register_toolset_alias("git", "mcp-git")
    assert resolve("git", made) == {"mcp_git_log"}
    assert {old: resolve(old, made) for old in LEGACY} == {
        old: resolve(new, made) for old, new in LEGACY.items()
    }


def test_a_circle_of_includes_is_named() -> None:
    table = {
        "a": Toolset(name="a", includes=("b",)),
        "b": Toolset(name="b", includes=("c",)),
        "c": Toolset(name="c", includes=("b",)),
    }
    with pytest.raises(ConfigError, match="in a circle: b → c → b"):
        resolve("a", registry(), table)


def test_all_is_everything() -> None:
    made = registry(("weather", "weather"))
    assert resolve("all", made) == resolve("*", made) == resolve_all(known_names(made), made)


@given(st.permutations(sorted(bundled())))
def test_the_order_of_names_does_not_matter(names: list[str]) -> None:
    made = registry()
    assert resolve_all(names[:5], made) == resolve_all(reversed(names[:5]), made)
