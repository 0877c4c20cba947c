"""Which key does what: one table of bindings onto the app's actions."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.bindings.search import abort_search
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys

_BOX_KEYS = {
    "up": "up", "down": "down", "enter": "enter", "tab": "tab", "escape": "escape", "pageup": "pageup",
    "pagedown": "pagedown",
    Keys.Any: "",
}  # fmt: skip


class Actions(Protocol):
    """What keys can ask for."""

    def boxed(self) -> bool:
        """Whether a question is open, so that keys go through its guard."""

    def hides(self) -> bool:
        """Whether what is typed is not for the eye, so that it goes into no file of an editor."""

    def box_key(self, key: str) -> bool:
        """Offer a key to the question; False when the editor should handle it."""

    def enter(self) -> None:
        """Send, accept a completion, break the line after a backslash, or choose a session."""

    def tab(self) -> None:
        """Accept a completion, queue a message, or widen the list of sessions."""

    def move(self, steps: int) -> bool:
        """Move in what is open over the editor; False when nothing is."""

    def escape(self) -> None:
        """Close what is open, or stop the turn."""

    def control_c(self) -> None:
        """Clear the draft, stop the turn, or leave."""

    def control_d(self) -> None:
        """Leave when the draft is empty."""

    def paste(self, data: str) -> None:
        """Take in pasted text."""

    def question_mark(self) -> None:
        """Show or hide the keys."""

    def show_whole(self) -> None:
        """Show the last output whole, or open the chip before the cursor."""

    def show_thinking(self) -> None:
        """Show the model's reasoning."""

    def mode(self) -> None:
        """Go on to the next mode: edits are free, edits ask, nothing may change."""

    def edit_waiting(self) -> None:
        """Put the waiting messages back into the editor."""

    def clear_window(self) -> None:
        """Empty the window."""


def bindings(actions: Actions, editor: "Editing") -> KeyBindings:
    """All keys of the screen."""
    keys = KeyBindings()
    boxed = Condition(actions.boxed)
    free = ~is_searching
    _editing(keys, actions, editor)
    simple: list[tuple[tuple[str, ...], Callable[[], None]]] = [
        (("enter",), actions.enter),
        (("tab",), actions.tab),
        (("escape",), actions.escape),
        (("c-o",), actions.show_whole),
        (("c-t",), actions.show_thinking),
        (("s-tab",), actions.mode),
        (("escape", "up"), actions.edit_waiting),
        (("c-l",), actions.clear_window),
    ]
    for sequence, action in simple:
        keys.add(*sequence, filter=free)(_plain(action))
    keys.add("escape", filter=is_searching)(abort_search)
    keys.add("c-c")(_plain(actions.control_c))
    keys.add("<sigint>")(_plain(actions.control_c))
    keys.add("up", filter=free)(_up(actions))
    keys.add("down", filter=free)(_down(actions))
    for name, told in _BOX_KEYS.items():
        keys.add(name, filter=boxed & free)(_guarded(actions, told))
    return keys


class Editing(Protocol):
    """What keys can ask of the draft."""

    @property
    def text(self) -> str:
        """The draft."""

    def newline(self) -> None:
        """Break the line."""

    def backspace(self) -> None:
        """Remove a character or a chip."""


def _editing(keys: KeyBindings, actions: Actions, editor: Editing) -> None:
    empty = Condition(lambda: not editor.text)
    keys.add("c-j", filter=~is_searching)(_plain(editor.newline))
    keys.add("escape", "enter")(_plain(editor.newline))
    keys.add("backspace", filter=~is_searching)(_plain(editor.backspace))
    keys.add("c-d", filter=empty)(_plain(actions.control_d))
    keys.add("?", filter=empty)(_plain(actions.question_mark))
    keys.add(Keys.BracketedPaste)(lambda event: actions.paste(event.data))
    shown = Condition(lambda: not actions.hides())
    keys.add("c-g", filter=shown)(lambda event: event.current_buffer.open_in_editor())
    keys.add("c-z")(lambda event: event.app.suspend_to_background())


def _plain(action: Callable[[], None]) -> Callable[[KeyPressEvent], None]:
    return lambda _event: action()


def _up(actions: Actions) -> Callable[[KeyPressEvent], None]:
    return lambda event: None if actions.move(-1) else event.current_buffer.auto_up(count=event.arg)


def _down(actions: Actions) -> Callable[[KeyPressEvent], None]:
    return lambda event: None if actions.move(1) else event.current_buffer.auto_down(count=event.arg)


def _guarded(actions: Actions, told: str) -> Callable[[KeyPressEvent], None]:
    """A key while a question is open: the guard first, the editor with what it passes on."""

    def handle(event: KeyPressEvent) -> None:
        if actions.box_key(told or event.data):
            return
        if told == "enter":
            actions.enter()
        elif told == "tab":
            actions.tab()
        elif told in {"up", "down"}:
            (event.current_buffer.auto_up if told == "up" else event.current_buffer.auto_down)()
        elif told == "escape":
            actions.escape()
        elif not told:
            event.current_buffer.insert_text(event.data)

    return handle
