import importlib
import json
from pathlib import Path

import pytest

from hermes.plugins.aliases import old_names
from hermes.tools.discovery import discover_folder, registers_tools
from hermes.tools.registry import registry

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
def test_only_a_top_level_register_call_makes_a_tool_file(tmp_path: Path, source: str, found: bool) -> None:
    path = tmp_path / "file.py"
    path.write_text(source)
    assert registers_tools(path) is found


def test_the_documented_example_works_with_its_documented_import(tmp_path: Path) -> None:
    (tmp_path / "weather_tool.py").write_text(WEATHER)
    with old_names():
        assert discover_folder(tmp_path) == ()
    try:
        assert json.loads(registry.dispatch("weather_probe", {"location": "Oslo"})) == {"location": "Oslo", "temp": 22, "units": "metric"}
        assert registry.get_toolset_for_tool("weather_probe") == "weather"
    finally:
        registry.deregister("weather_probe")


def test_a_file_that_fails_is_reported_with_its_reason_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a_broken.py").write_text("import no_such_module\nregistry.register(name='x')\n")
    (tmp_path / "b_syntax.py").write_text("registry.register(\n")
    (tmp_path / "c_exits.py").write_text("import sys\nsys.exit(3)\nregistry.register(name='x')\n")
    (tmp_path / "d_weather.py").write_text(WEATHER)
    with old_names():
        faults = discover_folder(tmp_path)
    assert [(Path(fault.path).name, fault.reason) for fault in faults] == [
        ("a_broken.py", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("b_syntax.py", "SyntaxError: '(' was never closed (b_syntax.py, line 1)"),
        ("c_exits.py", "SystemExit: 3"),
    ]
    assert registry.get_entry("weather_probe") is not None
    registry.deregister("weather_probe")


def test_old_names_are_the_same_objects_and_are_gone_afterwards() -> None:
    import sys

    import hermes.tools.registry as ours

    before = ours.__spec__
    with old_names():
        theirs = importlib.import_module("tools.registry")

        assert theirs is ours
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("tools.nothing_of_that_name")
    assert "tools" not in sys.modules
    assert ours.__spec__ is before
