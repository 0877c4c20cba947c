"""The manual page and what shells complete are made from the commands, so that neither can lag behind."""

import re
from pathlib import Path

import click
import pytest

from hermes.apps.cli.main import SUBCOMMANDS, cli
from tests.apps.conftest import Run
from tests.apps.test_sessions_cli import row, store


def test_the_manual_names_every_option_and_every_command(run: Run) -> None:
    page = run("man").stdout
    plain = page.replace("\\-", "-")
    named = re.findall(r"^\\fB(.+)\\fR$", plain, re.MULTILINE)
    options = {name for one in cli.params if not getattr(one, "hidden", False) for name in one.opts}
    assert {
        name for name in options if not any(name in row.split() or f"{name}," in row for row in named)
    } == set()
    assert re.findall(r"^\.SS hermes (\S+)$", plain, re.MULTILINE) == sorted(SUBCOMMANDS)
    assert "hermes store restore" in plain
    assert [row for row in page.splitlines() if row.startswith("'")] == []
    sections = re.findall(r"^\.SH (.+)$", page, re.MULTILINE)
    assert sections[:4] == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]
    assert sections[4:] == ["COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(run: Run, shell: str) -> None:
    assert "_HERMES_COMPLETE" in run("completion", shell).stdout
    asked = {"_HERMES_COMPLETE": f"{shell}_complete"}
    words = {"COMP_WORDS": "hermes mo", "COMP_CWORD": "mo" if shell == "fish" else "1"}
    found = run(**asked, **words).stdout
    assert {"model", "models"} <= set(re.findall(r"\w+", found))
    words = {"COMP_WORDS": "hermes --out", "COMP_CWORD": "--out" if shell == "fish" else "1"}
    assert "--output-schema" in run(**asked, **words).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("before", "begun", "found"),
    [
        ("-r", "2001", "2001_a"),
        ("sessions show", "2001", "2001_a"),
        ("-m", "openrouter/z-ai/", "openrouter/z-ai/glm-5"),
        ("model", "local/q", "local/qwen2.5-coder-0.5b"),
        ("config explain", "agent.max", "agent.max_turns"),
        ("-p", "wo", "work"),
    ],
)
def test_shells_complete_the_names_that_there_are(
    run: Run, environ: dict[str, str], shell: str, before: str, begun: str, found: str
) -> None:
    run("profiles", "create", "work")
    store(environ, row("2001_a", title="mine"))
    place = begun if shell == "fish" else str(len(before.split()) + 1)
    words = {"COMP_WORDS": f"hermes {before} {begun}", "COMP_CWORD": place}
    done = run(_HERMES_COMPLETE=f"{shell}_complete", **words)
    assert (done.returncode, done.stderr) == (0, "")
    assert found in re.split(r"[\s,]+", done.stdout)


def test_names_that_cannot_be_read_are_completed_by_nothing(run: Run, environ: dict[str, str]) -> None:
    Path(environ["HERMES_HOME"]).mkdir(parents=True)
    (Path(environ["HERMES_HOME"]) / "config.yaml").write_text("agent: {max_turns: many}")
    asked = {"_HERMES_COMPLETE": "bash_complete", "COMP_WORDS": "hermes -m open", "COMP_CWORD": "2"}
    done = run(**asked)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


def test_another_shell_is_refused_with_those_there_are(run: Run) -> None:
    done = run("completion", "tcsh")
    assert done.returncode == click.UsageError.exit_code
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'." in done.stderr
