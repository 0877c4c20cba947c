from pathlib import Path
from typing import Any

import pytest

from hermes.tools.availability import Checks
from hermes.tools.needs import missing_variables
from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Schemas, get_tool_definitions


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def add(
    registry: ToolRegistry, name: str, toolset: str = "bench", description: str = "", **more: Any
) -> None:
    registry.register(
        name,
        toolset,
        {"name": name, "description": description, "parameters": {"type": "object"}},
        lambda _a, **_: "{}",
        **more,
    )


def names(schemas: Schemas, *toolsets: str) -> list[str]:
    return [one["function"]["name"] for one in schemas.snapshot(toolsets).definitions]


def test_definitions_are_sorted_and_in_the_openai_function_form() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "b", description="Second.")
    add(schemas.registry, "a")
    assert schemas.snapshot(("bench",)).definitions[1] == {
        "type": "function",
        "function": {"name": "b", "description": "Second.", "parameters": {"type": "object"}},
    }
    assert names(schemas, "bench") == ["a", "b"]


def test_a_check_is_asked_once_for_all_its_tools_and_remembered_for_30_seconds() -> None:
    asked: list[float] = []
    clock = Clock()

    def check() -> bool:
        asked.append(clock.now)
        return True

    schemas = Schemas(ToolRegistry())
    schemas.registry.checks = Checks(clock=clock)
    for name in ("a", "b", "c"):
        add(schemas.registry, name, check_fn=check)
    assert names(schemas, "bench") == ["a", "b", "c"]
    clock.now = 29.0
    add(schemas.registry, "d", check_fn=check)
    assert names(schemas, "bench") == ["a", "b", "c", "d"]
    clock.now = 31.0
    names(schemas, "bench")
    assert asked == [0.0, 31.0]


def test_a_check_that_raises_means_unavailable() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a", check_fn=lambda: 1 / 0)
    add(schemas.registry, "b", toolset="fine")
    assert names(schemas, "bench", "fine") == ["b"]
    assert tuple(map(schemas.registry.is_toolset_available, ("bench", "fine"))) == (False, True)


def test_disabled_toolsets_are_subtracted() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a", toolset="x")
    add(schemas.registry, "b", toolset="y")
    assert [one["function"]["name"] for one in schemas.snapshot(None, ("y",)).definitions] == ["a"]


def test_a_sentence_that_names_an_absent_tool_is_left_out() -> None:
    schemas = Schemas(ToolRegistry())
    words = "Opens a page. For plain text web_extract is faster. Gives a snapshot."
    add(schemas.registry, "browse", description=words)
    add(schemas.registry, "web_extract", toolset="web", check_fn=lambda: False)
    (alone,) = schemas.snapshot(("bench",)).definitions
    assert alone["function"]["description"] == "Opens a page. Gives a snapshot."
    add(schemas.registry, "web_extract", toolset="web")
    together = {
        one["function"]["name"]: one["function"]["description"]
        for one in schemas.snapshot(("bench", "web")).definitions
    }
    assert together["browse"] == words


def test_dynamic_overrides_replace_parts_of_a_schema() -> None:
    schemas = Schemas(ToolRegistry())
    add(
        schemas.registry,
        "a",
        description="Static.",
        dynamic_schema_overrides=lambda: {"description": "Live."},
    )
    assert schemas.snapshot(("bench",)).definitions[0]["function"]["description"] == "Live."


def test_answers_are_remembered_by_generation_and_configuration() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a")
    first = schemas.snapshot(("bench",))
    assert schemas.snapshot(("bench",)) is first
    add(schemas.registry, "b")
    assert schemas.snapshot(("bench",)) is not first


def test_a_snapshot_does_not_change_when_the_registry_does() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a")
    kept = schemas.snapshot(("bench",))
    schemas.registry.deregister("a")
    assert list(kept.tools) == ["a"]


def test_the_documented_function_takes_its_documented_arguments() -> None:
    assert [one["function"]["name"] for one in get_tool_definitions(["todo"], None, True)] == ["todo"]
    with pytest.raises(Exception, match="There is no toolset 'nowhere'"):
        get_tool_definitions(["nowhere"])


def test_a_tools_own_check_decides_and_the_secrets_it_names_are_only_shown() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "lacks", requires_env=["ONE_KEY", "NO_KEY"])
    add(schemas.registry, "either", requires_env=["ONE_KEY", "NO_KEY"], check_fn=lambda: True)
    add(schemas.registry, "neither", requires_env=["ONE_KEY"], check_fn=lambda: False)
    assert names(schemas, "bench") == ["either", "lacks"]
    entries = schemas.registry.entries()
    assert {name: missing_variables(entry, {"ONE_KEY": "1"}) for name, entry in entries.items()} == {
        "either": (),
        "lacks": ("NO_KEY",),
        "neither": (),
    }


def test_the_first_check_of_a_toolset_is_the_toolsets_own() -> None:
    registry = ToolRegistry()
    add(registry, "b", check_fn=lambda: False)
    add(registry, "a", check_fn=lambda: True)
    add(registry, "free", toolset="plain")
    assert [registry.is_toolset_available(name) for name in ("bench", "plain", "nowhere")] == [
        False,
        True,
        False,
    ]


def test_an_edit_of_the_configuration_makes_definitions_anew(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    schemas = Schemas(ToolRegistry(), config_file=config)
    add(schemas.registry, "a", dynamic_schema_overrides=lambda: {"description": config.read_text()})
    config.write_text("one")
    assert schemas.snapshot(("bench",)).definitions[0]["function"]["description"] == "one"
    config.write_text("three")
    assert schemas.snapshot(("bench",)).definitions[0]["function"]["description"] == "three"
