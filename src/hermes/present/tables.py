"""Tables that fit: columns share the width, and where one would be too narrow the rows become records."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hermes.present.spans import Line, Span, columns, pad, plain, wrap

Alignment = Literal["left", "right", "center"]
_GAP = 2
_NARROWEST = 10  # a column of fewer cells breaks most words; records read better


class TableView(Struct, frozen=True, kw_only=True):
    """Cells as parsed: `rows` are as long as `header`, `alignments` too."""

    header: tuple[Line, ...]
    rows: tuple[tuple[Line, ...], ...]
    alignments: tuple[Alignment, ...]


def table_lines(table: TableView, width: int) -> list[Line]:
    """The table in at most `width` cells: aligned columns, or one `name: value` record for each row."""
    sizes = _share(_natural(table), width - _GAP * (len(table.header) - 1))
    if sizes is None:
        return _records(table, width)
    rule = (Span((" " * _GAP).join("─" * size for size in sizes), "dim"),)
    header = tuple(
        tuple(Span(span.text, f"{span.role} strong".strip()) for span in cell) for cell in table.header
    )
    lines = [*_row(header, sizes, table.alignments), rule]
    for row in table.rows:
        lines += _row(row, sizes, table.alignments)
    return lines


def _natural(table: TableView) -> list[int]:
    return [
        max(1, *(columns(row[index]) for row in (table.header, *table.rows)))
        for index in range(len(table.header))
    ]


def _share(natural: list[int], room: int) -> list[int] | None:
    """A width for each column: small ones keep theirs, the others share the rest evenly; None when one gets
    too little.
    """
    sizes = list(natural)
    wide = set(range(len(natural)))
    while sum(natural[index] for index in wide) > room:
        fair = max(0, room // len(wide))
        fitting = {index for index in wide if natural[index] <= fair}
        if not fitting:
            if fair < _NARROWEST:
                return None
            for place, index in enumerate(sorted(wide)):
                sizes[index] = fair + (1 if place < room % len(wide) else 0)
            return sizes
        wide -= fitting
        room -= sum(natural[index] for index in fitting)
    return sizes


def _row(cells: Sequence[Line], sizes: Sequence[int], alignments: Sequence[Alignment]) -> list[Line]:
    blocks = [wrap(cell, size) for cell, size in zip(cells, sizes, strict=True)]
    lines: list[Line] = []
    for number in range(max(len(block) for block in blocks)):
        parts: list[Span] = []
        for block, size, alignment in zip(blocks, sizes, alignments, strict=True):
            cell = block[number] if number < len(block) else ()
            parts += [*_align(cell, size, alignment), Span(" " * _GAP)]
        lines.append(_trimmed(parts))
    return lines


def _align(cell: Line, size: int, alignment: Alignment) -> Line:
    missing = size - columns(cell)
    before = {"left": 0, "right": missing, "center": missing // 2}[alignment]
    return pad((Span(" " * before), *cell) if before > 0 else cell, size)


def _trimmed(parts: list[Span]) -> Line:
    while parts and not parts[-1].text.strip():
        parts.pop()
    return tuple(parts)


def _records(table: TableView, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, row in enumerate(table.rows):
        if number:
            lines.append(())
        for name, cell in zip(table.header, row, strict=True):
            label = (Span(f"{plain(name)}: ", "strong"),)
            lines += wrap(cell, width, first=label, rest=(Span("  "),))
    return lines
