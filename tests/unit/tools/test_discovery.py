import importlib
import json
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hermes.config.home import Home
from hermes.plugins.aliases import Guest, PublishedNames
from hermes.tools.discovery import ToolFolder, discover_builtin_tools, registers_tools
from hermes.tools.dispatch import Dispatcher
from hermes.tools.registry import PROCESS, ToolRegistry

WEATHER = '''
"""Weather."""
import json

WEATHER_SCHEMA = {
    "name": "weather_probe",
    "description": "Current weather.",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}, "units": {"type": "string", "enum": ["metric", "imperial"]}},
        "required": ["location"],
    },
}


def weather_tool(location, units="metric"):
    return json.dumps({"location": location, "temp": 22, "units": units})


from tools.registry import registry

registry.register(
    name="weather_probe",
    toolset="weather",
    schema=WEATHER_SCHEMA,
    handler=lambda args, **kw: weather_tool(location=args.get("location", ""), units=args.get("units", "metric")),
    check_fn=lambda: True,
    requires_env=["WEATHER_API_KEY"],
)
'''


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("registry.register(name='x')", True),
        ("def later():\n    registry.register(name='x')", False),
        ("if True:\n    registry.register(name='x')", False),
        ("other.register(name='x')", False),
        ("# registry.register\nx = 1", False),
        ("registry.register(", True),
        ("registry.registered()", False),
    ],
)
def test_only_a_top_level_register_call_makes_a_tool_file(source: str, found: bool) -> None:
    assert registers_tools(source.encode()) is found


def opened(folder: Path) -> ToolFolder:
    names = PublishedNames(Guest(home=Home(root=folder)))
    found = ToolFolder(folder, ToolRegistry(PROCESS), prepare=names.lend)
    found.refresh()
    return found


def test_the_documented_example_works_with_its_documented_import(tmp_path: Path) -> None:
    (tmp_path / "weather_tool.py").write_text(WEATHER)
    folder = opened(tmp_path)
    registry = folder.registry
    registry.connect(Dispatcher(registry=registry).dispatch)
    assert folder.faults == ()
    assert json.loads(registry.dispatch("weather_probe", {"location": "Oslo"})) == {
        "location": "Oslo",
        "temp": 22,
        "units": "metric",
    }
    assert registry.get_toolset_for_tool("weather_probe") == "weather"
    entry = registry.get_entry("weather_probe")
    assert entry is not None
    assert entry.source == str(tmp_path / "weather_tool.py")


def test_two_folders_share_no_tool(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "weather_tool.py").write_text(WEATHER)
    with_it, without, again = opened(tmp_path / "a"), opened(tmp_path / "b"), opened(tmp_path / "a")
    found = [one.registry.get_entry("weather_probe") for one in (with_it, without, again)]
    assert [one is not None for one in found] == [True, False, True]
    assert found[0] is not None
    assert found[2] is not None
    assert found[0].handler is not found[2].handler


def test_a_folder_follows_its_files(tmp_path: Path) -> None:
    path = tmp_path / "weather_tool.py"
    path.write_text(WEATHER)
    folder = opened(tmp_path)
    first = folder.registry.generation
    folder.refresh()
    assert folder.registry.generation == first
    path.write_text(WEATHER.replace("weather_probe", "forecast_probe"))
    folder.refresh()
    assert {"weather_probe", "forecast_probe"} & folder.registry.entries().keys() == {"forecast_probe"}
    path.unlink()
    folder.refresh()
    assert "forecast_probe" not in folder.registry.entries()


