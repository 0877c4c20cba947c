"""The submodules of an index are those that git itself lists, in every form of the file."""

import os
import subprocess
from pathlib import Path

import pytest

from hermes.lib.git_index import gitlinks

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, *, hashes: str = "sha1") -> Path:
    """A repository with some files and three submodules."""
    folder.mkdir()
    git(folder, "init", "-q", f"--object-format={hashes}")
    for number in range(40):
        path = folder / f"folder{number % 3}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(number))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    commit = git(folder, "rev-parse", "HEAD")
    for name in ("sub", "folder1/deep/sub", "zä"):
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
    return folder


LINKS = {"sub", "folder1/deep/sub", "zä"}


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_and_hash_is_read(tmp_path: Path, version: str, hashes: str) -> None:
    folder = repository(tmp_path / "r", hashes=hashes)
    git(folder, "update-index", f"--index-version={version}")
    (folder / "later").write_text("x")
    git(folder, "add", "--intent-to-add", "later")
    assert set(gitlinks(f"{folder}/.git")) == LINKS


def test_a_split_index_has_the_links_of_both_parts(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "update-index", "--split-index")
    commit = git(folder, "rev-parse", "HEAD")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},after")
    assert set(gitlinks(f"{folder}/.git")) == {*LINKS, "after"}


def test_extensions_and_sparse_folders_are_passed_over(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r")
    git(folder, "commit", "-qm", "two")
    git(folder, "update-index", "--untracked-cache", "--force-untracked-cache")
    git(folder, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(folder, "sparse-checkout", "set", "folder1")
    assert "folder1/deep/sub" in gitlinks(f"{folder}/.git")


@pytest.mark.parametrize("damage", ["cut", "zeros", "words", "pipe", "link", "none"])
def test_what_is_no_index_has_no_links_and_ends_nothing(tmp_path: Path, damage: str) -> None:
    folder = repository(tmp_path / "r")
    index = folder / ".git" / "index"
    whole = index.read_bytes()
    index.unlink()
    match damage:
        case "cut":
            index.write_bytes(whole[: len(whole) // 2])
        case "zeros":
            index.write_bytes(whole[:12] + b"\0" * 5_000)
        case "words":
            index.write_text("DIRC, or so")
        case "pipe":
            os.mkfifo(index)
        case "link":
            index.symlink_to("/dev/zero")
    assert gitlinks(f"{folder}/.git") == ()
