"""How roles look: the sixteen base colours on dark and light backgrounds, no colour, and plain ASCII."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from hermes.lib.text import for_terminal
from hermes.present.spans import Line, Span

Background = Literal["dark", "light"]

_SGR = {
    "bold": 1, "dim": 2, "italic": 3, "underline": 4, "reverse": 7, "strike": 9,
    "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36,
}  # fmt: skip
_COLOURS = frozenset({"red", "green", "yellow", "blue", "magenta", "cyan"})
_LIGHT_PARTS = frozenset({"7", "15"})

_SYNTAX = frozenset(
    {"keyword", "string", "number", "comment", "definition"}
)  # nothing is left without colour
_SHARED = {
    "strong": "bold", "emphasis": "italic", "heading": "bold", "struck": "strike", "dim": "dim",
    "quote": "dim",
    "keyword": "magenta", "string": "green", "comment": "dim",
    "error": "red", "good": "green", "added": "green", "removed": "red", "chosen": "bold", "title": "bold",
}  # fmt: skip
_DARK = _SHARED | {
    "code": "cyan",
    "link": "cyan",
    "accent": "cyan",
    "warning": "yellow",
    "prompt": "bold cyan",
    "chip": "cyan",
    "number": "yellow",
    "definition": "cyan",
}
_LIGHT = _SHARED | {
    "code": "blue",
    "link": "blue",
    "accent": "blue",
    "warning": "magenta",
    "prompt": "bold blue",
    "chip": "blue",
    "number": "red",
    "definition": "blue",
}

# Each replacement is one cell for one cell, so that a layout made for the one fits the other; a two-cell
# picture becomes "* ".
_ASCII = str.maketrans({
    "…": "~", "❯": ">", "✗": "x", "✓": "+", "─": "-", "│": "|", "•": "*", "◦": "-", "▪": "+", "·": "|",
    "−": "-", "↑": "^", "↓": "v",
    "○": "o", "●": "*", "🧭": "* ",
    "☐": "_", "☑": "x", "└": "`", "▸": ">", "✻": "*", "“": '"', "”": '"', "’": "'", "–": "-", "⏎": "/",
    "💻": "* ", "📖": "* ", "🔧": "* ", "🔎": "* ", "⚙": "*", "✍": "*", "🧩": "* ", "📋": "* ", "❓": "? ",
    "⚡": "* ",
})  # fmt: skip
_SPINNER = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
_ASCII_SPINNER = ("|", "/", "-", "\\")


class Theme(Struct, frozen=True, kw_only=True):
    """A look: `colour` off leaves bold and underline, `escapes` off leaves nothing but text."""

    background: Background = "dark"
    colour: bool = True
    escapes: bool = True
    ascii: bool = False

    def attributes(self, role: str) -> tuple[str, ...]:
        """The words (bold, cyan, …) for a span's roles, in order, without colours when there is no colour."""
        table = _LIGHT if self.background == "light" else _DARK
        names = (name for name in role.split() if self.colour or name not in _SYNTAX)
        words = " ".join(table.get(name, "") for name in names).split()
        return tuple(word for word in words if self.colour or word not in _COLOURS)

    def show(self, span: Span) -> str:
        """The span as a terminal wants it, with escape sequences."""
        text = self.text(span.text)
        codes = (
            ";".join(str(_SGR[word]) for word in self.attributes(span.role)) if self.escapes and text else ""
        )
        return f"\x1b[{codes}m{text}\x1b[0m" if codes else text

    def write(self, styled: Line) -> str:
        """The line as a terminal wants it, without a newline."""
        return "".join(self.show(span) for span in styled)

    def text(self, text: str) -> str:
        """`text` with our signs as this terminal can show them, without escapes."""
        text = for_terminal(text)
        return text.translate(_ASCII) if self.ascii else text

    def spinner(self, tick: int) -> str:
        """The sign of work going on, at a count of steps."""
        frames = _ASCII_SPINNER if self.ascii else _SPINNER
        return frames[tick % len(frames)]


def choose(
    environ: Mapping[str, str], *, encoding: str = "utf-8", is_terminal: bool = True, background: str = "auto"
) -> Theme:
    """The theme that fits a terminal, told from its variables (NO_COLOR, TERM, COLORFGBG) and its
    encoding.
    """
    escapes = is_terminal and environ.get("TERM", "") not in {"dumb", ""}
    light = background == "light" or (
        background == "auto" and environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_PARTS
    )
    return Theme(
        background="light" if light else "dark",
        colour=escapes and not environ.get("NO_COLOR"),
        escapes=escapes,
        ascii=bool(environ.get("HERMES_ASCII")) or not encoding.lower().replace("-", "").startswith("utf"),
    )