def test_a_file_that_fails_is_reported_with_its_reason_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a_broken.py").write_text("import no_such_module\nregistry.register(name='x')\n")
    (tmp_path / "b_syntax.py").write_text("registry.register(\n")
    (tmp_path / "c_exits.py").write_text("import sys\nsys.exit(3)\nregistry.register(name='x')\n")
    (tmp_path / "d_weather.py").write_text(WEATHER)
    folder = opened(tmp_path)
    assert [(Path(fault.path).name, fault.reason) for fault in folder.faults] == [
        ("a_broken.py", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("b_syntax.py", "SyntaxError: '(' was never closed (b_syntax.py, line 1)"),
        ("c_exits.py", "SystemExit: 3"),
    ]
    assert folder.registry.get_entry("weather_probe") is not None


def probe(name: str, toolset: str = "own", more: str = "") -> str:
    return f"registry.register('{name}', '{toolset}', {{'name': '{name}'}}, lambda args, **_: '\"{name}\"'{more})\n"


IMPORT = "from tools.registry import registry\n"


def reasons(folder: ToolFolder) -> dict[str, str]:
    return {Path(fault.path).name: fault.reason for fault in folder.faults}


def test_an_edited_check_decides_for_its_toolset(tmp_path: Path) -> None:
    path = tmp_path / "checked.py"
    path.write_text(IMPORT + probe("checked", toolset="games", more=", check_fn=lambda: False"))
    folder = opened(tmp_path)
    before = folder.registry.is_toolset_available("games")
    path.write_text(IMPORT + probe("checked", toolset="games", more=", check_fn=lambda: 'yes'"))
    folder.refresh()
    assert (before, folder.registry.is_toolset_available("games")) == (False, True)


@pytest.mark.parametrize("python_keeps_none", [True, False])
def test_of_two_edits_within_a_second_the_last_runs_and_nothing_is_kept_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_keeps_none: bool
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", python_keeps_none)
    path = tmp_path / "edited.py"
    for name in ("one", "two"):
        path.write_text(IMPORT + probe(name))
        os.utime(path, ns=(0, 1_000_000_000 + len(name) + (name == "two")))
        folder = opened(tmp_path)
        assert (
            [one for one in ("one", "two") if folder.registry.get_entry(one)],
            sys.modules[folder.registry.entries()[name].handler.__module__].__file__,
        ) == ([name], str(path))
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_is_named_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a_link.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b_folder.py").mkdir()
    (tmp_path / ".#c_lock.py").symlink_to("editor@host")
    (tmp_path / ".d_hidden.py").write_text(IMPORT + "nonsense\n" + probe("hidden"))
    (tmp_path / "e_weather.py").write_text(WEATHER)
    folder = opened(tmp_path)
    assert reasons(folder) == {
        "a_link.py": "it cannot be read: No such file or directory",
        "b_folder.py": "it cannot be read: Is a directory",
    }
    assert folder.registry.get_entry("weather_probe") is not None
    (tmp_path / "nowhere").write_text(IMPORT + probe("found"))
    folder.refresh()
    assert ("a_link.py" in reasons(folder), "found" in folder.registry.entries()) == (False, True)


OWN = "class Own(BaseException):\n    def __str__(self):\n        raise ValueError\n"
ENDLESS = "{'name': 'endless', 'parameters': {'type': 'object', 'properties': {}}}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("import asyncio\nraise asyncio.CancelledError('enough')", "CancelledError: enough"),
        (OWN + "raise Own", "Own"),
        ("x = " + "-" * 200_000 + "1", "MemoryError"),
        ("x = x" + ".b" * 20_000, "RecursionError: maximum recursion depth exceeded during ast construction"),
        (
            f"schema = {ENDLESS}\nschema['parameters']['again'] = schema\nregistry.register('endless', 'own', schema, id)",
            "ValueError: the schema of endless contains itself, or is nested too deep",
        ),
    ],
    ids=["interrupt", "exit", "cancelled", "own", "memory", "recursion", "schema"],
)
def test_a_file_that_fails_in_whatever_way_stops_nothing_but_itself(
    tmp_path: Path, body: str, reason: str
) -> None:
    (tmp_path / "a_broken.py").write_text(IMPORT + body + "\n" + probe("broken"))
    (tmp_path / "b_weather.py").write_text(WEATHER)
    folder = opened(tmp_path)
    entries = folder.registry.entries()
    assert reasons(folder) == {"a_broken.py": reason}
    assert ("weather_probe" in entries, "broken" in entries, "endless" in entries) == (True, False, False)


