"""Whatever is found in a command can be explained, with examples that are true."""

import re
from pathlib import Path

import pytest

import hermes.safety.commands.exfiltration
import hermes.safety.commands.file_findings
import hermes.safety.commands.findings
import hermes.safety.commands.git_settings
import hermes.safety.commands.signals
from hermes.safety.commands.findings import inspect
from hermes.safety.commands.rule_catalog import CatalogEntry, entries
from hermes.safety.commands.rules import table
from hermes.safety.decide import Policy

POLICY = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes")
FOUND_BY_CODE = entries()[len(table().rules) :]


@pytest.mark.parametrize("entry", FOUND_BY_CODE, ids=lambda entry: f"{entry.id}-{entry.effect}")
def test_what_only_code_finds_is_found_in_its_examples_and_in_no_other(entry: CatalogEntry) -> None:
    def found(command: str) -> set[tuple[str, str]]:
        return {
            (one.rule, one.effect) for one in inspect(command, cwd=POLICY.workspace, folders=POLICY.folders)
        }

    assert [command for command in entry.match if (entry.id, entry.effect) not in found(command)] == []
    assert [command for command in entry.passes if (entry.id, entry.effect) in found(command)] == []


def test_every_finding_has_a_meaning() -> None:
    source = "".join(
        Path(one.__file__ or "").read_text(encoding="utf-8")
        for one in (
            hermes.safety.commands.findings,
            hermes.safety.commands.file_findings,
            hermes.safety.commands.exfiltration,
            hermes.safety.commands.git_settings,
            hermes.safety.commands.signals,
        )
    )
    named = set(re.findall(r'Finding\(\s*"([\w-]+)"', source))
    named -= {rule.id for rule in table().rules if rule.effect == "halt"}
    assert named == {entry.id for entry in FOUND_BY_CODE}
