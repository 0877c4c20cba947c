"""Plain tables for subcommands: columns padded, the last one cut to the window; as they are when piped."""

import re
import shutil
import sys
from collections.abc import Sequence

import click
from wcwidth import wcswidth

from hermes.lib.text import strip_escapes
from hermes.lib.visible import visible
from hermes.present.spans import cut_text

NARROW = 100
_BREAKS = re.compile(r"[^\S ]+")
"""Any white space but plain spaces, which the lines of a tree are made of."""


def show(rows: Sequence[Sequence[str]], *, head: Sequence[str] = ()) -> None:
    """Print rows in columns; the head only where somebody looks."""
    shown = [list(head), *map(list, rows)] if head and sys.stdout.isatty() else [list(row) for row in rows]
    cells = [[_one_line(cell) for cell in row] for row in shown]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    window = shutil.get_terminal_size((NARROW, 24)).columns if sys.stdout.isatty() else 0
    for row in cells:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row[:-1], widths, strict=False)]
        line = "  ".join([*padded, row[-1]]).rstrip()
        click.echo(cut_text(line, window) if window else line)


def _one_line(cell: str) -> str:
    return visible(strip_escapes(_BREAKS.sub(" ", cell))).rstrip()


def _width(cell: str) -> int:
    return max(0, wcswidth(cell))
