"""One call: hooks, check, run sync or async, error to JSON, size limit. The one path for every tool."""

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.hooks import Hooks
from hermes.lib.aio import has_kind, in_tool_thread, is_cancellation, loop_behind
from hermes.lib.guest_loops import GuestLoops
from hermes.lib.nearest import nearest
from hermes.lib.text import clip, mend_surrogates
from hermes.tools.arguments import ArgumentError, Arguments, compiled
from hermes.tools.call_hooks import CallHooks
from hermes.tools.registry import (
    GUEST_MODULES,
    PLUGIN_SOURCE,
    PROCESS,
    ToolRegistry,
    current_registry,
    tool_error,
)
from hermes.tools.results import Results
from hermes.types.action import ToolUse
from hermes.types.ctrl_c import is_ctrl_c
from hermes.types.error import Refused
from hermes.types.tool import ToolEntry

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 100_000
ERROR_LIMIT = 2_000
THREADS = 40
AT_ONCE = 4_000  # characters; longer results are looked through beside the event loop
GUEST_SECONDS = 300.0
"""How long an async handler of a tool file may take (tools runtime paper)."""
_FRAMING = re.compile(
    r"</?\s*[A-Za-z_][\w.:-]*(?:\s[^<>]*)?/?>|<!\[CDATA\[|\]\]>|<\|[^|<>]{1,40}\|>|```+", re.ASCII
)


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What the model gets for a call, whether that is a failure, the path of the whole when it was cut, and
    whether the tool itself has `run`: if not, the words are ours.
    """

    content: str
    failed: bool = False
    full: str = ""
    run: bool = True


class Authorize(Protocol):
    """The question whether a tool may be used; the one decision of `safety`, asked before every call."""

    async def __call__(self, use: ToolUse) -> object:
        """Return when it may; Refused with words for the model when not."""


class Dispatcher(Struct):
    """Runs calls; keeps the compiled checks of the tools it has seen.

    `registry` is what the published name stands for while a call runs. Plain handlers run in at most
    `THREADS` worker threads, which no other work shares; one that is abandoned by an interrupt gives its
    place back.
    """

    registry: ToolRegistry = PROCESS
    hooks: Hooks = field(default_factory=Hooks)
    guests: GuestLoops = field(default_factory=GuestLoops)
    results: Results | None = None
    clock: Callable[[], float] = time.perf_counter  # noqa: TID251  # not yet a port
    _checks: dict[int, tuple[ToolEntry, Arguments]] = field(default_factory=dict)
    _places: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(THREADS))

    async def call(
        self,
        entry: ToolEntry,
        args: Mapping[str, Any],
        keywords: Mapping[str, Any],
        authorize: Authorize | None = None,
        keep: Callable[[ToolOutput], Awaitable[object]] | None = None,
    ) -> ToolOutput:
        """The output of one call. Never raises but for cancellation.

        `keep` is given the output of a call that had ended when hooks that looked at it were cancelled.
        """
        try:
            hooks = CallHooks(self.hooks, entry, args, keywords) if self.hooks else None
            if hooks is not None:
                why, args = await hooks.before(args)
                if why:
                    return ToolOutput(content=tool_error(why), failed=True, run=False)
            started, begun = self.clock(), False
            try:
                ready = self._arguments(entry).prepare(args)
                if authorize is not None:
                    await authorize(_use(entry, ready))
                begun = True
                with current_registry(self.registry):
                    if hooks is not None and "tool_execution" in self.hooks:
                        text = await hooks.around(ready, partial(self._prepared, entry, keywords))
                    else:
                        text = await self._run(entry, ready, keywords)
            except BaseException as error:  # the boundary of every tool: a fault becomes a result
                if is_ctrl_c(error) or await is_cancellation(error):
                    raise
                text = failure(entry.name, error)
            if hooks is not None:
                ended = {"args": args, "duration_ms": (self.clock() - started) * 1000, **hooks.about}
                text = await self._after(entry, ended, text, keep)
            output = await self._put_away(entry, text)
            return output if begun else replace(output, run=False)
        # A fault around the handler (a hook, the file of a long result) is a result, too
        except Exception as error:  # noqa: BLE001
            return _dispatch_failure(entry, error)

    def dispatch(self, name: str, args: Mapping[str, Any], keywords: Mapping[str, Any]) -> str:
        """The documented synchronous form, for any thread; the handler's own thread is the caller's."""
        entry = self.registry.get_entry(name)
        if entry is None:
            return unknown_tool(name, self.registry.get_all_tool_names())
        return self._call_blocking(entry, args, keywords)

    def _call_blocking(self, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any]) -> str:

        async def run() -> ToolOutput:
            return await self.call(entry, args, keywords)

        try:
            if not (entry.is_async or self.hooks):
                try:
                    with current_registry(self.registry):
                        text = _checked(entry.handler(self._arguments(entry).prepare(args), **keywords))
                except BaseException as error:  # the boundary of every tool: a fault becomes a result
                    if is_ctrl_c(error):
                        raise
                    text = failure(entry.name, error)
                return self._fit(entry, text).content
            home = None if is_guest(entry) else loop_behind()
            if home is not None:
                return home.run_blocking(run).content
            return self.guests.run_blocking(run, seconds=GUEST_SECONDS).content
        except TimeoutError as error:
            return failure(entry.name, error)
        except Exception as error:  # noqa: BLE001  # as above
            return _dispatch_failure(entry, error).content

    async def _run(self, entry: ToolEntry, args: dict[str, Any], keywords: Mapping[str, Any]) -> str:
        if entry.is_async and not is_guest(entry):
            # is_async says that it is awaitable
            return _checked(await entry.handler(args, **keywords))  # type: ignore[misc]
        return _checked(await self._beside_the_loop(entry, args, keywords))

    async def _prepared(
        self, entry: ToolEntry, keywords: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> str:
        """Run it with other arguments, which have to fit as well."""
        return await self._run(entry, self._arguments(entry).prepare(wanted), keywords)

    async def _after(
        self,
        entry: ToolEntry,
        ended: Mapping[str, Any],
        text: str,
        keep: Callable[[ToolOutput], Awaitable[object]] | None,
    ) -> str:
        """The result as hooks leave it, which every observer is told; kept when they are cancelled."""
        about = {**ended, **_state(text)}
        try:
            text = mend_surrogates(await self.hooks.replaced("transform_tool_result", result=text, **about))
            await self.hooks.observe("post_tool_call", result=text, **about)
        except anyio.get_cancelled_exc_class():
            if keep is not None:
                with anyio.CancelScope(shield=True):
                    await keep(await self._put_away(entry, text))
            raise
        return text

    async def _beside_the_loop(
        self, entry: ToolEntry, args: dict[str, Any], keywords: Mapping[str, Any]
    ) -> Any:
        """Run a plain handler in a thread, an async one of a tool file on a loop of its own."""
        run: Callable[[], Any] = partial(entry.handler, args, **keywords)
        if entry.is_async:
            return await self.guests.run(run, seconds=GUEST_SECONDS)
        await anyio.lowlevel.checkpoint_if_cancelled()
        holder = object()
        try:
            self._places.acquire_on_behalf_of_nowait(holder)  # waiting for a free place would cost a round
        except anyio.WouldBlock:
            await self._places.acquire_on_behalf_of(holder)
        try:
            found = await in_tool_thread(run)
        finally:
            self._places.release_on_behalf_of(holder)
        return await found if isinstance(found, Awaitable) else found

    def _arguments(self, entry: ToolEntry) -> Arguments:
        known = self._checks.get(id(entry))
        if known is None:
            known = self._checks[id(entry)] = (entry, compiled(entry.schema))
        return known[1]

    async def _put_away(self, entry: ToolEntry, text: str) -> ToolOutput:
        """The output for a result; not to be cut short, for the call has run."""
        if len(text) < AT_ONCE:
            output = self._fit(entry, text)
        else:
            with anyio.CancelScope(shield=True):
                output = await anyio.to_thread.run_sync(self._fit, entry, text)
        return output

    def _fit(self, entry: ToolEntry, text: str) -> ToolOutput:
        limit = DEFAULT_LIMIT if entry.max_result_size_chars is None else entry.max_result_size_chars
        status = _status_of(text)
        if len(text) <= limit:
            return ToolOutput(content=text, failed=status.failed, full=status.kept)
        if self.results is None:
            return ToolOutput(content=clip(text, limit), failed=status.failed)
        content, full = self.results.fit(text, limit)
        return ToolOutput(content=content, failed=status.failed, full=full)


def _use(entry: ToolEntry, args: Mapping[str, Any]) -> ToolUse:
    """The call as it is decided on; its arguments are written out only where it is decided on as a whole."""
    shown = "" if entry.manifest.workspace else json.dumps(args, ensure_ascii=False, default=str)
    return ToolUse(tool=entry.name, source=entry.source, manifest=entry.manifest, arguments=shown)


def unknown_tool(name: str, names: Sequence[str]) -> str:
    """The error for a tool that is not there, with the names nearest to it."""
    near = nearest(name, names, most=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names) or 'none'}."
    return tool_error(f"Unknown tool: {name}. {hint}")


def _dispatch_failure(entry: ToolEntry, error: Exception) -> ToolOutput:
    logger.error("Dispatching %s failed", entry.name, exc_info=error)
    return ToolOutput(content=tool_error(_sanitised(f"Error executing {entry.name}: {error}")), failed=True)


class _Status(msgspec.Struct):
    error: Any = None
    exit_code: int | None = None
    full_output: Any = ""

    @property
    def failed(self) -> bool:
        """Whether it says that the call failed."""
        return bool(self.error) or bool(self.exit_code)

    @property
    def kept(self) -> str:
        """Where a tool that cuts what it shows says that the whole lies."""
        return self.full_output if isinstance(self.full_output, str) else ""


_status = msgspec.json.Decoder(_Status)


def is_failure(text: str) -> bool:
    """Whether a result says that the call failed: an error in it, or an exit code other than 0."""
    return _status_of(text).failed


def _status_of(text: str) -> _Status:
    if not text.startswith("{"):
        return _Status()
    try:
        return _status.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _Status()


def is_guest(entry: ToolEntry) -> bool:
    """Whether the handler comes from a tool file or a plugin; an async one runs on a guest loop."""
    module = getattr(entry.handler, "__module__", "")
    return entry.source.startswith(PLUGIN_SOURCE) or module.startswith(GUEST_MODULES)


def failure(tool: str, error: BaseException) -> str:
    """The JSON for a fault, without any markup that could pass for the conversation's frame."""
    if isinstance(error, ArgumentError):
        return tool_error(f"Invalid arguments for {tool}: {error}")
    if isinstance(error, Refused):
        return tool_error(str(error), status="blocked")
    if isinstance(error, TimeoutError) and not str(error):
        return tool_error(f"{tool} did not end within {GUEST_SECONDS:.0f} s; it was stopped.")
    logger.info("Tool %s failed", tool, exc_info=error)
    if has_kind(error, SystemExit):
        return tool_error(f"{tool} failed: it called sys.exit(), which ends neither Hermes nor the turn.")
    for kind in (GeneratorExit, KeyboardInterrupt):
        if has_kind(error, kind):
            return tool_error(f"{tool} failed: it raised {kind.__name__}.")
    if not isinstance(error, Exception):
        return tool_error(f"{tool} failed: it was cancelled from within; nobody had stopped it.")
    return tool_error(_sanitised(f"Tool execution failed: {type(error).__name__}: {error}"))


def _sanitised(text: str) -> str:
    """An error text without tags, fences and other framing, at most 2,000 characters."""
    return clip(_FRAMING.sub("", mend_surrogates(text)), ERROR_LIMIT)


def _checked(found: Any) -> str:
    """The handler's string; anything else breaks the documented contract."""
    if not isinstance(found, str):
        return tool_error(
            f"The tool gave {type(found).__name__} instead of a JSON string.",
            error_type="tool_result_contract",
        )
    return mend_surrogates(found)


def _state(text: str) -> dict[str, str]:
    """How a call has ended, as hooks are told."""
    if not is_failure(text):
        return {"status": "ok", "error_type": "", "error_message": ""}
    error = _status_of(text).error
    kind = "" if error is None else "tool_error"
    return {"status": "error", "error_type": kind, "error_message": "" if error is None else str(error)}


PROCESS.connect(Dispatcher().dispatch)