@pytest.mark.parametrize("handler", ["plain", "of an event loop", "of asyncio"])
def test_ctrl_c_while_a_file_is_loaded_is_not_the_fault_of_the_file(tmp_path: Path, handler: str) -> None:
    def raises(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "slow.py").write_text(
        IMPORT + "import signal\nsignal.raise_signal(signal.SIGINT)\n" + probe("slow")
    )
    handlers: dict[str, Any] = {
        "plain": signal.default_int_handler,
        "of an event loop": raises,
        "of asyncio": partial(raises),
    }
    before = signal.signal(signal.SIGINT, handlers[handler])
    try:
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("check", ["sys.exit(3)", "raises(KeyboardInterrupt)", "raises(GeneratorExit)"])
def test_a_check_that_fails_in_whatever_way_means_unavailable(tmp_path: Path, check: str) -> None:
    (tmp_path / "checked.py").write_text(
        IMPORT + "import sys\ndef raises(kind):\n    raise kind\n"
        + probe("checked", toolset="games", more=f", check_fn=lambda: {check}")
    )  # fmt: skip
    registry = opened(tmp_path).registry
    assert (registry.is_toolset_available("games"), registry.get_definitions({"checked"})) == (False, [])


def test_a_pipe_among_the_tool_files_is_named_and_holds_up_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a_pipe.py")
    (tmp_path / "b_weather.py").write_text(WEATHER)
    found: list[ToolFolder] = []
    opening = threading.Thread(target=lambda: found.append(opened(tmp_path)), daemon=True)
    opening.start()
    opening.join(20)
    assert [reasons(one) for one in found] == [{"a_pipe.py": "it cannot be read: Not a regular file"}]
    assert found[0].registry.get_entry("weather_probe") is not None


def test_a_file_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a_whole.py").write_text(IMPORT + probe("kept") + probe("other"))
    (tmp_path / "b_half.py").write_text(
        IMPORT + probe("half") + probe("kept", more=", override=True") + "registry.deregister('other')\n"
        "registry.register_toolset_alias('nick', 'own')\nraise OSError(28, 'No space left')\n"
    )  # fmt: skip
    folder = opened(tmp_path)
    registry = folder.registry
    assert reasons(folder) == {"b_half.py": "OSError: [Errno 28] No space left"}
    assert {"kept", "other", "half"} & registry.entries().keys() == {"kept", "other"}
    kept = registry.get_entry("kept")
    assert kept is not None
    assert (kept.source, registry.get_toolset_alias_target("nick")) == (str(tmp_path / "a_whole.py"), None)


def test_a_name_that_another_file_holds_is_refused_and_both_files_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text(IMPORT + probe("same"))
    second.write_text(IMPORT + probe("same") + probe("own_of_b"))
    folder = opened(tmp_path)
    assert [(fault.path, fault.reason) for fault in folder.faults] == [
        (
            str(second),
            f"the tool same of toolset own was refused: {first} has that name; pass override=True to replace it",
        )
    ]
    entries = folder.registry.entries()
    assert (entries["same"].source, entries["own_of_b"].source) == (str(first), str(second))
    first.unlink()
    folder.refresh()
    assert (folder.registry.entries()["same"].source, folder.faults) == (str(second), ())


def test_a_file_may_bring_its_own_form_of_a_tool_below(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(IMPORT + probe("todo", toolset="todo"))
    discover_builtin_tools()
    folder = opened(tmp_path)
    assert (folder.faults, folder.registry.entries()["todo"].source) == ((), str(tmp_path / "mine.py"))


THREADED = """
import threading
from tools.registry import registry
go, done, errors = threading.Event(), threading.Event(), []

def later():
    go.wait(20)
    try:
        registry.register("late", "own", {"name": "late"}, lambda args, **_: '"late"')
    except RuntimeError as error:
        errors.append(str(error))
    done.set()

def start(args, **_):
    go.set()
    done.wait(20)
    return '"' + "".join(errors) + '"'

threading.Thread(target=later, daemon=True).start()
registry.register("start", "own", {"name": "start"}, start)
"""


def test_what_a_thread_of_a_file_registers_belongs_to_the_registry_that_loaded_the_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "threaded.py").write_text(THREADED)
    folder = opened(tmp_path)
    start = folder.registry.entries()["start"]
    start.handler({})
    assert "late" not in PROCESS.entries()
    assert folder.registry.entries()["late"].source == str(tmp_path / "threaded.py")
    (tmp_path / "threaded.py").unlink()
    folder.refresh()
    assert "late" not in folder.registry.entries()


