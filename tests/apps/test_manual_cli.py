"""The manual page and what shells complete are made from the commands, so that neither can lag behind."""

import re

import click
import pytest

from hermes.apps.cli.main import SUBCOMMANDS, cli
from tests.apps.conftest import Run


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


def test_another_shell_is_refused_with_those_there_are(run: Run) -> None:
    done = run("completion", "tcsh")
    assert done.returncode == click.UsageError.exit_code
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'." in done.stderr
