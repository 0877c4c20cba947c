"""What small tasks are made of: the task itself, builders of workspaces, checks of answers and files."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

Build = Callable[[Path], None]
Check = Callable[[Path, str], bool]


@dataclass(frozen=True, slots=True)
class Task:
    """A request, the workspace it is asked in, and whether the answer and the files are right.

    `tools_needed` is None where an answer from the head and one from a tool are both legitimate.
    """

    name: str
    question: str
    build: Build
    check: Check
    tools_needed: bool | None = True
    _: KW_ONLY
    kind: str
    language: str = "en"


def files(**contents: str) -> Build:
    """Write those files; `__` in a name stands for its dot."""
    return tree({name.replace("__", "."): text for name, text in contents.items()})


def tree(contents: dict[str, str]) -> Build:
    """Write those files, their folders with them; a name that ends in a slash is an empty folder."""

    def build(root: Path) -> None:
        for name, text in contents.items():
            path = root / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text(text, encoding="utf-8")

    return build


def git(root: Path, *arguments: str) -> None:
    """Run git in that folder as Ada Lovelace."""
    author = [
        "-c",
        "user.name=Ada Lovelace",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run(["git", *author, *arguments], cwd=root, check=True, capture_output=True)  # noqa: S607


def says(*words: str) -> Check:
    """The answer has each word; a word between slashes is a regular expression."""

    def check(_root: Path, answer: str) -> bool:
        flat = re.sub(r"(?<=\d)[, _](?=\d{3})", "", answer.lower())
        return all(
            re.search(word[1:-1], flat) if word.startswith("/") else word.lower() in flat for word in words
        )

    return check


def lacks(word: str) -> Check:
    """The answer does not have the word."""
    return lambda _root, answer: word not in answer


def number(value: int) -> str:
    """The pattern for `says` of a number in digits or, if small, as a word."""
    small = (
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    )
    word = f"|{small[value]}" if value < len(small) else ""
    return rf"/\b({value}{word})\b/"


def reads(name: str, text: str) -> Check:
    """The file has that text, apart from white space around it."""
    return lambda root, _answer: (
        (root / name).is_file() and (root / name).read_text(encoding="utf-8").strip() == text
    )


def only(*names: str) -> Check:
    """The workspace has these files and no other."""
    return lambda root, _answer: (
        sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == sorted(names)
    )


def prints(name: str, *words: str) -> Check:
    """The Python program ends well and prints each word."""

    def check(root: Path, _answer: str) -> bool:
        printed = output(root, name)
        return printed is not None and all(word in printed for word in words)

    return check


def output(root: Path, name: str, *arguments: str, program: str = sys.executable) -> str | None:
    """What a program in the workspace prints; None where it fails or takes too long."""
    command = [program, *(["-B"] if program == sys.executable else []), name, *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def all_of(*checks: Check) -> Check:
    """Each of the checks holds."""
    return lambda root, answer: all(check(root, answer) for check in checks)


def numbered(count: int) -> str:
    """That many lines that differ."""
    return "".join(f"line {number}\n" for number in range(1, count + 1))
