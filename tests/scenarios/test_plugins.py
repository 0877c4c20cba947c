"""Plugins are loaded when they are enabled, each by itself, and what they add is used."""

import json
import py_compile
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from hermes.plugins.project_plugins import ProjectPlugins
from hermes.runtime import Runtime
from hermes.testing import call, say
from hermes.types.message import ToolResult
from tests.scenarios.planted_plugins import Plant, configure, opened, options, plant

__all__ = ["plant"]

pytestmark = pytest.mark.anyio
TOOL = """
import json
from tools.registry import registry

def coin(args, **keywords):
    return json.dumps({"side": "heads"})

SCHEMA = {"name": "coin", "description": "Toss a coin.", "parameters": {"type": "object", "properties": {}}}

def register(ctx):
    ctx.register_tool("coin", "games", SCHEMA, coin)
"""


def states(runtime: Runtime) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {one.found.key: (one.state, one.faults) for one in runtime.plugins}


async def test_a_plugin_runs_only_when_it_is_enabled_and_its_tool_is_offered_then(
    environ: dict[str, str], tmp_path: Path, plant: Plant
) -> None:
    plant("games/luck", TOOL)
    async with opened(environ) as runtime:
        assert (runtime.plugins, runtime.registry.get_entry("coin")) == ((), None)
    configure(environ, enabled=["games/luck"])
    async with opened(environ, call("coin", {}), say("heads")) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("toss")
        results = [one.content for one in session.log if isinstance(one, ToolResult)]
        entry = runtime.registry.get_entry("coin")
        await session.close()
    assert results == ['{"side": "heads"}']
    assert entry is not None
    assert (entry.source, entry.toolset) == ("plugin:games/luck", "games")
    assert [(one.state, one.provides) for one in runtime.plugins] == [("loaded", ("tool coin",))]
    assert runtime.registry.get_entry("coin") is None
    assert [name for name in sys.modules if name.startswith("hermes_plugins.")] == []


async def test_plugins_that_were_enabled_or_disabled_since_are_taken_without_a_new_start(
    environ: dict[str, str], tmp_path: Path, plant: Plant
) -> None:
    plant("luck", TOOL)
    plant("other", "def register(ctx):\n    ctx.register_command('hey', print)")
    plant("bad", "raise ValueError('no')")
    configure(environ, enabled=["other"])
    async with opened(environ, call("coin", {}), say("heads"), say("none")) as runtime:
        (other,) = [one for one in runtime.plugins if one.found.key == "other"]
        assert await runtime.take_plugins() == []
        configure(environ, enabled=["other", "luck", "bad"])
        assert await runtime.take_plugins() == [
            "plugin bad: ValueError: no",
            "The plugin luck is loaded from now on.",
        ]
        assert await runtime.take_plugins() == []
        assert [one for one in runtime.plugins if one.found.key == "other"] == [other]
        session = await runtime.session(options(tmp_path))
        await session.send("toss")
        await session.close()
        results = [one.content for one in session.log if isinstance(one, ToolResult)]
        configure(environ, enabled=["luck"])
        assert await runtime.take_plugins() == ["The plugin other is off from now on."]
        assert (results, runtime.services.extensions.commands) == (['{"side": "heads"}'], {})
    assert [name for name in sys.modules if name.startswith("hermes_plugins.")] == []


SAYS = "def register(ctx):\n    ctx.register_command('say', lambda words: {!r})\n"


async def test_a_plugin_whose_code_was_changed_is_loaded_anew_with_the_next_session(
    environ: dict[str, str], plant: Plant
) -> None:
    folder = plant("own", SAYS.format("one"))
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        commands = runtime.services.extensions.commands
        (folder / "seen.txt").write_text("data of its own")
        assert (await runtime.take_plugins(), commands["say"].handler("")) == ([], "one")
        (folder / "__init__.py").write_text(SAYS.format("two"))
        anew = ["The plugin own is loaded anew, as it was changed."]
        assert (await runtime.take_plugins(), commands["say"].handler("")) == (anew, "two")
        configure(environ, enabled=["own"], entries={"own": {"isolated": False, "allow_tool_override": True}})
        assert (await runtime.take_plugins(), await runtime.take_plugins()) == (anew, [])
        (folder / "__init__.py").write_text("raise ValueError('no')")
        assert (await runtime.take_plugins(), commands) == (["plugin own: ValueError: no"], {})


