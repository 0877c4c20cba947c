"""Skills are found in their folders, kept by the time of their files, and read without leaving their folder."""

import os
from pathlib import Path

import pytest

from hermes.skills.library import FaultySkill, SkillLibrary, files_of, read_skill_file
from hermes.skills.needs import unmet
from hermes.types.error import SkillError


def put(folder: Path, name: str, description: str = "d", body: str = "body") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return folder


def library(tmp_path: Path, *more: Path, disabled: tuple[str, ...] = ()) -> SkillLibrary:
    return SkillLibrary([tmp_path / "skills", *more], tmp_path / "cache" / "skills.json", disabled)


def test_skills_are_found_below_categories_and_come_in_their_order(tmp_path: Path) -> None:
    top = tmp_path / "skills"
    put(top / "writing" / "haiku", "haiku")
    put(top / "code" / "git" / "rebase", "rebase")
    put(top / "alone", "alone")
    put(top / ".hub" / "quarantine" / "bad", "bad")
    put(top / "writing" / "haiku" / "examples" / "inner", "inner")
    found = library(tmp_path).skills()
    assert [(one.category, one.name) for one in found] == [
        ("", "alone"),
        ("code/git", "rebase"),
        ("writing", "haiku"),
    ]


def test_of_two_with_one_name_the_first_folder_s_counts_and_the_other_is_told(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "a", "same", "mine")
    other = put(tmp_path / "far" / "b", "same", "theirs")
    both = library(tmp_path, tmp_path / "far")
    assert [one.description for one in both.skills()] == ["mine"]
    why = f"{tmp_path}/skills/a has the name same too"
    assert both.faults() == [FaultySkill(folder=str(other), why=why)]


def test_a_file_that_is_no_skill_is_told_and_hides_no_other(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "good", "good")
    (tmp_path / "skills" / "bad").mkdir()
    (tmp_path / "skills" / "bad" / "SKILL.md").write_text("---\nname: x\n")
    found = library(tmp_path)
    assert [one.name for one in found.skills()] == ["good"]
    why = "The front matter has no end: a line --- closes it."
    assert found.faults() == [FaultySkill(folder=str(tmp_path / "skills" / "bad"), why=why)]


def test_a_change_counts_at_once_and_what_is_kept_is_taken_else(tmp_path: Path) -> None:
    folder = put(tmp_path / "skills" / "a", "a", "old")
    found = library(tmp_path)
    assert [one.description for one in found.skills()] == ["old"]
    put(folder, "a", "newer")
    assert [one.description for one in found.skills()] == ["newer"]
    kept = tmp_path / "cache" / "skills.json"
    kept.write_text(kept.read_text().replace("newer", "cache"))
    assert [one.description for one in library(tmp_path).skills()] == ["cache"]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"form":99,"rows":{}}', b'{"rows":{"x":1}}', b"\xff"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    put(tmp_path / "skills" / "a", "a")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "skills.json").write_bytes(damage)
    assert [one.name for one in library(tmp_path).skills()] == ["a"]
    assert b'"a"' in (tmp_path / "cache" / "skills.json").read_bytes()


def test_a_name_that_is_no_text_hides_no_other_skill(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "good", "good")
    put(Path(os.fsdecode(os.fsencode(tmp_path / "skills") + b"/bad\xff")), "bad")
    os.mkfifo(tmp_path / "skills" / "good" / "pipe\n")
    (tmp_path / "skills" / "pipe").mkdir()
    os.mkfifo(tmp_path / "skills" / "pipe" / "SKILL.md")
    found = library(tmp_path)
    assert ([one.name for one in found.skills()], files_of(found.find("good"))) == (["good"], [])


def test_a_home_without_skills_has_none_and_gets_no_folder(tmp_path: Path) -> None:
    assert (library(tmp_path).skills(), library(tmp_path).faults()) == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_a_skill_that_is_switched_off_is_not_there(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "a", "a")
    off = library(tmp_path, disabled=("a",))
    assert off.skills() == []
    with pytest.raises(
        SkillError, match="There is no skill 'a'; the list of skills has those that are there"
    ):
        off.find("a")


def test_a_skill_is_found_by_name_with_or_without_its_category(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "code" / "review", "review")
    found = library(tmp_path)
    assert found.find("review") == found.find("code/review")
    with pytest.raises(SkillError, match=r"There is no skill 'reviw'; did you mean review\?"):
        found.find("reviw")


def test_its_files_are_listed_and_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "skills" / "a", "a")
    for name in ("references/api.md", "scripts/run.sh", "__pycache__/x.pyc", ".hidden"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    skill = library(tmp_path).find("a")
    assert files_of(skill) == ["references/api.md", "scripts/run.sh"]
    assert read_skill_file(skill, "references/api.md") == "references/api.md"
    with pytest.raises(
        SkillError, match=r"has no file 'references/apis.md'; did you mean references/api.md\?"
    ):
        read_skill_file(skill, "references/apis.md")


@pytest.mark.parametrize(
    "path", ["a\0b", "../b/SKILL.md", "/etc/passwd", "out", "out/passwd", "scripts/../../b/SKILL.md"]
)
def test_nothing_outside_its_folder_is_read(tmp_path: Path, path: str) -> None:
    folder = put(tmp_path / "skills" / "a", "a")
    put(tmp_path / "skills" / "b", "b")
    (folder / "out").symlink_to("/etc")
    skill = library(tmp_path).find("a")
    with pytest.raises(SkillError, match="lies outside the skill a"):
        read_skill_file(skill, path)


def test_pipes_folders_and_other_than_text_are_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "skills" / "a", "a")
    os.mkfifo(folder / "pipe")
    (folder / "photo.png").write_bytes(b"\x89PNG\xff")
    (folder / "large").write_bytes(b"x" * 1_048_577)
    skill = library(tmp_path).find("a")
    for path, why in (
        ("pipe", "has no file 'pipe'"),
        (".", "has no file '.'"),
        ("photo.png", "is no text; it lies at"),
        ("large", "is larger than 1048576 bytes"),
    ):
        with pytest.raises(SkillError, match=why):
            read_skill_file(skill, path)


def test_a_link_to_a_folder_of_skills_is_followed_and_a_circle_ends(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "b", "b")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "skills" / "round").symlink_to(tmp_path / "skills")
    assert [(one.category, one.name) for one in library(tmp_path).skills()][:1] == [("linked", "b")]


def test_what_is_missing_is_told_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "a"
    folder.mkdir(parents=True)
    front = (
        "name: a\ndescription: d\nprerequisites: {commands: [jq, git], env_vars: [KEY, HOME]}\n"
        "required_credential_files: [token.json, {path: there.json, description: d}, ~nobody/x]"
    )
    (tmp_path / "there.json").touch()
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\nx\n")
    skill = library(tmp_path).find("a")
    found = unmet(skill, {"HOME": "/h"}, {"git": "/bin/git"}.get, tmp_path)
    assert found.sentences == (
        "the variable KEY is not set",
        "the program jq is not there",
        "the file token.json is not there",
        "the file ~nobody/x is not there",
    )
    assert found.names == ("KEY", "jq", "token.json", "~nobody/x")
