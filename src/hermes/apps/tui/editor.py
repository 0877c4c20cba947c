"""The draft: pastes as chips, the completion menu, and what the keys of the input line do to it."""

from collections.abc import Callable, Sequence

from prompt_toolkit.buffer import Buffer

from hermes.apps.tui.chips import Chips, pasted
from hermes.apps.tui.menu import Item, Menu, complete
from hermes.commands.run import kept


class Editor:
    """The input line's text and menu; `slash` gives what a `/` offers, `find` the files that fit what follows
    an `@`. While it `hides` what is typed, none of that is offered and nothing is remembered.
    """

    def __init__(
        self,
        buffer: Buffer,
        chips: Chips,
        slash: Callable[[], Sequence[Item]],
        find: Callable[[str], Sequence[Item]],
        hides: Callable[[], bool] = lambda: False,
    ) -> None:
        self._buffer, self._chips = buffer, chips
        self._slash, self._find, self._hides = slash, find, hides
        self._closed_at = ""
        self.menu = Menu()
        buffer.on_text_changed += lambda _: self.update_menu()
        buffer.on_cursor_position_changed += lambda _: self.update_menu()

    @property
    def text(self) -> str:
        """The draft as it stands, with chips."""
        return self._buffer.text

    def update_menu(self) -> None:
        """Fit the menu to the text before the cursor; a menu that was closed stays closed until the text
        changes.
        """
        before = self._buffer.document.text_before_cursor
        if before == self._closed_at and before:
            return
        self._closed_at = ""
        listed = self._slash() if before.startswith("/") else ()
        fresh = Menu() if self._hides() else complete(before, listed, self._find)
        self.menu = Menu(
            fresh.items,
            fresh.length,
            min(self.menu.chosen, max(0, len(fresh.items) - 1)) if fresh.items else 0,
        )

    def close_menu(self) -> None:
        """Hide the menu for this text."""
        self._closed_at, self.menu = self._buffer.document.text_before_cursor, Menu()

    def move(self, steps: int) -> None:
        """Choose another row of the menu."""
        self.menu = self.menu.move(steps)

    def accept(self) -> bool:
        """Put the chosen row in place of the typed word; whether that changed the draft."""
        if not self.menu.items:
            return False
        item, before = self.menu.items[self.menu.chosen], self.text
        self._buffer.delete_before_cursor(self.menu.length)
        self._buffer.insert_text(item.insert)
        self.close_menu()
        return self.text.strip() != before.strip()

    def paste(self, data: str) -> None:
        """Insert pasted text, as a chip when it is long; the same paste again opens its chip."""
        text = pasted(data)
        chip = self._chips.chip_of(text)
        if chip and chip in self.text:
            self._open(chip)
        else:
            self._buffer.insert_text(self._chips.shorten(text))

    def open_chip(self) -> bool:
        """Replace the chip before the cursor by its text; whether there was one."""
        chip = self._chips.ending(self._buffer.document.text_before_cursor)
        if chip:
            self._open(chip)
        return bool(chip)

    def backspace(self) -> None:
        """Remove the character before the cursor, or the whole chip."""
        chip = self._chips.ending(self._buffer.document.text_before_cursor)
        self._buffer.delete_before_cursor(len(chip) or 1)

    def newline(self) -> None:
        """Break the line."""
        self._buffer.newline(copy_margin=False)

    def enter(self) -> str | None:
        """The whole text to send, or None when Enter meant something else: a newline after a backslash, an
        empty line.
        """
        if self._buffer.document.text_before_cursor.endswith("\\"):
            self._buffer.delete_before_cursor(1)
            self.newline()
            return None
        return self.take() if self.text.strip() else None

    def take(self) -> str:
        """The whole text, pastes and all; the draft is empty after it and in the history."""
        text = self._chips.expand(self.text).strip("\n")
        if not self._hides():
            self.remember(text)
        self.discard()
        return text

    def set_aside(self) -> str:
        """The whole text, for a while; the draft is empty after it."""
        text = self._chips.expand(self.text)
        self.discard()
        return text

    def discard(self) -> None:
        """Empty the draft."""
        self._buffer.reset()
        self._chips.clear()
        self.menu = Menu()

    def remember(self, text: str) -> None:
        """Make Up bring a text back."""
        if text.strip():
            self._buffer.text = kept(text)
            self._buffer.append_to_history()

    def put(self, text: str) -> None:
        """Put a text before the draft, an empty line between them."""
        self._buffer.text = f"{text}\n\n{self.text}" if self.text.strip() else text
        self._buffer.cursor_position = len(self._buffer.text)

    def insert(self, text: str) -> None:
        """Insert at the cursor."""
        self._buffer.insert_text(text)

    def _open(self, chip: str) -> None:
        start = self.text.index(chip)
        whole = self._chips.expand(chip)
        self._buffer.text = self.text.replace(chip, whole, 1)
        self._buffer.cursor_position = start + len(whole)
