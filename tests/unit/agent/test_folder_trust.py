"""Notes of a folder count as a person answered once, for all of its repository and for no other."""

from pathlib import Path

import pytest

from hermes.agent.prompt.folder_trust import FolderTrust, NotesInQuestion
from hermes.types.error import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    (folder / "src" / "CLAUDE.md").write_text("Use spaces.\n")
    return folder


def trust(project: Path, rule: str = "ask") -> FolderTrust:
    home = project.parent
    return FolderTrust(file=home / ".hermes" / "trust.json", rule=rule, user_home=home)  # type: ignore[arg-type]  # one of three


def test_a_folder_with_notes_is_in_question_until_it_was_answered(project: Path) -> None:
    files = (project / "AGENTS.md", project / "src" / "CLAUDE.md")
    assert trust(project).in_question(project / "src") == NotesInQuestion(folder=project, files=files)
    for answer in (True, False):
        trust(project).keep(project / "src", counts=answer)
        assert trust(project).in_question(project) is None
        assert trust(project).counts(project) is answer


def test_an_answer_is_for_the_real_folder_and_for_no_other(project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    other = project.parent / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("x\n")
    trust(project).keep(link, counts=False)
    assert (trust(project).counts(project), trust(project).counts(other)) == (False, True)
    assert trust(project).in_question(other) is not None


def test_a_folder_without_notes_and_the_home_itself_are_not_asked_about(project: Path) -> None:
    (project.parent / "AGENTS.md").write_text("Mine.\n")
    (project.parent / "bare").mkdir()
    assert trust(project).in_question(project.parent) is None
    assert trust(project).in_question(project.parent / "bare") is None


@pytest.mark.parametrize(("rule", "unanswered"), [("ask", True), ("all", True), ("known", False)])
def test_where_nobody_was_asked_the_setting_says_what_counts(
    project: Path, rule: str, unanswered: bool
) -> None:
    assert trust(project, rule).counts(project) is unanswered
    trust(project).keep(project, counts=not unanswered)
    assert trust(project, rule).counts(project) is not unanswered


def test_answers_that_cannot_be_read_are_not_taken_for_none(project: Path) -> None:
    found = trust(project)
    found.keep(project, counts=False)
    found.file.write_text("{")
    with pytest.raises(ConfigError, match="trust.json cannot be read"):
        found.counts(project)


def test_notes_that_lie_only_in_a_folder_below_are_asked_about_too(project: Path) -> None:
    (project / "AGENTS.md").unlink()
    (project / ".git" / "AGENTS.md").write_text("of no one\n")
    files = (project / "src" / "CLAUDE.md",)
    assert trust(project).in_question(project) == NotesInQuestion(folder=project, files=files)


def test_a_no_to_a_repository_counts_wherever_its_folder_is_come_to_from(project: Path) -> None:
    inner = project / "vendor" / "other"
    (inner / ".git").mkdir(parents=True)
    trust(project).keep(project, counts=True)
    trust(project).keep(inner, counts=False)
    assert [trust(project).is_refused(one) for one in (project / "src", inner, inner / "x")] == [
        False,
        True,
        True,
    ]


def test_only_a_plain_yes_in_the_file_is_one(project: Path) -> None:
    trust(project).keep(project, counts=True)
    file = project.parent / ".hermes" / "trust.json"
    file.write_text(file.read_text().replace("true", '"false"'))
    assert not trust(project).counts(project)
