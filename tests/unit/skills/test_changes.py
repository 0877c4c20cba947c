"""Changes of skills: made against the files as they are, kept to the rules, made whole and taken back whole."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.skills.changes import SkillChange, SkillRequest, texts
from hermes.skills.journal import ChangeJournal
from hermes.skills.library import SkillLibrary
from hermes.skills.skill_file import Skill
from hermes.types.error import SkillError

TEXT = "---\nname: review\ndescription: d\n---\n1. Look.\n2. Say.\n"


def a_skill(tmp_path: Path) -> Skill:
    folder = tmp_path / "skills" / "code" / "review"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "references" / "list.md").write_text("names\n")
    return SkillLibrary([tmp_path / "skills"], tmp_path / "cache.json").find("review")


def change(before: Mapping[str, str | None], after: Mapping[str, str | None], name: str = "1") -> SkillChange:
    return SkillChange(
        id=name,
        action="patch",
        skill="review",
        place="code/review",
        before=dict(before),
        after=dict(after),
        session="s",
    )


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        (
            SkillRequest(action="patch", name="review", old_string="2. Say.", new_string="2. Say it."),
            {"SKILL.md": TEXT},
            {"SKILL.md": TEXT.replace("Say.", "Say it.")},
        ),
        (
            SkillRequest(
                action="patch",
                name="review",
                old_string="names",
                new_string="words",
                file_path="references/list.md",
            ),
            {"references/list.md": "names\n"},
            {"references/list.md": "words\n"},
        ),
        (
            SkillRequest(action="edit", name="review", content=TEXT + "3. Go.\n"),
            {"SKILL.md": TEXT},
            {"SKILL.md": TEXT + "3. Go.\n"},
        ),
        (
            SkillRequest(
                action="write_file", name="review", file_path="scripts/a/run.sh", file_content="ls\n"
            ),
            {"scripts/a/run.sh": None},
            {"scripts/a/run.sh": "ls\n"},
        ),
        (
            SkillRequest(action="remove_file", name="review", file_path="references/list.md"),
            {"references/list.md": "names\n"},
            {"references/list.md": None},
        ),
        (
            SkillRequest(action="delete", name="review"),
            {"SKILL.md": TEXT, "references/list.md": "names\n"},
            {"SKILL.md": None, "references/list.md": None},
        ),
    ],
)
def test_each_action_says_what_becomes_of_which_files(
    tmp_path: Path, wanted: SkillRequest, before: dict[str, str | None], after: dict[str, str | None]
) -> None:
    assert texts(wanted, a_skill(tmp_path)) == (before, after)


def test_a_new_skill_has_a_file_that_keeps_the_rules() -> None:
    wanted = SkillRequest(action="create", name="review", content=TEXT)
    assert texts(wanted, None) == ({"SKILL.md": None}, {"SKILL.md": TEXT})
    with pytest.raises(SkillError, match="The front matter names the skill 'review'; it is 'other'"):
        texts(replace(wanted, name="other"), None)
    with pytest.raises(SkillError, match=r"'\.\./up' is no name of a skill"):
        texts(replace(wanted, category="../up"), None)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            SkillRequest(action="create", name="review", content=TEXT),
            "There is a skill review already; patch or edit",
        ),
        (
            SkillRequest(action="patch", name="review", old_string="nowhere", new_string="x"),
            "SKILL.md begins:\n---",
        ),
        (SkillRequest(action="patch", name="review", old_string=".", new_string="!"), "fits 4 places"),
        (SkillRequest(action="patch", name="review"), "patch needs old_string"),
        (
            SkillRequest(action="patch", name="review", old_string="name: review", new_string="x: y"),
            "names the skill",
        ),
        (SkillRequest(action="edit", name="review", content="no front"), "begins with front matter"),
        (SkillRequest(action="remove_file", name="review", file_path="references/none.md"), "has no file"),
        *(
            (
                SkillRequest(action="write_file", name="review", file_path=path),
                "is no place for a file of a skill",
            )
            for path in ("SKILL.md", "x.md", "../a/b", "references/../../b", "/etc/passwd", "", "references")
        ),
        (
            SkillRequest(
                action="write_file", name="review", file_path="assets/x", file_content="x" * 1_048_577
            ),
            "more than 1048576 bytes",
        ),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, wanted: SkillRequest, why: str) -> None:
    with pytest.raises(SkillError) as raised:
        texts(wanted, a_skill(tmp_path))
    assert why in str(raised.value)


def test_a_skill_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(SkillError, match="There is no skill 'x' to change; action create makes one"):
        texts(SkillRequest(action="delete", name="x"), None)


PATHS = st.sampled_from(["SKILL.md", "references/a.md", "scripts/b/c.sh"])
FILES = st.dictionaries(PATHS, st.text("ab\n", max_size=5) | st.none(), min_size=1)


@given(FILES, FILES)
def test_a_change_that_is_made_and_taken_back_leaves_nothing_behind(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str | None], after: dict[str, str | None]
) -> None:
    top = tmp_path_factory.mktemp("skills")
    journal = ChangeJournal(top)
    made = change({path: before.get(path) for path in after}, after)
    first = change(dict.fromkeys(before), before, "0")
    journal.make(first)
    start = files(top)
    journal.make(made)
    assert files(top) == {
        **{path: text for path, text in start.items() if path.removeprefix("code/review/") not in after},
        **{f"code/review/{path}": text for path, text in after.items() if text is not None},
    }
    journal.revert(made)
    assert files(top) == start
    journal.revert(first)
    assert (files(top), (top / "code").exists(), journal.made()) == ({}, False, [])


def test_a_change_waits_and_is_made_once(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    new = change({"SKILL.md": None}, {"SKILL.md": TEXT}, "abc")
    journal.propose(new)
    assert (journal.waiting(), files(journal.folder)) == ([new], {})
    journal.make(journal.find("ab"))
    assert (journal.waiting(), journal.made()) == ([], [new])
    assert files(journal.folder) == {"code/review/SKILL.md": TEXT}
    with pytest.raises(SkillError, match="There is no change whose id begins with 'x'"):
        journal.find("x")


def test_a_change_of_files_that_are_others_by_now_is_not_made(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    mine = a_skill(tmp_path)
    wanted = change({"SKILL.md": TEXT}, {"SKILL.md": TEXT + "3.\n"})
    journal.propose(wanted)
    Path(mine.folder, "SKILL.md").write_text(TEXT + "by hand\n")
    for act in (journal.make, journal.revert):
        with pytest.raises(
            SkillError, match="code/review/SKILL.md is not as it was when this change was made"
        ):
            act(wanted)
    assert Path(mine.folder, "SKILL.md").read_text() == TEXT + "by hand\n"
    assert journal.waiting() == [wanted]


def test_a_change_that_was_cut_off_midway_can_be_taken_back(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    two = change({"SKILL.md": None, "scripts/a.sh": None}, {"SKILL.md": TEXT, "scripts/a.sh": "ls\n"})
    journal.make(two)
    (journal.folder / "code" / "review" / "scripts" / "a.sh").unlink()
    journal.revert(two)
    assert files(journal.folder) == {}


def test_a_change_that_was_killed_before_it_left_the_waiting_ones_can_be_taken_back(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    new = change({"SKILL.md": None}, {"SKILL.md": TEXT}, "abc")
    journal.make(new)
    journal.propose(new)  # as if it had not been dropped
    assert (journal.waiting(), journal.find("abc")) == ([], new)
    journal.revert(journal.find("abc"))
    assert files(journal.folder) == {}


def test_nothing_is_written_where_a_link_leads_out_of_the_skill(tmp_path: Path) -> None:
    skill, victim = a_skill(tmp_path), tmp_path / "victim"
    victim.mkdir()
    Path(skill.folder, "scripts").symlink_to(victim)
    Path(skill.folder, "references", "x.md").symlink_to(victim / "x.md")
    journal = ChangeJournal(tmp_path / "skills")
    for path in ("scripts/a.sh", "references/x.md"):
        with pytest.raises(SkillError, match=f"code/review/{path} leads out of the skill"):
            journal.make(change({path: None}, {path: "x"}))
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "why"),
    [("code", "code is there already"), ("code/review/inner", "code/review is a skill; choose another")],
)
def test_a_new_skill_takes_no_place_of_others(tmp_path: Path, place: str, why: str) -> None:
    a_skill(tmp_path)
    journal = ChangeJournal(tmp_path / "skills")
    new = replace(change({"SKILL.md": None}, {"SKILL.md": TEXT}), action="create", place=place)
    with pytest.raises(SkillError, match=why):
        journal.make(new)


def test_a_skill_is_a_session_s_own_until_somebody_else_has_changed_it(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    journal.make(replace(change({"SKILL.md": None}, {"SKILL.md": TEXT}), action="create"))
    mend = change({"SKILL.md": TEXT}, {"SKILL.md": TEXT + "3.\n"}, "2")
    assert journal.is_own(mend)
    journal.make(mend)
    assert not journal.is_own(change({"SKILL.md": TEXT + "by hand\n"}, {"SKILL.md": TEXT}, "3"))
    assert not journal.is_own(replace(mend, place="code/other"))


@pytest.mark.parametrize("place", ["../../victim", "/etc", "a/../..", ".hub", ""])
def test_a_record_that_no_session_wrote_does_not_count(tmp_path: Path, place: str) -> None:
    journal = ChangeJournal(tmp_path / "skills")
    journal.propose(replace(change({"SKILL.md": None}, {"SKILL.md": TEXT}), place=place))
    assert journal.waiting() == []


def test_a_script_that_is_written_may_run(tmp_path: Path) -> None:
    skill = a_skill(tmp_path)
    ChangeJournal(tmp_path / "skills").make(change({"scripts/a": None}, {"scripts/a": "#!/bin/sh\nls\n"}))
    assert Path(skill.folder, "scripts", "a").stat().st_mode & 0o777 == 0o755


def test_the_diff_names_the_files_by_their_place() -> None:
    assert change({"SKILL.md": "a\n"}, {"SKILL.md": "b\n"}).diff == (
        "--- a/code/review/SKILL.md\n+++ b/code/review/SKILL.md\n@@ -1 +1 @@\n-a\n+b\n"
    )


def test_damaged_records_are_left_out(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path)
    journal.propose(change({"SKILL.md": None}, {"SKILL.md": TEXT}))
    (tmp_path / ".proposals" / "2.json").write_bytes(b"{")
    assert [one.id for one in journal.waiting()] == ["1"]
