"""Code in colours: the rows of a fenced block as they come, each coloured once, its text unchanged."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from hermes.lib.lazy import import_object
from hermes.present.spans import Line, Span, line, plain

_WINDOW: Final = 16  # rows that are read again for a new one; a tenth of a millisecond each
_LONGEST: Final = 400  # rows of one string or comment: what comes after it is not worth the time
_LARGEST: Final = 200_000  # characters read at once: a third of a second
_CLOSED: Final = "\n*/"  # many languages see no comment before its end; elsewhere it is a row of its own
_ROLES: Final[Mapping[tuple[str, ...], str]] = {
    ("Keyword",): "keyword", ("Operator", "Word"): "keyword", ("Name", "Tag"): "keyword",
    ("Comment", "Preproc"): "keyword", ("Comment",): "comment", ("Generic", "Prompt"): "comment",
    ("Literal", "String"): "string", ("Literal", "Number"): "number",
    ("Name", "Function"): "definition", ("Name", "Class"): "definition", ("Name", "Decorator"): "definition",
    ("Name", "Attribute"): "definition", ("Generic", "Subheading"): "definition",
    ("Generic", "Inserted"): "added", ("Generic", "Deleted"): "removed",
}  # fmt: skip


class Highlighter:
    """Takes the rows of one block in order. A language that nobody knows has the one colour of code.

    What a row means depends on those before it, such as the beginning of a string. They are read again from a
    place of which is known that nothing was open there: the rows after it alone look the same.
    """

    def __init__(self, info: str) -> None:
        self._lexer = _lexer(info)
        self._rows: list[str] = []

    def feed(self, rows: Sequence[str]) -> list[Line]:
        """The next rows in colours."""
        if self._lexer is None:
            return [line(row, "code") for row in rows]
        self._rows += rows
        shown = self._coloured(self._rows)
        self._forget(shown)
        return shown[len(shown) - len(rows) :]

    def glance(self, rows: Sequence[str]) -> list[Line]:
        """How rows would look that are not finished."""
        if self._lexer is None:
            return [line(row, "code") for row in rows]
        return self._coloured([*self._rows, *rows])[len(self._rows) :]

    def _coloured(self, rows: Sequence[str]) -> list[Line]:
        text = "\n".join(rows) + _CLOSED
        if self._lexer is not None and len(text) <= _LARGEST:
            shown = _lines(self._lexer.get_tokens(text))[: len(rows)]
            if [plain(row) for row in shown] == list(rows):  # what a person copies is what was written
                return shown
        return [line(row, "code") for row in rows]

    def _forget(self, shown: Sequence[Line]) -> None:
        """Let go of the first rows where those that stay look the same without them."""
        if len(shown) <= _WINDOW:
            return
        place = len(shown) - _WINDOW // 2
        if self._coloured(self._rows[place:]) == list(shown[place:]):
            self._rows = self._rows[place:]
        elif len(shown) > _LONGEST:
            self._lexer = None


def _lexer(info: str) -> Any:
    """What reads the language that a fence names; None where it names none that is known.

    The package comes with rich; it is loaded when the first block needs it.
    """
    name = next(iter(info.split()), "").strip("{}.").lower()
    if not name or name in {"text", "txt", "plain", "plaintext"}:
        return None
    try:
        return import_object("pygments.lexers:get_lexer_by_name")(name, stripnl=False, ensurenl=False)
    except import_object("pygments.util:ClassNotFound"):
        return None


def _lines(tokens: Iterable[tuple[tuple[str, ...], str]]) -> list[Line]:
    rows: list[list[Span]] = [[]]
    for kind, text in tokens:
        first, *others = text.split("\n")
        role = _role(kind)
        rows[-1] += [Span(first, role)] if first else []
        rows += [[Span(part, role)] if part else [] for part in others]
    return [tuple(row) for row in rows]


@cache
def _role(kind: tuple[str, ...]) -> str:
    known = (_ROLES.get(tuple(kind[:size])) for size in range(len(kind), 0, -1))
    return next((role for role in known if role), "")
