"""`tools.interrupt`: whether the turn of a tool's call was stopped."""

import threading

_stopped: set[int] = set()


def is_interrupted() -> bool:
    """Whether this thread was told to stop. A call whose turn ends is left to itself here, so that only what
    the plugin itself has set is told.
    """
    return threading.get_ident() in _stopped


def set_interrupt(active: bool, thread_id: int | None = None) -> None:
    """Tell a thread to stop, or to go on."""
    change = _stopped.add if active else _stopped.discard
    change(thread_id or threading.get_ident())
