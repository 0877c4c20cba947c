"""Something that is done once, for whoever stands around it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from hermes.lib.aio import loop_behind

R = TypeVar("R")


class Once(Generic[R]):
    """What something stands around: it is done once, however often it is asked for. `bound` gives the
    arguments that are had for those that were wanted in the place of its own.
    """

    def __init__(
        self, run: Callable[..., Awaitable[R]], args: Mapping[str, Any], bound: Callable[[Any, Any], Any]
    ) -> None:
        self._run, self._args, self._bound = run, args, bound
        self._found: R | None = None
        self.fault: BaseException | None = None

    async def call(self, args: Mapping[str, Any] | None = None) -> R:
        """What it gives, with these arguments instead of its own."""
        if self.fault is not None:
            raise self.fault
        if self._found is None:
            try:
                self._found = await self._run(self._args if args is None else self._bound(self._args, args))
            except BaseException as error:
                self.fault = error
                raise
        return self._found

    def call_blocking(self, args: Mapping[str, Any] | None = None) -> R:
        """The same for a thread."""
        home = loop_behind()
        if home is None:
            raise RuntimeError("next_call is for the thread that the callback was called in.")
        return home.run_blocking(partial(self.call, args))
