"""Skills that come with the program are copied once; what a user edits or deletes stays as the user has it."""

from pathlib import Path
from threading import Thread

import pytest

from hermes.skills.bundled import OPT_OUT, bundled_folder, seed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        put(tmp_path / "source" / "code" / name, f"{name} 1\n")
    return tmp_path / "source"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "home" / "skills"


def put(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {
        str(one.relative_to(folder)): one.read_text()
        for one in sorted(folder.rglob("[!.]*"))
        if one.is_file()
    }


def test_all_are_copied_once(source: Path, target: Path) -> None:
    (source / "code" / "a" / "references").mkdir()
    (source / "code" / "a" / "references" / "x.md").write_text("x")
    assert seed(target, source) == ["code/a", "code/b"]
    assert texts(target) == texts(source)
    assert seed(target, source) == []


def test_what_was_edited_or_deleted_stays_when_a_new_version_comes(source: Path, target: Path) -> None:
    put(source / "code" / "c", "c 1\n")
    seed(target, source)
    put(target / "code" / "a", "mine\n")
    (target / "code" / "b" / "SKILL.md").unlink()
    (target / "code" / "b").rmdir()
    for name in "abcd":
        put(source / "code" / name, f"{name} two\n")
    assert seed(target, source) == ["code/c", "code/d"]
    assert texts(target) == {
        "code/a/SKILL.md": "mine\n",
        "code/c/SKILL.md": "c two\n",
        "code/d/SKILL.md": "d two\n",
    }


def test_a_skill_that_the_user_has_under_that_name_is_left(source: Path, target: Path) -> None:
    put(target / "code" / "a", "mine\n")
    assert seed(target, source) == ["code/b"]
    put(source / "code" / "a", "a two\n")
    assert (seed(target, source), texts(target)["code/a/SKILL.md"]) == ([], "mine\n")


def test_a_file_keeps_them_out(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    (target / OPT_OUT).touch()
    assert (seed(target, source), texts(target)) == ([], {})


def test_a_damaged_manifest_loses_nothing(source: Path, target: Path) -> None:
    seed(target, source)
    put(target / "code" / "a", "mine\n")
    (target / ".bundled_manifest").write_bytes(b"{")
    assert seed(target, source) == []
    assert texts(target)["code/a/SKILL.md"] == "mine\n"


def test_two_processes_that_start_at_once_copy_each_whole(source: Path, target: Path) -> None:
    threads = [Thread(target=seed, args=(target, source)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert texts(target) == texts(source)


def test_the_program_has_a_folder_of_them() -> None:
    assert (bundled_folder() / "software" / "review-change" / "SKILL.md").is_file()
