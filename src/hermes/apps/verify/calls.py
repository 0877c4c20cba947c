"""The calls of one trial, and what each of them shows."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.apps.verify import traces
from hermes.apps.verify.report import ToolTrialReport
from hermes.config.home import Home
from hermes.lib.aio import beside
from hermes.tools.dispatch import is_failure, is_guest
from hermes.tools.verify.examples import UNKNOWN, example_arguments
from hermes.tools.verify.faults import Check, ToolFault
from hermes.tools.verify.rules import parameters_of, result_faults
from hermes.tools.verify.watched import HandlerRun, WatchedTool
from hermes.types.error import HermesError
from hermes.types.message import ToolCall, ToolResult
from hermes.types.tool import ToolEntry

END_SECONDS: Final = 3.0
"""How long a cancelled handler may take to end, and what it left to be gone."""
_TOGETHER: Final = 3

Arguments = Mapping[str, Any]


class ToolTrial(Struct):
    """One tool on trial; `faults` holds the first of each check."""

    entry: ToolEntry
    home: Home
    work: Path
    seconds: float
    faults: dict[Check, ToolFault] = field(default_factory=dict)
    _ids: Callable[[], int] = field(default_factory=lambda: count(1).__next__)

    async def run(self, opened: Callable[[], Awaitable[Session]]) -> ToolTrialReport:
        """Call the tool in every way that its schema and manifest promise, in a session that is closed
        then.
        """
        tool = WatchedTool(self.entry, is_guest(self.entry))
        files, left = self._files(), (traces.threads(), traces.programs())
        session = await opened()
        session.tools = replace(session.tools, tools={**session.tools.tools, self.entry.name: tool.watched()})
        try:
            await self._calls(session, tool)
        finally:
            await session.close()
        if not self.faults.keys() & {"cancellation"}:
            await self._look_for_left(*left)
        self._compare(files)
        return ToolTrialReport(tool=self.entry.name, calls=len(tool.runs), faults=tuple(self.faults.values()))

    async def _calls(self, session: Session, tool: WatchedTool) -> None:
        """All calls, until one does not end."""
        examples = example_arguments(self.entry.name, parameters_of(self.entry))
        if self.entry.is_async and examples.allowed:
            await self._cancel(session, tool, examples.allowed[0])
        first = await self._all_taken(session, tool, examples.allowed)
        for arguments in examples.refused:
            await self._refused(session, tool, arguments)
        manifest = self.entry.manifest
        if not manifest.effects or manifest.parallel == "safe":
            again = await self._all_taken(session, tool, examples.allowed)
            same = {at for at, result in enumerate(again) if result == first[at]}
            self._compare_again(examples.allowed, first, again)
            if manifest.parallel == "safe":
                stable = {at: first[at] for at in sorted(same)}
                await self._side_by_side(session, examples.allowed, stable)

    async def _all_taken(
        self, session: Session, tool: WatchedTool, allowed: Sequence[Arguments]
    ) -> list[str]:
        """What each call gives, up to the first that does not end."""
        results: list[str] = []
        for arguments in allowed:
            if "cancellation" in self.faults:
                break
            results.append(await self._taken(session, tool, arguments))
        return results

    def _compare_again(
        self, allowed: Sequence[Arguments], first: Sequence[str], again: Sequence[str]
    ) -> None:
        """A call that changes nothing works as well when it is made again."""
        if self.entry.manifest.effects:
            return
        for arguments, before, after in zip(allowed, first, again, strict=False):
            if is_failure(after) and not is_failure(before):
                self._note("repeat", f"{_shown(arguments)} worked, and made again it gave {_brief(after)}.")

    async def _taken(self, session: Session, tool: WatchedTool, arguments: Arguments) -> str:
        """What the tool gives for arguments that its schema allows."""
        begun = len(tool.runs)
        results: tuple[ToolResult, ...] = ()
        with anyio.move_on_after(self.seconds) as limit:
            results = await session.run_calls(self._call(arguments))
        if limit.cancelled_caught:
            await self._await_end(tool, f"{_shown(arguments)}: it took more than {self.seconds:g} s")
            return ""
        for run in tool.runs[begun:]:
            self._judge(run, arguments)
        return results[0].content

    async def _refused(self, session: Session, tool: WatchedTool, arguments: Arguments) -> None:
        """Arguments that the schema does not allow reach no handler; a sentence says why."""
        begun = len(tool.runs)
        (result,) = await session.run_calls(self._call(arguments))
        if len(tool.runs) > begun:
            self._note("arguments", f"{_shown(arguments)} are not what its schema allows, and it was run.")
        elif not _error_of(result.content):
            self._note("arguments", f"{_shown(arguments)} were refused without a sentence.")

    async def _cancel(self, session: Session, tool: WatchedTool, arguments: Arguments) -> None:
        """Stop a call as soon as its handler has begun."""
        over = anyio.Event()

        async def called() -> None:
            await session.run_calls(self._call(arguments))
            over.set()

        async with beside(called):
            with anyio.move_on_after(self.seconds):
                await _until(lambda: bool(tool.runs) or over.is_set())
            session.interrupt()
            with anyio.move_on_after(END_SECONDS):
                await over.wait()
        await self._await_end(tool, "it was cancelled")

    async def _await_end(self, tool: WatchedTool, why: str) -> None:
        with anyio.move_on_after(END_SECONDS):
            await _until(lambda: all(run.ended for run in tool.runs))
            return
        self._note("cancellation", f"{why} and ran on, {END_SECONDS:g} s after it was told to end.")

    async def _side_by_side(
        self, session: Session, allowed: Sequence[Arguments], alone: Mapping[int, str]
    ) -> None:
        """Calls that run beside each other give what each gives alone, where that is the same each time."""
        for _ in range(0 if "cancellation" in self.faults else _TOGETHER):
            results = await session.run_calls(*(self._call(allowed[at]) for at in alone))
            for (at, expected), result in zip(alone.items(), results, strict=True):
                if result.content != expected:
                    self._note(
                        "parallel",
                        f"{_shown(allowed[at])}: beside others it gave {_brief(result.content)}.",
                    )

    def _judge(self, run: HandlerRun, arguments: Arguments) -> None:
        """What one call of the handler shows."""
        if run.raised is None:
            for one in result_faults(self.entry, run.given):
                self._note(one.check, f"{_shown(arguments)}: {one.words}")
        elif not isinstance(run.raised, HermesError):
            kind, said = type(run.raised).__name__, _brief(str(run.raised))
            is_known = UNKNOWN not in arguments or "error" in self.faults
            check: Check = "error" if is_known else "arguments"
            self._note(check, f"{_shown(arguments)}, which its schema allows, made it raise {kind}: {said}.")
        if run.left:
            self._note("leftovers", f"it left a task: {_brief(run.left[0])}.")

    async def _look_for_left(self, threads: dict[int, str], programs: dict[int, str]) -> None:
        """What goes on once the session is closed and a while has passed."""
        with anyio.move_on_after(END_SECONDS):
            await _until(lambda: not self._left(threads, programs))
        if found := self._left(threads, programs):
            self._note("leftovers", f"it left {', '.join(found)}.")

    def _left(self, threads: dict[int, str], programs: dict[int, str]) -> list[str]:
        more = [f"the thread {name}" for key, name in traces.threads().items() if key not in threads]
        more += [f"the program {name}" for key, name in traces.programs().items() if key not in programs]
        return list(dict.fromkeys(more))[:3]

    def _files(self) -> traces.Seen:
        home = self.home
        own = (home.memories, home.skills, home.tools)
        return traces.files_below((self.work, Path.home(), *own))

    def _compare(self, before: traces.Seen) -> None:
        changed = traces.differences(before, self._files())
        if changed and not self.entry.manifest.effects:
            names = ", ".join(os.path.relpath(path, self.work.parent) for path in changed[:3])
            self._note("read-only", f"it declares no effects and changed {names}.")

    def _call(self, arguments: Arguments) -> ToolCall:
        return ToolCall(id=f"trial-{self._ids()}", name=self.entry.name, arguments=dict(arguments))

    def _note(self, check: Check, words: str) -> None:
        self.faults.setdefault(check, ToolFault(check, words))


async def _until(is_so: Callable[[], bool]) -> None:
    """Wait for what other threads and programs do, of which nothing tells."""
    while not is_so():  # noqa: ASYNC110
        await anyio.sleep(0.005)


def _shown(arguments: Arguments) -> str:
    return _brief(msgspec.json.encode(arguments).decode(), 120)


def _brief(text: str, most: int = 100) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def _error_of(content: str) -> str:
    return str(msgspec.json.decode(content, type=dict[str, Any]).get("error", ""))
