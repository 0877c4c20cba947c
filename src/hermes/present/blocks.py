"""Parsed Markdown blocks to lines: hanging indents, tables, code as it is, and nothing that looks like markup
lost.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hermes.lib.lazy import import_object
from hermes.present.highlight import Highlighter
from hermes.present.spans import Line, Span, drop, line, plain, wrap
from hermes.present.tables import Alignment, TableView, table_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_BULLETS = ("•", "◦", "▪")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_RULE = 24
_COLOURED = 100
_NARROWEST = 16  # below this an indent costs more than it shows


def parser() -> "MarkdownIt":
    """The dialect: CommonMark with tables and strike-through; HTML and `[name]: address` lines stay text."""
    dialect: MarkdownIt = import_object("markdown_it:MarkdownIt")("commonmark", {"html": False})
    return dialect.enable(["table", "strikethrough"]).disable("reference")


def block_lines(node: Any, width: int, depth: int = 0) -> list[Line]:
    """The lines of one block, at most `width` cells wide but for code."""
    if node.type in {"bullet_list", "ordered_list"}:
        return _list(node, width, depth)
    render: Mapping[str, Callable[[Any, int], list[Line]]] = {
        "paragraph": _paragraph, "heading": _heading, "fence": _code, "code_block": _code,
        "blockquote": _quote, "table": _table, "hr": _rule,
    }  # fmt: skip
    return render.get(node.type, _unknown)(node, width)


def item_lines(node: Any, number: int, width: int, depth: int = 0) -> list[Line]:
    """The lines of item `number` (from 0) of a list."""
    mark = _mark(node, number, depth)
    indent = len(mark)
    room = max(_NARROWEST, width - indent)
    lines: list[Line] = []
    for place, child in enumerate(node.children[number].children):
        if place and (child.type == "fence" or not _tight(child)):
            lines.append(())
        lines += block_lines(child, room, depth + 1)
    return _indented(*_task(mark, lines), indent)


def _mark(node: Any, number: int, depth: int) -> str:
    if node.type == "ordered_list":
        # as written, so that a list cut in two while it streams counts on
        return f"{node.children[number].info}. "
    return f"{_BULLETS[min(depth, len(_BULLETS) - 1)]} "


def _list(node: Any, width: int, depth: int) -> list[Line]:
    lines: list[Line] = []
    loose = any(
        not _tight(child) for item in node.children for child in item.children if child.type == "paragraph"
    )
    for number in range(len(node.children)):
        if number and loose:
            lines.append(())
        lines += item_lines(node, number, width, depth)
    return lines


def _tight(node: Any) -> bool:
    return node.type != "paragraph" or bool(node.hidden)


def _task(mark: str, lines: list[Line]) -> tuple[str, list[Line]]:
    """A task's box takes the place of the bullet."""
    sign = _TASKS.get(plain(lines[0])[:4]) if lines else None
    return (sign, [drop(lines[0], 4), *lines[1:]]) if sign else (mark, lines)


def _indented(mark: str, lines: list[Line], indent: int) -> list[Line]:
    rows = lines or [()]
    return [
        (Span(mark, "accent"), *rows[0]),
        *((Span(" " * indent), *row) if row else () for row in rows[1:]),
    ]


def _paragraph(node: Any, width: int) -> list[Line]:
    return [row for part in _inline(node) for row in wrap(part, width)]


def _heading(node: Any, width: int) -> list[Line]:
    role = "heading accent" if node.tag in {"h1", "h2"} else "heading"
    return [row for part in _inline(node, role) for row in wrap(part, width)]


def _code(node: Any, _width: int) -> list[Line]:
    rows = node.content.removesuffix("\n").split("\n")
    # a block inside a list is drawn again with each picture until the list is finished
    return Highlighter(node.info if len(rows) <= _COLOURED else "").feed(rows)


def _quote(node: Any, width: int) -> list[Line]:
    lines: list[Line] = []
    for child in node.children:
        if lines:
            lines.append(())
        lines += block_lines(child, max(_NARROWEST, width - 2))
    return [(Span("│ ", "quote"), *row) for row in lines]


def _rule(_node: Any, width: int) -> list[Line]:
    return [line("─" * min(width, _RULE), "dim")]


def _unknown(node: Any, width: int) -> list[Line]:
    return [row for text in node.content.splitlines() for row in wrap(line(text), width)]


def _table(node: Any, width: int) -> list[Line]:
    rows = [row for part in node.children for row in part.children]
    cells = [tuple(_joined(cell) for cell in row.children) for row in rows]
    alignments = tuple(_alignment(cell) for cell in rows[0].children)
    return table_lines(TableView(header=cells[0], rows=tuple(cells[1:]), alignments=alignments), width)


def _alignment(cell: Any) -> Alignment:
    style = str(cell.attrs.get("style", ""))
    if style.endswith("right"):
        return "right"
    return "center" if style.endswith("center") else "left"


def _joined(node: Any) -> Line:
    parts = list(_inline(node))
    return tuple(
        span for number, part in enumerate(parts) for span in ((Span(" "), *part) if number else part)
    )


def _inline(node: Any, role: str = "") -> Iterator[Line]:
    """The text of a block, one line for each break the writer made."""
    spans: list[Span] = []
    for child in node.children:
        for span in _spans(child, role):
            if span.text == "\n":
                yield tuple(spans)
                spans = []
            else:
                spans.append(span)
    yield tuple(spans)


def _spans(node: Any, role: str) -> Iterator[Span]:
    roles = {"strong": "strong", "em": "emphasis", "s": "struck"}
    if node.type in {"softbreak", "hardbreak"}:
        yield Span("\n")
    elif node.type == "code_inline":
        yield Span(node.content, _with(role, "code"))
    elif node.type == "link":
        yield from _link(node, role)
    elif node.type == "image":
        yield Span(f"{node.content or 'image'} ({node.attrs.get('src', '')})", _with(role, "link"))
    elif node.children:
        for child in node.children:
            yield from _spans(child, _with(role, roles.get(node.type, "")))
    elif node.content:
        yield Span(node.content.replace("\t", "    "), role)


def _link(node: Any, role: str) -> Iterator[Span]:
    inner = [span for child in node.children for span in _spans(child, _with(role, "link"))]
    yield from inner
    address = str(node.attrs.get("href", ""))
    if address and plain(inner) not in {address, address.removeprefix("mailto:")}:
        yield Span(f" ({address})", _with(role, "dim"))


def _with(role: str, more: str) -> str:
    return f"{role} {more}".strip()
