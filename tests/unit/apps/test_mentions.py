"""Which files a message names, and which pasted paths are pictures."""

from pathlib import Path

import pytest

from hermes.apps.tui.mentions import mention, mentioned, pasted_picture


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
        ("mail ada@a.py or @nobody, see @src", []),
        ("a decorator: @a.pyx", []),
        ("no mention\n@a.py", ["a.py"]),
        ("@" + "x" * 5000 + " @\0", []),
    ],
)
def test_a_message_names_the_files_that_are_there(folder: Path, text: str, names: list[str]) -> None:
    assert mentioned(text, folder) == [folder / name for name in names]


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