async def test_a_projects_plugin_that_was_changed_is_off_until_it_is_enabled_again_and_then_the_new_one(
    environ: dict[str, str], plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    folder = plant("own", SAYS.format("one"), top=project / ".hermes" / "plugins")
    monkeypatch.chdir(project)
    configure(environ, enabled=["own"], project=True)
    async with opened(environ) as runtime:
        runtime.trust.keep(project, counts=True)
    plugins = ProjectPlugins(Path(environ["HERMES_HOME"]) / "project-plugins")
    plugins.accept(folder)
    async with opened(environ) as runtime:
        commands = runtime.services.extensions.commands
        assert commands["say"].handler("") == "one"
        (folder / "__init__.py").write_text(SAYS.format("two"))
        changed = "nobody has looked at its files as they are now; hermes plugins enable own does."
        assert (await runtime.take_plugins(), commands) == ([f"plugin own: {changed}"], {})
        plugins.accept(folder)
        assert await runtime.take_plugins() == ["The plugin own is loaded from now on."]
        assert commands["say"].handler("") == "two"


async def test_what_runs_is_what_the_files_say_and_no_bytecode_that_lies_beside_them(
    environ: dict[str, str], plant: Plant
) -> None:
    folder = plant("luck", "raise ValueError('bytecode')")
    py_compile.compile(
        str(folder / "__init__.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    (folder / "__init__.py").write_text(TOOL)
    configure(environ, enabled=["luck"])
    async with opened(environ) as runtime:
        assert states(runtime) == {"luck": ("loaded", ())}


@pytest.mark.parametrize(
    ("more", "state"),
    [({"disabled": ["luck"]}, {"luck": ("off", ())}), ({"safe_mode": True}, {})],
)
async def test_what_is_disabled_and_the_safe_mode_win_over_what_is_enabled(
    environ: dict[str, str], plant: Plant, more: dict[str, Any], state: dict[str, Any]
) -> None:
    plant("luck", "raise SystemExit")
    configure(environ, enabled=["luck"], **more)
    async with opened(environ) as runtime:
        assert states(runtime) == state


async def test_an_enabled_plugin_that_is_not_there_is_named(environ: dict[str, str]) -> None:
    configure(environ, enabled=["luck"])
    async with opened(environ) as runtime:
        assert states(runtime) == MISSING


MISSING = {"luck": ("faulty", ("it is enabled, and there is no plugin of that name.",))}
BOMB = "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"


@pytest.mark.parametrize(
    ("code", "manifest", "fault"),
    [
        ("def register(ctx):\n    raise ValueError('no')", "", "ValueError: no"),
        ("raise SystemExit(3)", "", "SystemExit: 3"),
        (
            "class E(Exception):\n    def __str__(self): raise KeyError\nraise E",
            "",
            "E",
        ),
        ("raise ValueError('\\x1b[31mred')", "", "ValueError: ⟨U+001B⟩[31mred"),
        ("def register(ctx):\n    import time; time.sleep(20)", "", "it was not loaded within 0.2 seconds."),
        ("x = 1", "", "it has no function register(ctx)."),
        ("def register(:", "", "SyntaxError: invalid syntax (__init__.py, line 1)"),
        ("", BOMB, "plugin.yaml has more than 500 values."),
        ("", "- x\n", "plugin.yaml is no table of names and values."),
        ("", "name: [x\n", "plugin.yaml is no YAML, line 2: expected ',' or ']', but got '<stream end>'."),
        ("", "name: ../x\n", "plugin.yaml names the plugin '../x': letters, digits, ., _ and -, 64 at most."),
        (
            "",
            "kind: virus\n",
            "plugin.yaml has the kind 'virus'; there are standalone, backend, exclusive, platform, model-provider.",
        ),
        ("", "requires_env: [{name: LUCK_KEY}, OTHER]\n", "it needs LUCK_KEY, OTHER, which is not set."),
        (
            "def register(ctx):\n    for _ in range(2): ctx.register_command('toss', print)",
            "",
            "there is a command toss already.",
        ),
    ],
)
async def test_a_faulty_plugin_is_named_leaves_nothing_and_stops_no_other(
    environ: dict[str, str], plant: Plant, code: str, manifest: str, fault: str
) -> None:
    plant("bad", f"{TOOL}\n{code}" if "register(ctx)" in code else code, manifest)
    plant("good", TOOL.replace("coin", "die"))
    configure(environ, enabled=["bad", "good"], load_timeout=0.2 if "sleep" in code else 20)
    async with opened(environ) as runtime:
        told = states(runtime)
        assert told["bad"][0] == "faulty"
        assert [one[: len(fault)] for one in told["bad"][1]] == [fault]
        assert told["good"] == ("loaded", ())
        assert {"coin", "die"} & set(runtime.registry.get_all_tool_names()) == {"die"}
        assert runtime.services.extensions.commands == {}


HOOKS = """
def register(ctx):
    ctx.register_hook("pre_everything\\x1b[31m", print)
    ctx.register_hook("on_session_start", lambda what: None)
    ctx.register_hook("on_session_end", lambda **told: None)
    ctx.register_tool("coin", "games", SCHEMA, coin)
"""


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_hook_that_cannot_be_is_refused_and_the_rest_of_its_plugin_loaded(
    environ: dict[str, str], plant: Plant, isolated: bool
) -> None:
    plant("luck", TOOL.partition("def register")[0] + HOOKS)
    configure(environ, enabled=["luck"], entries={"luck": {"isolated": isolated}})
    async with opened(environ) as runtime:
        state, (unknown, lacking) = states(runtime)["luck"]
        start = "the hook pre_everything⟨U+001B⟩[31m was refused: There is no hook 'pre_everything"
        offers = "model, platform, resumed, session_id."
        told = f"Hook on_session_start does not offer what; it offers {offers}"
        assert (state, unknown.startswith(start)) == ("loaded", True)
        assert lacking == f"the hook on_session_start was refused: {told}"
        [one] = runtime.plugins
        assert {*one.provides} == {"tool coin", "hook on_session_end"}


REFUSED = (
    "the tool terminal was refused: there is one already; plugins.entries.luck.allow_tool_override: true"
    " lets this plugin replace it"
)


@pytest.mark.parametrize("way", ["ctx.register_tool", "registry.register"])
async def test_a_plugin_replaces_a_tool_from_elsewhere_only_with_the_users_leave(
    environ: dict[str, str], plant: Plant, way: str
) -> None:
    own = TOOL.replace("ctx.register_tool", way).replace('"coin", "games"', '"terminal", "terminal"')
    plant("luck", own.replace("SCHEMA, coin", "SCHEMA, coin, override=True"))
    configure(environ, enabled=["luck"])
    async with opened(environ) as runtime:
        entry = runtime.registry.get_entry("terminal")
        assert entry is not None
        assert entry.handler.__module__ == "hermes.tools.builtin.terminal"
        assert states(runtime) == {"luck": ("loaded", (REFUSED,))}
    configure(environ, enabled=["luck"], entries={"luck": {"allow_tool_override": True}})
    async with opened(environ) as runtime:
        entry = runtime.registry.get_entry("terminal")
        assert entry is not None
        assert (entry.source, states(runtime)) == ("plugin:luck", {"luck": ("loaded", ())})


async def test_a_projects_plugin_needs_the_setting_and_a_persons_trust(
    environ: dict[str, str], plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    plant("luck", TOOL, top=project / ".hermes" / "plugins")
    monkeypatch.chdir(project)
    plugins = ProjectPlugins(Path(environ["HERMES_HOME"]) / "project-plugins")
    folder = project / ".hermes" / "plugins" / "luck"
    changed = "nobody has looked at its files as they are now; hermes plugins enable luck does."
    for wanted, trusted, accepted, expected in (
        (True, False, True, MISSING),
        (False, True, True, MISSING),
        (True, True, True, {"luck": ("loaded", ())}),
        (True, True, False, {"luck": ("faulty", (changed,))}),
    ):
        configure(environ, enabled=["luck"], project=wanted)
        async with opened(environ) as runtime:
            runtime.trust.keep(project, counts=trusted)
        plugins.accept(folder)
        if not accepted:
            (folder / "more.py").write_text("x = 1")
        async with opened(environ) as runtime:
            assert states(runtime) == expected


async def test_a_file_that_a_session_has_planted_in_a_projects_plugin_is_not_run(
    environ: dict[str, str], plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, mark = tmp_path / "project", tmp_path / "mark"
    later = TOOL.replace("    return json", "    from . import later\n    return json")
    folder = plant("luck", later, top=project / ".hermes" / "plugins")
    (folder / "later.py").write_text("x = 1")
    monkeypatch.chdir(project)
    configure(environ, enabled=["luck"], project=True)
    async with opened(environ) as runtime:
        runtime.trust.keep(project, counts=True)
    ProjectPlugins(Path(environ["HERMES_HOME"]) / "project-plugins").accept(folder)
    async with opened(environ) as runtime:
        (folder / "later.py").write_text(f"open({str(mark)!r}, 'w')")
        await anyio.to_thread.run_sync(lambda: runtime.registry.dispatch("coin", {}))
        assert (states(runtime), mark.exists()) == ({"luck": ("loaded", ())}, False)


async def test_a_package_names_itself_as_a_plugin_and_wins_over_a_folder(
    environ: dict[str, str], plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    about = packages / "luckypack-2.0.dist-info"
    about.mkdir(parents=True)
    (packages / "luckypack.py").write_text("def register(ctx):\n    ctx.register_command('toss', str)\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: luckypack\nVersion: 2.0\nSummary: Luck\n")
    (about / "entry_points.txt").write_text("[hermes_agent.plugins]\nluck = luckypack\n")
    monkeypatch.syspath_prepend(packages)
    plant("luck", "raise SystemExit")
    configure(environ, enabled=["luck"])
    async with opened(environ) as runtime:
        (one,) = runtime.plugins
        assert one.found.manifest is not None
        about_it = (one.found.source, one.found.manifest.version, one.found.manifest.description)
        assert (about_it, one.provides) == (("package", "2.0", "Luck"), ("command toss",))


OLD = """
import json
from hermes_cli.config import cfg_get, get_env_value, load_config
from hermes_constants import display_hermes_home, get_hermes_dir, get_hermes_home
from tools.registry import registry, tool_result

def told(args, **keywords):
    config = load_config()
    return tool_result(
        home=str(get_hermes_home()),
        shown=display_hermes_home(),
        place=str(get_hermes_dir("cache/own", "own")),
        rounds=cfg_get(config, "agent", "max_turns"),
        none=cfg_get(config, "agent", "nothing", "there", default=7),
        key=get_env_value("OWN_KEY"),
    )

def register(ctx):
    registry.register("told", "own", {"name": "told", "parameters": {"type": "object"}}, told)
"""


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_plugin_reads_its_own_home_by_the_old_names(
    environ: dict[str, str], plant: Plant, isolated: bool
) -> None:
    home = Path(environ["HERMES_HOME"])
    plant("own", OLD, "name: own\noptional_env: [OWN_KEY]\n")
    configure(environ, enabled=["own"], entries={"own": {"isolated": isolated}})
    with (home / "config.yaml").open("a") as file:
        file.write("\nagent: {max_turns: 12}\n")
    async with opened({**environ, "OWN_KEY": "k"}) as runtime:
        assert states(runtime) == {"own": ("loaded", ())}
        found = await anyio.to_thread.run_sync(lambda: runtime.registry.dispatch("told", {}))
    assert json.loads(found) == {
        "home": str(home),
        "shown": "~/.hermes",
        "place": str(home / "cache" / "own"),
        "rounds": 12,
        "none": 7,
        "key": "k",
    }
    assert {"hermes_constants", "hermes_cli", "hermes_cli.config"} & set(sys.modules) == set()
