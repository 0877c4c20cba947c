"""Code blocks of the documents run: `python` blocks as programs against a scripted model, `console` blocks as commands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.apps.settings import load
from hermes.environments.settings import TerminalSettings
from hermes.hooks import SPECS
from hermes.testing import ScriptedModel, ScriptedServer, call, say

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[object]:
    return [
        pytest.param(
            code,
            tuple(words.split()),
            id=f"{page.relative_to(ROOT)}:{page.read_text()[: found.start()].count(chr(10)) + 2}",
        )
        for page in PAGES
        for found in BLOCK.finditer(page.read_text())
        for kind, words, code in [found.groups()]
        if kind == language
    ]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HERMES_HOME": str(tmp_path / "home"), "HERMES_SANDBOX": "auto"}


@pytest.mark.parametrize(("code", "words"), blocks("python"))
def test_python_blocks_run(
    code: str, words: tuple[str, ...], tmp_path: Path, environ: dict[str, str]
) -> None:
    """A block talks to http://127.0.0.1:8080/v1; here that address is the scripted model, which calls the block's own tool if it has one."""
    tool = re.search(r"@hermes\.tool\n(?:async )?def (\w+)\((\w+)", code)
    replies = (
        [call(tool[1], {tool[2]: "Oslo"}), say("It is 4 degrees in Oslo.")] if tool else [say("Done.")] * 3
    )
    with ScriptedServer(ScriptedModel(*replies)).running() as server:
        program = tmp_path / "example.py"
        program.write_text(code.replace("http://127.0.0.1:8080/v1", server.base_url))
        done = subprocess.run(
            [sys.executable, program],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout or "print" not in code


@pytest.mark.parametrize(("code", "words"), blocks("console"))
def test_console_blocks_run(
    code: str, words: tuple[str, ...], tmp_path: Path, environ: dict[str, str]
) -> None:
    """Lines that begin with `$ ` are run in order; a block marked `model` needs the real model and runs with the other such tests."""
    if "model" in words:
        commands = [line for line in code.splitlines() if line.startswith("$ ")]
        assert all(
            shlex.split(line[2:])[0].startswith(("scripts/", "git", "hermes", "cat", "pip"))
            for line in commands
        )
        return
    for line in code.splitlines():
        if line.startswith("$ "):
            command = line[2:].replace("scripts/hermes", f"{shlex.quote(sys.executable)} -m hermes")
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=ROOT,
                env=environ,
                capture_output=True,
                text=True,
                timeout=170,
                check=False,
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize(("code", "words"), blocks("yaml"))
def test_yaml_blocks_are_settings(code: str, words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(code)
    assert (load(file, {}).warnings, words) == ((), ())


def test_the_pages_on_environments_name_every_setting_of_theirs() -> None:
    told = "".join(
        page.read_text()
        for page in sorted((ROOT / "docs" / "guide").rglob("*.md"))
        if "environments" in str(page)
    )
    assert [name for name in TerminalSettings.__struct_fields__ if f"terminal.{name}`" not in told] == []


def test_the_page_on_hooks_has_every_point_with_its_arguments() -> None:
    page = (ROOT / "docs" / "guide" / "hooks.md").read_text()
    rows = {row.split("|")[1].strip(" `"): row.split("|")[3] for row in page.splitlines() if "| `" in row}
    told = {point: frozenset(re.findall(r"`(\w+)`", rows.get(point, ""))) for point in SPECS}
    assert told == {point: spec.arguments for point, spec in SPECS.items()}
