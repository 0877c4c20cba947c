"""A handler under watch: what it was given, gave and raised, and whether it runs still."""

# Tool files are asyncio by their documentation
import asyncio  # noqa: TID251
import functools
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.types.tool import ToolEntry


class HandlerRun(Struct, eq=False):
    """One call as its handler had it; `left` are tasks that it left on its loop."""

    given: object = None
    raised: BaseException | None = None
    ended: bool = False
    left: tuple[str, ...] = ()


class WatchedTool(Struct):
    """A tool whose handler is watched; `runs` are its calls, in the order in which they began."""

    entry: ToolEntry
    tasks_are_its_own: bool
    runs: list[HandlerRun] = field(default_factory=list)

    def watched(self) -> ToolEntry:
        """The tool, to be put in place of itself."""
        under_watch: Callable[..., Any] = self._awaited if self.entry.is_async else self._called

        @functools.wraps(self.entry.handler)  # by its module it is known whose it is
        def handler(args: Any, **keywords: Any) -> Any:
            return under_watch(args, **keywords)

        return replace(self.entry, handler=handler)

    def _called(self, args: Any, **keywords: Any) -> Any:
        run = self._begun()
        try:
            run.given = self.entry.handler(args, **keywords)
        except BaseException as error:
            run.raised = error
            raise
        finally:
            run.ended = True
        return run.given

    async def _awaited(self, args: Any, **keywords: Any) -> Any:
        run, before = self._begun(), self._tasks()
        try:
            run.given = await self.entry.handler(args, **keywords)  # type: ignore[misc]  # is_async says so
        except BaseException as error:
            run.raised = error
            raise
        finally:
            run.left = tuple(str(one.get_coro()) for one in self._tasks() - before if not one.done())
            run.ended = True
        return run.given

    def _begun(self) -> HandlerRun:
        self.runs.append(run := HandlerRun())
        return run

    def _tasks(self) -> set[asyncio.Task[Any]]:
        """The tasks of the handler's loop, where it has that to itself."""
        return asyncio.all_tasks() if self.tasks_are_its_own else set()
