"""Notes in a git repository: committed without running what it names, beside what people do in it."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.store.facts import Fact
from hermes.store.git_notes import GitNotes, read_note, written
from hermes.store.note_index import NoteIndex
from hermes.store.protocol import EVERYBODY
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError

ENVIRON = {"PATH": os.environ.get("PATH", os.defpath)}
plain = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n;\x85\u2028\u2029", exclude_categories=["C", "Z"])
)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, check=True, text=True)
    return done.stdout.strip()


def notes(tmp_path: Path, folder: Path, name: str = "i") -> GitNotes:
    return GitNotes(folder, ENVIRON, NoteIndex(tmp_path / f"{name}.db", half_life=0))


def fact(name: str, text: str) -> Fact:
    return Fact(id=name, text=text, at=86_400.0, session="s1")


def found(kept: GitNotes, words: str) -> list[str]:
    return [one.text for one in kept.find(words, EVERYBODY, limit=9, now=0.0)]


def test_a_note_is_a_file_and_a_commit_and_says_where_it_comes_from(tmp_path: Path) -> None:
    kept = notes(tmp_path, tmp_path / "notes")
    name = kept.add(fact("f1", "The elm stands by the gate."))
    assert name == kept.add(fact("f2", "The elm stands by the gate.")) == "the-elm-stands-by-the-gate-f1"
    content = "---\nnoted: 1970-01-02T00:00:00+00:00\nsession: s1\n---\n\nThe elm stands by the gate.\n"
    assert (tmp_path / "notes" / f"{name}.md").read_text() == content
    assert git(tmp_path / "notes", "show", f"HEAD:{name}.md") == content.strip()
    assert git(tmp_path / "notes", "status", "--porcelain") == ""
    assert git(tmp_path / "notes", "log", "--format=%an %s") == f"Hermes Note {name}"
    kept.close()


@given(
    text=plain.filter(bool),
    session=plain,
    origin=plain,
    outside=st.lists(plain.filter(bool), max_size=2).map(tuple),
)
def test_a_note_that_is_read_is_the_fact_that_was_written(
    tmp_path_factory: pytest.TempPathFactory, text: str, session: str, origin: str, outside: tuple[str, ...]
) -> None:
    one = Fact(
        id="n",
        text=text,
        at=5.0,
        session=session,
        origin=origin,
        outside=outside,
        bounds=Capabilities(read=("/w",)),
    )
    path = tmp_path_factory.getbasetemp() / "n.md"
    path.write_bytes(written(one))
    assert read_note(path, 9.0) == one


def test_what_people_write_change_and_remove_is_found_as_it_is_now(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    kept = notes(tmp_path, folder)
    name = kept.add(fact("f1", "The elm is old."))
    (folder / "mine.md").write_text("The ash is mine.\n")
    (folder / f"{name}.md").write_text("The elm is young.\n")
    (folder / "secret.md").symlink_to("/etc/passwd")
    assert sorted(one.text for one in kept.everything()) == ["The ash is mine.", "The elm is young."]
    assert found(kept, "elm") == ["The elm is young."]
    assert kept.remove(name, EVERYBODY)
    assert git(folder, "show", f"HEAD~1:{name}.md") == "The elm is young."
    (folder / "mine.md").unlink()
    assert kept.everything() == []
    kept.close()


def test_what_is_staged_stays_staged_and_a_folder_in_a_repository_will_do(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    (top / "notes").mkdir(parents=True)
    git(top, "init", "--quiet")
    (top / "notes" / "readme.md").write_text("Notes.")
    (top / "code.py").write_text("x = 1\n")
    git(top, "add", "code.py")
    kept = notes(tmp_path, top / "notes")
    name = kept.add(fact("f1", "The elm is old."))
    assert git(top, "status", "--porcelain").splitlines() == ["A  code.py", "?? notes/readme.md"]
    assert git(top, "ls-tree", "-r", "--name-only", "HEAD") == f"notes/{name}.md"
    kept.close()


def test_nothing_that_the_repository_or_the_user_names_is_run(tmp_path: Path) -> None:
    folder, ran = tmp_path / "notes", tmp_path / "ran"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "a.md").write_text("by hand\n")
    git(folder, "add", "a.md")
    os.utime(folder / ".git" / "index", (1, 1))  # as old as the file: git reads that again to be sure
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0" >> {ran}\ncat\n')
    program.chmod(0o755)
    for hook in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "commit-msg"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(program.read_bytes())
        path.chmod(0o755)
    for key in (
        "filter.f.clean",
        "filter.f.process",
        "core.fsmonitor",
        "gpg.program",
        "core.editor",
        "core.pager",
    ):
        git(folder, "config", key, str(program))
    git(folder, "config", "commit.gpgSign", "true")
    (folder / ".gitattributes").write_text("* filter=f\n")
    kept = notes(tmp_path, folder)
    assert kept.remove(kept.add(fact("f1", "The elm is old.")), EVERYBODY)
    assert not ran.exists()
    kept.close()


def test_of_several_that_note_at_once_none_loses_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    several = [notes(tmp_path, folder, f"i{number}") for number in range(3)]

    def note(who: int) -> None:
        for number in range(5):
            several[who].add(fact(f"f{who}{number}", f"elm {who} {number}"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(note, range(3)))
    assert len(git(folder, "ls-tree", "--name-only", "HEAD").splitlines()) == 15
    assert git(folder, "rev-list", "--count", "HEAD") == "15"
    assert len(several[0].everything()) == 15
    for one in several:
        one.close()


def test_a_folder_with_other_files_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    with pytest.raises(ConfigError, match="cannot keep notes .* make it a git repository"):
        notes(tmp_path, folder)


@pytest.mark.parametrize("at", ["its opening", "its use"])
@pytest.mark.parametrize("damage", [b"", b"noise" * 4000, None])
def test_a_damaged_index_is_made_again_from_the_notes(tmp_path: Path, damage: bytes | None, at: str) -> None:
    index, kept = tmp_path / "i.db", notes(tmp_path, tmp_path / "n")
    kept.add(fact("a", "the elm is old"))
    if at == "its opening":
        kept.close()
    for name in ("", "-wal", "-shm"):
        index.with_name(index.name + name).unlink(missing_ok=True)
    if damage is not None:
        index.write_bytes(damage)
    if at == "its opening":
        kept = notes(tmp_path, tmp_path / "n")
    kept.add(fact("b", "the ash is old"))
    assert sorted(found(kept, "old")) == ["the ash is old", "the elm is old"]
    kept.close()
