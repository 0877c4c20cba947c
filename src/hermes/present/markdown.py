"""Markdown as it streams: blocks that are finished come out once, the open one can be drawn again and
again.
"""

import re
from typing import Any

from hermes.lib.lazy import import_object
from hermes.lib.text_stream import EscapeFilter, TextStream
from hermes.present.blocks import block_lines, item_lines, parser
from hermes.present.highlight import Highlighter
from hermes.present.spans import Line

_CLOSED_BY_BLANK = frozenset({"paragraph", "heading", "table", "hr"})
_BLANK_END = re.compile(r"\n[ \t]*\n\s*\Z")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})")


class MarkdownStream:
    """Feed it text as it comes; it gives each finished line exactly once, at most `width` cells wide but for
    code.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._parse = parser().parse
        self._open = ""
        self._fence = ""
        self._code = Highlighter("")
        self._gap = False
        self._plain = TextStream(EscapeFilter(), self._add)

    def feed(self, text: str) -> list[Line]:
        """The lines that `text` finished."""
        self._plain.add(text)
        return self._settle() if "\n" in text else []

    def _add(self, text: str) -> None:
        self._open += text

    def open_lines(self) -> list[Line]:
        """What is begun and not finished, as it looks now; nothing changes by asking."""
        if self._fence:
            return self._code.glance(self._open.splitlines())
        return self._rendered(self._nodes(), gap=self._gap)

    def finish(self) -> list[Line]:
        """The lines of what was still open; the stream is empty after it and can be fed again."""
        self._plain.end()
        lines = self.feed("\n") if self._fence and self._open else []  # its last line may close it
        lines += self.open_lines()
        self._open, self._fence = "", ""
        self._gap = self._gap or bool(lines)
        return lines

    def _nodes(self) -> list[Any]:
        return list(import_object("markdown_it.tree:SyntaxTreeNode")(self._parse(self._open)).children)

    def _settle(self) -> list[Line]:
        lines: list[Line] = []
        while self._open:
            fresh = self._fenced() if self._fence else self._settled()
            if fresh is None:
                break
            lines += fresh
        return lines

    def _fenced(self) -> list[Line] | None:
        """The whole lines of an open fence, read together; None when there is none yet."""
        *rows, rest = self._open.split("\n")
        if not rows:
            return None
        end = next((number for number, row in enumerate(rows) if self._closes(row)), len(rows))
        if end < len(rows):
            self._fence = ""
        self._open = "\n".join([*rows[end + 1 :], rest])
        return self._code.feed(rows[:end])

    def _closes(self, row: str) -> bool:
        mark = _FENCE.match(row)
        return bool(mark and mark["marks"].startswith(self._fence) and not row[mark.end() :].strip())

    def _settled(self) -> list[Line] | None:
        """The blocks before the open one; None when nothing more is finished."""
        nodes = self._nodes()
        rows = self._open.splitlines(keepends=True)
        if not nodes:
            return None
        *done, last = nodes
        if done:
            return self._commit(done, rows, last.map[0])
        if last.type in _CLOSED_BY_BLANK and self._is_over(last, rows):
            return self._commit(nodes, rows, len(rows))
        if last.type == "fence" and rows[last.map[0]].endswith("\n"):
            return self._enter_fence(last, rows)
        if last.type in {"bullet_list", "ordered_list"} and len(last.children) > 1:
            return self._commit_items(last, rows)
        return None

    def _is_over(self, node: Any, rows: list[str]) -> bool:
        one_line = node.type == "heading" and node.markup.startswith("#")
        return bool(_BLANK_END.search(self._open)) or (one_line and rows[-1].endswith("\n"))

    def _commit(self, nodes: list[Any], rows: list[str], upto: int) -> list[Line]:
        lines = self._rendered(nodes, gap=self._gap)
        self._open = "".join(rows[upto:])
        self._gap = True
        return lines

    def _commit_items(self, node: Any, rows: list[str]) -> list[Line]:
        """All items of a list but the last, which may still grow."""
        lines: list[Line] = []
        for number, following in enumerate(node.children[1:]):
            lines += [*([()] if self._gap else []), *item_lines(node, number, self.width)]
            start = following.map[0]
            self._gap = not rows[start - 1].strip()
        self._open = "".join(rows[start:])
        return lines

    def _enter_fence(self, node: Any, rows: list[str]) -> list[Line]:
        lines: list[Line] = [()] if self._gap else []
        self._fence, self._code = node.markup, Highlighter(node.info)
        self._open = "".join(rows[node.map[0] + 1 :])
        self._gap = True
        return lines

    def _rendered(self, nodes: list[Any], *, gap: bool) -> list[Line]:
        lines: list[Line] = []
        for node in nodes:
            if gap:
                lines.append(())
            lines += block_lines(node, self.width)
            gap = True
        return lines


def markdown_lines(text: str, width: int) -> list[Line]:
    """A whole text, rendered at once."""
    stream = MarkdownStream(width)
    return [*stream.feed(text), *stream.finish()]
