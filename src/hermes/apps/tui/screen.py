"""The screen: finished lines go to the scrollback, and below them one small region is painted again and
again.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

from msgspec import Struct
from msgspec.structs import replace
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import DynamicKeyBindings, KeyBindings
from prompt_toolkit.layout.containers import ConditionalContainer, HSplit, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl, SearchBufferControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.layout.processors import (
    BeforeInput,
    ConditionalProcessor,
    PasswordProcessor,
    Processor,
    Transformation,
    TransformationInput,
)
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.output.color_depth import ColorDepth

from hermes.apps.tui.chips import Chips
from hermes.apps.tui.prints import Prints, Terminal
from hermes.apps.tui.terminal import Keyboard, Output
from hermes.present.spans import Line, Span
from hermes.present.theme import Theme

_MOST_INPUT = 8
_ESCAPE_SECONDS = 0.05


class Views(Struct, frozen=True, kw_only=True):
    """What to draw around the input line: rows for a width and the height that is left."""

    above: Callable[[int, int], list[Line]]
    below: Callable[[int, int], list[Line]]


class Region(Application[None]):
    """The application; a window that changes its width wraps what we painted, so its rows are counted anew.

    `keeps_erased` is for tmux and screen: they wrap a row as wide as it ever was, also where it was erased
    since.
    """

    reflows = True
    keeps_erased = False

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._widest: dict[int, int] = {}
        self._size: Size | None = None
        self.after_render += lambda _: self._measure()

    def wipe(self) -> None:
        """Erase what is painted; the cursor is where it began."""
        if not self._rewound():
            self.renderer.erase(leave_alternate_screen=False)
        self._widest.clear()

    def _measure(self) -> None:
        drawn = self.renderer.last_rendered_screen
        for row in range(drawn.height if drawn else 0):
            width = _row_width(drawn.data_buffer[row]) if drawn else 0
            self._widest[row] = max(width, self._widest.get(row, 0) if self.keeps_erased else 0)
        self._size = self.output.get_size()

    def _on_resize(self) -> None:
        self._redraw()

    # The library's signature
    def _redraw(self, render_as_done: bool = False) -> None:  # noqa: FBT001, FBT002
        """Paint; a picture may be due before the signal that tells of a new size."""
        if isinstance(self.output, Output):
            with self.output.together():
                self._rewound()
                super()._redraw(render_as_done)

    def _rewound(self) -> bool:
        """Whether the window has another size than what is painted, which is erased then; the cursor is where
        it began.
        """
        drawn, output = self.renderer.last_rendered_screen, self.output
        if drawn is None or output.get_size() == self._size:
            return False
        width = max(1, output.get_size().columns)
        cursor = drawn.get_cursor_position(self.layout.current_window)
        wrapped = sum(max(0, self._widest.get(row, 0) - 1) // width for row in range(cursor.y))
        extra = wrapped + cursor.x // width if self.reflows else 0
        output.write_raw("\r")
        output.cursor_up(cursor.y + extra)
        output.erase_down()
        self._widest.clear()
        self.renderer.reset()
        return True


class InputBuffer(Buffer):
    """What is typed; an editor gets the terminal while it is changed there."""

    def __init__(self, prints: Prints, history: History) -> None:
        super().__init__(history=history, multiline=True, enable_history_search=False)
        self._prints = prints

    def _open_file_in_editor(self, filename: str) -> bool:
        with self._prints.lent():
            return super()._open_file_in_editor(filename)


class Screen:
    """The input line with the views around it. `buffer` holds the draft, which stars stand for while it
    `hides`.
    """

    def __init__(
        self, *, theme: Theme, history: History, chips: Chips, environ: Mapping[str, str], terminal: Terminal
    ) -> None:
        term = environ.get("TERM", "")
        self.theme = theme
        self.views = Views(above=lambda *_: [()], below=lambda *_: [])
        self.hides: Callable[[], bool] = lambda: False
        self._keys = KeyBindings()
        self._above: list[Line] = []
        self._below: list[Line] = []
        self._pending: list[Line] = []
        self.prints = terminal.prints
        self.buffer = InputBuffer(self.prints, history)
        self.output = Output(terminal.out, partial(_window_size, terminal.out), term=term, enable_cpr=False)
        self.app = Region(
            layout=self._layout(chips),
            key_bindings=DynamicKeyBindings(lambda: self._keys),
            color_depth=ColorDepth.DEPTH_4_BIT if theme.colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            erase_when_done=True,
            input=Keyboard(sys.stdin, self.output, self._background),
            output=self.output,
        )
        self.app.reflows = not environ.get("XTERM_VERSION") and term != "linux"
        self.app.keeps_erased = term.startswith(("tmux", "screen"))
        self.app.ttimeoutlen = self.app.timeoutlen = _ESCAPE_SECONDS
        self.app.before_render += lambda _: self._compose()

    def bind(self, keys: KeyBindings) -> None:
        """Let these keys work."""
        self._keys = keys

    @property
    def width(self) -> int:
        """Cells in a row."""
        return max(1, self.output.get_size().columns)

    @property
    def height(self) -> int:
        """Rows of the window."""
        return max(1, self.output.get_size().rows)

    async def run(self, on_start: Callable[[], None]) -> None:
        """Read keys and paint until `stop`; what is printed after that goes straight out."""
        await self.app.run_async(pre_run=on_start, set_exception_handler=False, handle_sigint=True)

    def stop(self) -> None:
        """Let `run` end; the region disappears."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def ask_background(self) -> None:
        """Find out whether the terminal is light or dark; the theme changes when it answers."""
        self.output.ask_background()

    def print(self, rows: Sequence[Line]) -> None:
        """Put finished lines into the scrollback, above the region."""
        if not rows:
            return
        if not self.app.is_running:
            self._pending += rows
            return
        with self._cleared():
            self._write(rows)

    def write_pending(self) -> None:
        """Print what was given before the screen ran, or after it ended."""
        rows, self._pending = self._pending, []
        self._write(rows)
        self.output.flush()

    def refresh(self) -> None:
        """Paint the region again, only what changed."""
        self.app.invalidate()

    def clear(self) -> None:
        """Empty the window; the scrollback stays."""
        self.app.renderer.clear()
        self.app.invalidate()

    @contextmanager
    def _cleared(self) -> Iterator[None]:
        with self.output.together():
            self.app.wipe()
            yield
            self.app._redraw()  # noqa: SLF001  # the text and the region below it must go out as one picture

    def _write(self, rows: Sequence[Line]) -> None:
        for row in rows:
            self.output.write_raw(self.theme.write(row) + "\r\n")

    def _background(self, light: bool) -> None:  # noqa: FBT001  # a callback of one value
        self.theme = replace(self.theme, background="light" if light else "dark")
        self.app.invalidate()

    def _layout(self, chips: Chips) -> Layout:
        search = SearchBufferControl(
            buffer=Buffer(), input_processors=[BeforeInput("search history: ")], ignore_case=True
        )
        control = BufferControl(
            self.buffer,
            input_processors=[
                _ChipMarks(chips, self),
                ConditionalProcessor(PasswordProcessor(), Condition(self._hidden)),
            ],
            search_buffer_control=search,
            preview_search=True,
        )
        editor = Window(
            control,
            height=Dimension(min=1, max=_MOST_INPUT),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._prefix,
        )
        searching = ConditionalContainer(Window(search, height=1), filter=is_searching)
        above = Window(
            FormattedTextControl(lambda: self._fragments(self._above)),
            height=lambda: Dimension.exact(len(self._above)),
        )
        below = Window(
            FormattedTextControl(lambda: self._fragments(self._below)),
            height=lambda: Dimension.exact(len(self._below)),
        )
        return Layout(
            HSplit([above, searching, editor, below], align=VerticalAlign.TOP), focused_element=editor
        )

    def _hidden(self) -> bool:
        return self.hides()

    def _prefix(self, row: int, wrapped: int) -> StyleAndTextTuples:
        return self._fragments([(Span("❯ " if row == wrapped == 0 else "  ", "prompt"),)])

    def _compose(self) -> None:
        """Ask the views for their rows; a region that got shorter is wiped first, so that none of it
        stays.
        """
        width, height = self.width, self.height
        editor = min(
            _MOST_INPUT, sum(1 + len(row) // max(1, width - 2) for row in self.buffer.text.split("\n"))
        )
        self._below = self.views.below(width, height - editor)[: max(1, height - editor)]
        self._above = self.views.above(width, max(0, height - editor - len(self._below) - 1))
        drawn = self.app.renderer.last_rendered_screen
        wanted = self.app.layout.container.preferred_height(width, height).preferred
        if drawn is not None and wanted < drawn.height:
            with self.output.together():
                self.app.wipe()
                self.output.held += 1  # until the picture that follows is complete
            self.app.after_render += self._let_go

    def _let_go(self, _: object) -> None:
        self.app.after_render -= self._let_go
        self.output.held -= 1
        self.output.flush()

    def _fragments(self, rows: Sequence[Line]) -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for number, row in enumerate(rows):
            if number:
                fragments.append(("", "\n"))
            fragments += [(self.style(span.role), self.theme.text(span.text)) for span in row]
        return fragments

    def style(self, role: str) -> str:
        """A role in the words of the drawing library."""
        return " ".join(_STYLES.get(word, f"fg:ansi{word}") for word in self.theme.attributes(role))


_STYLES = {word: word for word in ("bold", "dim", "italic", "underline", "reverse", "strike")}


class _ChipMarks(Processor):
    """Chips stand out from what was typed."""

    def __init__(self, chips: Chips, screen: Screen) -> None:
        self._chips, self._screen = chips, screen

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """The row with its chips coloured."""
        row = transformation_input.document.lines[transformation_input.lineno]
        if "[paste " not in row:
            return Transformation(transformation_input.fragments)
        style = self._screen.style("chip")
        return Transformation([(style if chip else "", text) for text, chip in self._chips.parts(row)])


def _row_width(row: Mapping[int, Char]) -> int:
    return max((column + char.width for column, char in row.items() if char.char.strip()), default=0)


def _window_size(terminal: TextIO) -> Size:
    """The size of the terminal; the usual one where that is gone."""
    try:
        known = os.get_terminal_size(terminal.fileno())
    except OSError:
        known = os.terminal_size((80, 24))
    columns, rows = shutil.get_terminal_size(known)
    return Size(rows=rows, columns=columns)