def test_a_thread_of_a_file_that_is_gone_registers_nothing(tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(THREADED)
    folder = opened(tmp_path)
    start = folder.registry.entries()["start"]
    folder.close()
    told = start.handler({})
    assert ("late" in folder.registry.entries(), "late" in PROCESS.entries(), told) == (
        False,
        False,
        '"This file is not in use any more, or was not loaded whole: it registers nothing."',
    )


PUBLISHED = """
import json
from model_tools import get_tool_definitions, handle_function_call
from toolsets import TOOLSETS, get_all_toolsets, get_toolset, resolve_toolset, validate_toolset
from tools.registry import registry

def probe(args, **kwargs):
    return json.dumps({
        "definitions": [one["function"]["name"] for one in registry.get_definitions({"todo"})],
        "enabled": [one["function"]["name"] for one in get_tool_definitions(["probe_set"], quiet_mode=True)],
        "call": json.loads(handle_function_call("todo", {}, task_id="t", user_task="u")),
        "unknown": json.loads(handle_function_call("nope", {})),
        "static": "file" in TOOLSETS and "probe_set" not in TOOLSETS,
        "merged": get_all_toolsets()["probe_set"]["tools"],
        "one": get_toolset("file")["tools"] == resolve_toolset("file"),
        "valid": [validate_toolset(name) for name in ("file", "probe_set", "nowhere")],
    })

registry.register("published_probe", "probe_set", {"name": "published_probe"}, probe)
"""


def test_the_published_functions_of_model_tools_and_toolsets_answer_for_the_runtime_they_run_in(
    tmp_path: Path,
) -> None:
    discover_builtin_tools()
    (tmp_path / "published.py").write_text(PUBLISHED)
    registry = opened(tmp_path).registry
    registry.connect(Dispatcher(registry=registry).dispatch)
    found = json.loads(registry.dispatch("published_probe", {}))
    unknown = found.pop("unknown")["error"]
    assert found == {
        "definitions": ["todo"],
        "enabled": ["published_probe"],
        "call": {"error": "todo needs a session; it cannot be called on its own."},
        "static": True,
        "merged": ["published_probe"],
        "one": True,
        "valid": [True, True, False],
    }
    assert unknown.startswith("Unknown tool: nope.")


def test_old_names_are_the_same_objects_for_the_files_that_they_are_lent_to_and_no_others(
    tmp_path: Path,
) -> None:
    import hermes.tools.registry as ours

    before, place = ours.__spec__, tmp_path / "own.py"
    place.write_text(
        "import tools.registry\nfrom tools import registry as below\nregistry = tools.registry.registry\n"
        "def late():\n    from model_tools import get_all_tool_names\n    return get_all_tool_names\n"
        "def wrong(name):\n    exec(f'from tools.registry import {name}')\n"
        "def absent():\n    import tools.nothing_of_that_name\n"
        "registry.register('own_probe', 'own', {'name': 'own_probe'}, lambda args, **keywords: '')\n"
    )
    folder = opened(tmp_path)
    module = next(one for name, one in sys.modules.items() if name.startswith("hermes_tool_files.own_"))

    assert folder.faults == ()
    assert (module.below, module.tools.registry, module.late().__name__) == (ours, ours, "get_all_tool_names")
    with pytest.raises(
        ModuleNotFoundError, match=r"No module named 'tools.nothing_of_that_name': Hermes does"
    ):
        module.absent()
    with pytest.raises(
        ImportError, match=r"cannot import name 'nope' from 'tools.registry': Hermes does not"
    ):
        module.wrong("nope")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tools.registry")
    assert ours.__spec__ is before
