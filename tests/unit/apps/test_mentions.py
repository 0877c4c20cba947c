"""Which files a message names, and which pasted paths are pictures."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from hermes.apps.tui.mentions import mention, mentioned, missing, pasted_picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("a.py", "src/b.py", "two words.md", "shot.png", "my shot.png"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("what is in @a.py?", ["a.py"]),
        ("@src/b.py and @a.py, and @a.py again", ["src/b.py", "a.py"]),
        ('sum up @"two words.md"', ["two words.md"]),
        ("mail ada@a.py or @nobody, see @src.", ["src"]),
        ("a decorator: @a.pyx", []),
        ("no mention\n@a.py", ["a.py"]),
        ("@" + "x" * 5000 + " @\0", []),
    ],
)
def test_a_message_names_the_files_and_folders_that_are_there(
    folder: Path, text: str, names: list[str]
) -> None:
    assert mentioned(text, folder) == [folder / name for name in names]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("see @notes.md, and @notes.md", ["There is no file notes.md."]),
        ('@"three words.md"', ["There is no file three words.md; did you mean two words.md?"]),
        (
            "@src/c.py @src/whatever",
            ["There is no file src/c.py; did you mean src/b.py?", "There is no file src/whatever."],
        ),
        ("@shto.png @shot", ["There is no file shto.png; did you mean shot.png or my shot.png?"]),
        ("@media @types/node ada@example.org @pytest.fixture() @octocat: @ @\0", []),
        ("@a.py and @src/", []),
        ("@" + "x" * 5000, []),
    ],
)
def test_a_missing_file_is_told_and_other_words_stay_words(folder: Path, text: str, told: list[str]) -> None:
    assert missing(text, folder) == told


@pytest.mark.parametrize("name", ["pipe", "nothing", "round"])
def test_what_is_there_and_no_file_is_told_to_be_none_that_can_be_sent(folder: Path, name: str) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "nothing").symlink_to("nowhere")
    (folder / "round").symlink_to("round")
    assert missing(f"look at @{name}.", folder) == [f"{name} is no file that can be sent."]


class EndlessFolder(type(Path())):  # type: ignore[misc]  # the class for this system
    """A folder with as many files as anybody looks at."""

    def iterdir(self) -> Iterator[Path]:
        return (self / f"file{number}" for number in count())


def test_of_a_huge_folder_some_names_are_compared(tmp_path: Path) -> None:
    assert missing("@file1200x", EndlessFolder(tmp_path)) == [
        "There is no file file1200x; did you mean file1200 or file200 or file120?"
    ]


def test_a_mention_names_its_file_again(folder: Path) -> None:
    for name in ("a.py", "two words.md"):
        assert mentioned(f"see {mention(name)} now", folder) == [folder / name]


@pytest.mark.parametrize(
    ("pasted", "named"),
    [
        ("{folder}/shot.png", "@shot.png"),
        ("'{folder}/my shot.png' ", '@"my shot.png"'),
        ("{folder}/my\\ shot.png", '@"my shot.png"'),
        ("file://{folder}/my%20shot.png", '@"my shot.png"'),
        ("{folder}/a.py", ""),
        ("{folder}/missing.png", ""),
        ("see {folder}/shot.png", ""),
        ("two\nlines.png", ""),
    ],
)
def test_the_pasted_path_of_a_picture_names_it(folder: Path, pasted: str, named: str) -> None:
    assert pasted_picture(pasted.format(folder=folder), folder) == named
