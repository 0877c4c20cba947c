"""Make docs/session.svg: a picture of a real session in a terminal.

Run it from the root of the checkout: python -m scripts.picture [--model NAME] [--base-url URL] [--question
TEXT] [--output FILE]. The program runs in a PTY with a home of its own; its cells are read by a terminal
emulator and written as SVG.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.apps.screen import Terminal

COLUMNS, ROWS = 88, 30
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
CELL, LINE, MARGIN, BAR = 8.4, 19, 18, 34
PALETTE = {
    "default": "#d8dee9", "black": "#3b4252", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d8dee9", "brightblack": "#7f8899",
}  # fmt: skip
QUESTION = "How many Python files are in this project, and which one is the longest?"
_DIM = re.compile(rb"\x1b\[(?:0;)?2m")


class Recorder(Terminal):
    """A terminal whose dim text is grey: the emulator knows colours, not dimness."""

    def feed(self, data: bytes) -> None:
        """Show what the program wrote."""
        super().feed(_DIM.sub(b"\x1b[0;90m", data))


def project(folder: Path) -> Path:
    """A small project to ask about."""
    for name, lines in (
        ("app.py", 12),
        ("src/parser.py", 140),
        ("src/report.py", 64),
        ("tests/test_parser.py", 48),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{number} = {number}\n" for number in range(lines)), encoding="utf-8")
    # Git, wherever it is
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)  # noqa: S607
    return folder


def variables(root: Path) -> dict[str, str]:
    """The environment of a program with a home of its own; models that were fetched before are found."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HERMES_CACHE", "XDG_CACHE_HOME") if name in os.environ
    }
    return {
        "HERMES_CACHE": str(Path.home() / ".cache" / "hermes"),
        **kept,
        "HOME": str(root),
        "HERMES_HOME": str(root / "home"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "COLORFGBG": "15;0",
    }


def cells(terminal: Terminal) -> list[list[Any]]:
    """The cells of the window, row by row."""
    screen = terminal.screen
    return [[screen.buffer[row][column] for column in range(screen.columns)] for row in range(screen.lines)]


def record(arguments: Sequence[str], question: str, seconds: float) -> list[list[Any]]:
    """The cells of the window after the question was answered."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "home").mkdir()
        argv = [sys.executable, "-m", "hermes", *arguments]
        work, env = project(root / "demo"), variables(root)
        with Recorder(argv, cwd=work, env=env, columns=COLUMNS, rows=ROWS) as terminal:
            terminal.until("? keys", seconds)
            terminal.type(f"{question}\r")
            terminal.until("Esc stops", seconds)
            terminal.until(lambda: "Esc stops" not in terminal.text, seconds)
            terminal.read(1.0)
            return cells(terminal)


def svg(rows: Sequence[Sequence[Any]], title: str) -> str:
    """The cells as a picture; empty rows at the end are left out."""
    used = (
        max((number for number, row in enumerate(rows) if any(cell.data.strip() for cell in row)), default=0)
        + 1
    )
    width, height = round(COLUMNS * CELL + 2 * MARGIN), round(used * LINE + BAR + MARGIN)
    lights = ("#e06c75", "#e5c07b", "#98c379")
    dots = "".join(
        f'<circle cx="{20 + 18 * place}" cy="17" r="5.5" fill="{colour}"/>'
        for place, colour in enumerate(lights)
    )
    text = "\n".join(_row(row, BAR + (number + 0.75) * LINE) for number, row in enumerate(rows[:used]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img">\n<title>{escape(title)}</title>\n<rect width="100%" height="100%"'
        f' rx="10" fill="#1f2430"/>{dots}\n<g font-family="{FONTS}" font-size="14"'
        f' xml:space="preserve">\n{text}\n</g>\n</svg>\n'
    )


def _row(row: Sequence[Any], y: float) -> str:
    return "".join(_text(column, look, words.rstrip(), y) for column, look, words in _runs(row))


def _text(column: int, look: Any, words: str, y: float) -> str:
    """One run; its length is given, so that columns stand whatever font is found."""
    length = f' textLength="{len(words) * CELL:.1f}"' if words.isascii() else ""
    return f'<text x="{MARGIN + column * CELL:.1f}" y="{y:.1f}"{length} {_style(look)}>{escape(words)}</text>'


def _runs(row: Sequence[Any]) -> Iterator[tuple[int, Any, str]]:
    """Cells that look the same and stand side by side: column, one of them, and their text; each other sign
    stands alone.
    """
    cells = [(column, cell) for column, cell in enumerate(row) if cell.data]
    for _, run in groupby(cells, key=lambda item: (_style(item[1]), item[1].data.isascii())):
        found = list(run)
        words = "".join(cell.data for _, cell in found)
        if words.isascii() and words.strip():
            lead = len(words) - len(words.lstrip())
            yield found[lead][0], found[lead][1], words.lstrip()
        elif words.strip():
            yield from ((column, cell, cell.data) for column, cell in found)


def _style(cell: Any) -> str:
    weight = ' font-weight="bold"' if cell.bold else ""
    slant = ' font-style="italic"' if cell.italics else ""
    line = ' text-decoration="underline"' if cell.underscore else ""
    return f'fill="{PALETTE.get(cell.fg, PALETTE["default"])}"{weight}{slant}{line}'


def main() -> None:
    """Record and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="how long the model may take, its download included"
    )
    parser.add_argument("--output", type=Path, default=Path("docs/session.svg"))
    given = parser.parse_args()
    arguments = [
        *(["-m", given.model] if given.model else []),
        *(["--base-url", given.base_url] if given.base_url else []),
    ]
    rows = record(arguments, given.question, given.seconds)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(svg(rows, f"hermes answers: {given.question}"), encoding="utf-8")
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
