"""Which files a message names, and which pasted paths are pictures."""

import base64
import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes.apps.tui.mentions import gathered, mention, mentioned, missing, pasted_picture


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
        ('@"three words.md"', ["There is no file three words.md. Did you mean two words.md?"]),
        (
            "@src/c.py @src/whatever",
            ["There is no file src/c.py. Did you mean src/b.py?", "There is no file src/whatever."],
        ),
        ("@shto.png @shot", ["There is no file shto.png. Did you mean shot.png or my shot.png?"]),
        ("@media @types/node ada@example.org @pytest.fixture() @octocat: @ @\0", []),
        ("@a.py and @src/", []),
        ("@" + "x" * 5000, []),
    ],
)
def test_a_missing_file_is_told_and_other_words_stay_words(folder: Path, text: str, told: list[str]) -> None:
    assert missing(text, folder) == told


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions some work makes, which is what it costs on any machine."""
    made = count()
    sys.setprofile(lambda _frame, kind, _: next(made) if kind in {"call", "c_call"} else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return next(made)


def test_twenty_names_that_are_not_there_cost_little_more_than_one(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"chapter-{number:04}.md").touch()
    one, *others = (f"@chaptre-{number:04}.md" for number in range(20))
    told = missing(one, tmp_path)
    assert told[0].startswith("There is no file chaptre-0000.md. Did you mean chapter-0000.md or ")
    together = calls_of(lambda: missing(" ".join([one, *others]), tmp_path))
    assert together < 6 * calls_of(lambda: missing(one, tmp_path))


def test_a_folder_of_many_files_costs_a_few_of_its_names(tmp_path: Path) -> None:
    session: Any = SimpleNamespace(
        services=SimpleNamespace(redactor=SimpleNamespace(redact=str)),
        endpoint=SimpleNamespace(context_window=100_000, profile=None),
    )
    for number in range(3_000):
        (tmp_path / f"{number:04}").touch()
    listed = [gathered("@.", session, tmp_path)]
    assert calls_of(lambda: listed.append(gathered("@.", session, tmp_path))) < 30_000
    lines = base64.b64decode(listed[0].files[0].data).decode().splitlines()
    assert (lines[:2], lines[199:]) == (["0000", "0001"], ["0199", "… and 2800 more"])


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
        "There is no file file1200x. Did you mean file1200 or file200 or file120?"
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
