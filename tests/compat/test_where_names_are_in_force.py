"""The published names are there in files of third parties, whenever these import them, and nowhere else."""

import importlib
import json
import sys
from pathlib import Path

import anyio.to_thread
import pytest

from hermes.runtime import Runtime
from tests.scenarios.planted_plugins import Plant, configure, opened

pytestmark = pytest.mark.anyio
START = """
from .inner import told

def register(ctx):
    ctx.register_tool("told", "own", {"name": "told", "parameters": {"type": "object"}}, told)
"""
INNER = """
def told(args, **keywords):
    import hermes_cli.config
    from tools.registry import tool_result
    from hermes_constants import get_hermes_home
    from . import later
    return tool_result(home=str(get_hermes_home()), set=hermes_cli.config.get_env_value("X"), absent=later.absent())
"""
LATER = """
def absent():
    from hermes_cli import config
    try:
        from hermes_constants import nowhere
    except ImportError as error:
        return str(error)
"""
TOLD = {
    "set": None,
    "absent": "cannot import name 'nowhere' from 'hermes_constants': Hermes does not offer it.",
}


async def told(runtime: Runtime) -> object:
    return json.loads(await anyio.to_thread.run_sync(lambda: runtime.registry.dispatch("told", {})))


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_plugin_imports_old_names_in_its_functions_too(
    environ: dict[str, str], plant: Plant, isolated: bool
) -> None:
    folder = plant("late", START)
    (folder / "inner.py").write_text(INNER)
    (folder / "later.py").write_text(LATER)
    configure(environ, enabled=["late"], entries={"late": {"isolated": isolated}})
    async with opened(environ) as runtime:
        assert [one.faults for one in runtime.plugins] == [()]
        assert await told(runtime) == {"home": environ["HERMES_HOME"], **TOLD}


async def test_a_plugin_that_is_a_package_does_so(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "latepack-2.0.dist-info"
    (tmp_path / "latepack").mkdir()
    about.mkdir()
    for name, text in {"__init__": START, "inner": INNER, "later": LATER}.items():
        (tmp_path / "latepack" / f"{name}.py").write_text(text)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: latepack\nVersion: 2.0\n")
    (about / "entry_points.txt").write_text("[hermes_agent.plugins]\nlate = latepack\n")
    monkeypatch.syspath_prepend(tmp_path)
    configure(environ, enabled=["late"])
    async with opened(environ) as runtime:
        assert [one.faults for one in runtime.plugins] == [()]
        assert await told(runtime) == {"home": environ["HERMES_HOME"], **TOLD}


async def test_a_program_around_it_keeps_packages_of_these_names(
    environ: dict[str, str], plant: Plant
) -> None:
    folder, before = plant("late", START), [*sys.meta_path]
    (folder / "inner.py").write_text(INNER)
    (folder / "later.py").write_text(LATER)
    configure(environ, enabled=["late"])
    async with opened(environ) as runtime:
        await told(runtime)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("hermes_constants")
        assert {"tools", "hermes_cli", "hermes_constants", "hermes_cli.config"} & set(sys.modules) == set()
    assert sys.meta_path == before
