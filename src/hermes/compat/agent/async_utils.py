"""`agent.async_utils`: coroutines from other threads."""

import asyncio  # noqa: TID251  # a plugin hands in a loop of asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any


def safe_schedule_threadsafe(
    coro: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop | None, **kwargs: Any
) -> "Future[Any] | None":
    """Run a coroutine on a loop of another thread; None, and it is closed, where that loop has ended."""
    if loop is None or loop.is_closed():
        coro.close()
        return None
    return asyncio.run_coroutine_threadsafe(coro, loop)
