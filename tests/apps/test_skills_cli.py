"""`hermes skills`, as a program: skills are listed and shown, changes reviewed, made, forgotten and taken back."""

import shutil
from pathlib import Path

import pytest

from hermes.skills.bundled import OPT_OUT
from hermes.skills.changes import SkillChange
from hermes.skills.journal import ChangeJournal
from tests.apps.conftest import Run

TEXT = "---\nname: haiku\ndescription: Write a haiku\n---\nFive, seven, five.\n"


@pytest.fixture
def skills(environ: dict[str, str]) -> Path:
    folder = Path(environ["HERMES_HOME"]) / "skills"
    folder.mkdir(parents=True)
    (folder / OPT_OUT).touch()
    (folder / "writing" / "haiku").mkdir(parents=True)
    (folder / "writing" / "haiku" / "SKILL.md").write_text(TEXT)
    return folder


@pytest.fixture
def change(skills: Path) -> SkillChange:
    wanted = SkillChange(
        id="abc123",
        action="patch",
        skill="haiku",
        place="writing/haiku",
        before={"SKILL.md": TEXT},
        after={"SKILL.md": TEXT.replace("five.", "five. No rhyme.")},
        reason="It rhymed.",
        at=86_400.0,
        session="s1",
        outside=("the tool x",),
    )
    ChangeJournal(skills).propose(wanted)
    return wanted


def test_skills_are_listed_and_what_cannot_be_used_is_told(skills: Path, run: Run) -> None:
    (skills / "bad").mkdir()
    (skills / "bad" / "SKILL.md").write_text("---\n")
    done = run("skills", "list")
    assert (done.returncode, done.stdout) == (0, "haiku  writing  Write a haiku\n")
    assert done.stderr == f"{skills}/bad: The front matter has no end: a line --- closes it.\n"


def test_without_skills_the_list_says_where_they_lie(environ: dict[str, str], run: Run) -> None:
    folder = Path(environ["HERMES_HOME"]) / "skills"
    folder.mkdir(parents=True)
    (folder / OPT_OUT).touch()
    done = run("skills", "list")
    told = f"There are no skills yet; a folder with a SKILL.md in {environ['HERMES_HOME']}/skills is one.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)


def test_the_skills_that_come_with_the_program_are_there_from_the_first_start(
    environ: dict[str, str], run: Run
) -> None:
    names = [row.split()[0] for row in run("skills", "list").stdout.splitlines()]
    assert (len(names), "review-change" in names) == (27, True)
    folder = Path(environ["HERMES_HOME"]) / "skills"
    shutil.rmtree(folder / "software" / "review-change")
    assert "review-change" not in run("skills", "list").stdout


@pytest.mark.usefixtures("skills")
def test_a_skill_and_its_files_are_shown(run: Run) -> None:
    assert run("skills", "show", "haiku").stdout == TEXT
    done = run("skills", "show", "haiko")
    assert (done.returncode, done.stderr) == (1, "hermes: There is no skill 'haiko'; did you mean haiku?\n")


def test_a_change_is_shown_and_made_or_forgotten(skills: Path, change: SkillChange, run: Run) -> None:
    file = skills / "writing" / "haiku" / "SKILL.md"
    assert run("skills", "review").stdout.split()[0] == "abc123"
    assert run("skills", "review", "abc", given="n\n").stdout.endswith("Forgotten.\n")
    assert (run("skills", "review").stderr, file.read_text()) == ("No change waits.\n", TEXT)
    ChangeJournal(skills).propose(change)
    done = run("skills", "review", "abc", "--yes")
    assert done.stdout.startswith(
        "patch writing/haiku: It rhymed.\nSession s1, after it had read text from the tool x\n\n"
        "--- a/writing/haiku/SKILL.md\n"
    )
    assert file.read_text() == change.after["SKILL.md"]


@pytest.mark.usefixtures("change")
def test_a_change_that_was_made_is_listed_and_taken_back(skills: Path, run: Run) -> None:
    early = run("skills", "revert", "abc123")
    assert early.stderr == "hermes: abc123 was not made; hermes skills review abc123 shows it.\n"
    run("skills", "review", "abc123", "--yes")
    again = run("skills", "review", "abc123")
    assert again.stderr == "hermes: abc123 was made already; hermes skills revert abc123 takes it back.\n"
    assert run("skills", "changes").stdout.split()[0] == "abc123"
    assert run("skills", "revert", "abc123").stdout == "haiku is as it was before abc123.\n"
    assert "one that was taken back is in neither" in run("skills", "revert", "abc123").stderr
    assert (skills / "writing" / "haiku" / "SKILL.md").read_text() == TEXT


@pytest.mark.usefixtures("change")
@pytest.mark.parametrize(("begun", "found"), [("show ha", "haiku"), ("review ab", "abc123")])
def test_shells_complete_skills_and_changes(run: Run, begun: str, found: str) -> None:
    words = {"COMP_WORDS": f"hermes skills {begun}", "COMP_CWORD": "3"}
    done = run(_HERMES_COMPLETE="bash_complete", **words)
    assert (done.stdout.strip(), done.stderr) == (f"plain,{found}", "")


@pytest.mark.usefixtures("change")
def test_an_agent_cannot_answer_for_the_user(run: Run) -> None:
    done = run("skills", "review", "abc123", "--yes", HERMES_SANDBOXED="1")
    assert (done.returncode, "This runs in a command that Hermes has started" in done.stderr) == (2, True)
