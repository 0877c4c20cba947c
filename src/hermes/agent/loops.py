"""The loop a session lives on, so that its verbs can be called from other threads."""

import threading
from collections.abc import Callable
from typing import Any

import anyio.from_thread
import anyio.lowlevel


class HomeLoop:
    """Knows the loop and thread of the running turn."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._token: Any = None

    def settle(self) -> None:
        """Note where we are; call it on the loop."""
        self._thread, self._token = threading.get_ident(), anyio.lowlevel.current_token()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function on the loop: at once when this is its thread, else handed over and waited for."""
        if self._token is None or self._thread == threading.get_ident():
            return function(*args)
        return anyio.from_thread.run_sync(function, *args, token=self._token)
