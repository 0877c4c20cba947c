"""What the next sandbox is made with: a project must not bring it, a command must not change it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.environments.local_workspace import open_sandbox
from hermes.environments.sandbox.mounts import Mounts
from hermes.environments.sandbox.probe import find_sandbox
from hermes.environments.sandbox.sandbox import CLEAN, Program, Sandbox, SandboxOptions
from tests.escapes.ground import bubblewrap

SHELL = ("bash", "--noprofile", "--norc", "-c")


def output(sandbox: Sandbox, script: str) -> str:
    with sandbox.launch((*SHELL, script), env=CLEAN) as launch:
        done = subprocess.run(
            launch.argv,
            env=CLEAN,
            cwd="/",
            pass_fds=launch.descriptors,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    return (done.stdout + done.stderr).decode()


def test_a_bubblewrap_in_the_workspace_is_not_used(tmp_path: Path) -> None:
    trap = tmp_path / "work" / "bin" / "bwrap"
    trap.parent.mkdir(parents=True)
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 42\n")
    trap.chmod(0o755)
    environ = {"PATH": f"{trap.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    found = find_sandbox(environ, Mounts(writable=(tmp_path / "work",)), SandboxOptions())
    assert found is not None
    assert (found.program != str(trap), (tmp_path / "sprung").exists()) == (True, False)


@pytest.mark.parametrize("mode", ["workspace", "full"])
def test_the_environment_that_runs_us_is_read_only_even_in_the_workspace(tmp_path: Path, mode: str) -> None:
    workspace = Path(sys.prefix).parent
    sandbox = open_sandbox(
        workspace=workspace,
        home=tmp_path,
        hermes_home=tmp_path / ".hermes",
        scratch=tmp_path / "scratch",
        environ=CLEAN,
        sandboxing=SandboxOptions(mode="full" if mode == "full" else "workspace"),
    )
    assert sandbox is not None
    said = output(sandbox, f"touch {sys.prefix}/pyvenv.cfg {Path(bubblewrap()).parent}/x; true")
    assert said.count("Read-only file system") == 2


@pytest.mark.parametrize(("descriptors", "rules"), [(False, True), (True, False), (False, False)])
def test_an_older_bubblewrap_and_a_kernel_without_landlock_do(
    tmp_path: Path, *, descriptors: bool, rules: bool
) -> None:
    (tmp_path / "work").mkdir()
    git = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run(["git", "init", "-q", str(tmp_path / "work")], env=git, check=True)
    program = Program(path=bubblewrap(), descriptors=descriptors, rules=rules)
    sandbox = Sandbox(
        program, Mounts(writable=(tmp_path / "work",), repositories=(tmp_path / "work",)), SandboxOptions()
    )
    said = output(
        sandbox,
        f"cd {tmp_path}/work && echo a > a && cat a; echo x > .git/hooks/x; mv .git g; echo x > {tmp_path}/x",
    )
    assert (
        (said.startswith("a\n"), said.count("Read-only file system"), said.count("busy")) == (True, 2, 1)
        if not rules
        else True
    )
    assert (sorted(path.name for path in tmp_path.iterdir()), (tmp_path / "work/.git/hooks/x").exists()) == (
        ["work"],
        False,
    )


def test_the_words_of_the_sandbox_hold_no_variable(tmp_path: Path) -> None:
    """Everybody on a machine can read the words of a running program."""
    sandbox = find_sandbox(CLEAN, Mounts(writable=(tmp_path,)), SandboxOptions())
    assert sandbox is not None
    with sandbox.launch((*SHELL, "true"), env={**CLEAN, "MINE": "canary-4711"}) as launch:
        assert "canary-4711" not in " ".join(launch.argv)
    with sandbox.launch(
        (*SHELL, "echo $MINE; ls /proc/self/fd"), env={**CLEAN, "MINE": "canary=4711\nand more"}
    ) as launch:
        done = subprocess.run(
            launch.argv, env=CLEAN, pass_fds=launch.descriptors, capture_output=True, text=True, check=True
        )
    assert done.stdout == "canary=4711 and more\n0\n1\n2\n3\n"  # and no descriptor is left open
