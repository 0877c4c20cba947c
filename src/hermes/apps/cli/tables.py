"""Plain tables for subcommands: columns padded, the last one cut to the window; as they are when piped, and
with --json an object a row.
"""

import datetime as dt
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click
import msgspec
from msgspec import Struct
from wcwidth import wcswidth

from hermes.lib.text import strip_escapes
from hermes.lib.visible import visible
from hermes.present.spans import cut_text

NARROW = 100
_BREAKS = re.compile(r"[^\S ]+")
"""Any white space but plain spaces, which the lines of a tree are made of."""


_AS_LINES: Final = f"{__name__}.as_lines"
F = TypeVar("F", bound=Callable[..., Any])


class Cell(Struct, frozen=True):
    """A value, and the words that a person reads for it."""

    value: object
    words: str

    def __str__(self) -> str:
        return self.words


def lists(command: F) -> F:
    """Give a command that shows a table the option --json."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, wanted: context.meta.update({_AS_LINES: wanted}),
        help="A JSON object a line.",
    )(command)


def moment(at: float) -> str:
    """A time (epoch seconds) as people read it here; "?" for one that is no time."""
    try:
        return f"{dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone():%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "?"


def show(rows: Sequence[Sequence[object]], *, head: Sequence[str]) -> None:
    """Print rows in columns; the head only where somebody looks. With --json each row is an object whose
    names are those of the head.
    """
    if click.get_current_context().meta.get(_AS_LINES):
        _show_lines(rows, head)
        return
    shown = [head, *rows] if sys.stdout.isatty() else rows
    cells = [[_one_line(str(cell)) for cell in row] for row in shown]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    window = shutil.get_terminal_size((NARROW, 24)).columns if sys.stdout.isatty() else 0
    for row in cells:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row[:-1], widths, strict=False)]
        line = "  ".join([*padded, row[-1]]).rstrip()
        click.echo(cut_text(line, window) if window else line)


def _show_lines(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    names = [name.lower().replace(" ", "_") for name in head]
    for row in rows:
        values = [cell.value if isinstance(cell, Cell) else cell for cell in row]
        click.echo(msgspec.json.encode(dict(zip(names, values, strict=True))))


def _one_line(cell: str) -> str:
    return visible(strip_escapes(_BREAKS.sub(" ", cell))).rstrip()


def _width(cell: str) -> int:
    return max(0, wcswidth(cell))
