"""One call: hooks, check, run sync or async, error to JSON, size limit. The one path for every tool."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio.to_thread
import msgspec

from hermes.hooks import Hooks
from hermes.lib.aio import GuestLoop, run_blocking
from hermes.lib.text import clip, mend_surrogates
from hermes.tools.arguments import ArgumentError, Arguments, compiled
from hermes.tools.registry import registry, tool_error
from hermes.tools.results import Results
from hermes.types.error import Refused
from hermes.types.tool import ToolEntry

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 100_000
ERROR_LIMIT = 2_000
GUEST_MODULES = "hermes_tool_files."
"""Modules of tool files that are not ours are loaded under this name; their async handlers run on the guest loop."""

_FRAMING = re.compile(r"</?\s*[A-Za-z_][\w.:-]*(?:\s[^<>]*)?/?>|<!\[CDATA\[|\]\]>|<\|[^|<>]{1,40}\|>|```+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the model gets for a call, whether that is a failure, and the path of the whole when it was cut."""

    content: str
    failed: bool = False
    full: str = ""


@dataclass(slots=True)
class Dispatcher:
    """Runs calls; keeps the compiled checks of the tools it has seen."""

    hooks: Hooks = field(default_factory=Hooks)
    guest: GuestLoop = field(default_factory=GuestLoop)
    results: Results | None = None
    clock: Callable[[], float] = time.perf_counter
    _checks: dict[int, tuple[ToolEntry, Arguments]] = field(default_factory=dict)

    async def call(self, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any]) -> Outcome:
        """The outcome of one call. Never raises but for cancellation."""
        blocked = self._before(entry, args, keywords)
        if blocked:
            return Outcome(content=tool_error(blocked), failed=True)
        started = self.clock()
        try:
            text = _checked(await self._run(entry, self._arguments(entry).prepare(args), keywords))
        except Exception as error:  # noqa: BLE001  # the boundary of every tool: a fault becomes a result
            text = failure(entry.name, error)
        self._after(entry, args, keywords, text, started)
        return self._fit(entry, text)

    def call_blocking(self, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any]) -> str:
        """The documented synchronous form: in the calling thread, async handlers through the bridge."""
        blocked = self._before(entry, args, keywords)
        if blocked:
            return tool_error(blocked)
        started = self.clock()
        try:
            ready = self._arguments(entry).prepare(args)
            run = partial(entry.handler, ready, **keywords)
            text = _checked(run_blocking(run, self.guest) if entry.is_async else run())  # type: ignore[arg-type]  # is_async says so
        except Exception as error:  # noqa: BLE001  # as above
            text = failure(entry.name, error)
        self._after(entry, args, keywords, text, started)
        return self._fit(entry, text).content

    async def _run(self, entry: ToolEntry, args: dict[str, Any], keywords: Mapping[str, Any]) -> Any:
        if entry.is_async and not is_guest(entry):
            return await entry.handler(args, **keywords)  # type: ignore[misc]  # is_async says that it is awaitable
        run: Callable[[], Any] = partial(entry.handler, args, **keywords)
        if entry.is_async:
            run = partial(self.guest.run, run)
        found = await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
        return await found if isinstance(found, Awaitable) else found

    def _arguments(self, entry: ToolEntry) -> Arguments:
        known = self._checks.get(id(entry))
        if known is None:
            known = self._checks[id(entry)] = (entry, compiled(entry.schema))
        return known[1]

    def _before(self, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any]) -> str:
        """Why a hook stops this call, or nothing."""
        if "pre_tool_call" not in self.hooks:
            return ""
        for answer in self.hooks.call("pre_tool_call", tool_name=entry.name, args=args, **_told(keywords)):
            if isinstance(answer, Mapping) and answer.get("action") == "block":
                return str(answer.get("message") or "A hook blocked this call.")
        return ""

    def _after(self, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any], text: str, started: float) -> None:
        if "post_tool_call" in self.hooks:
            spent = (self.clock() - started) * 1000
            self.hooks.call("post_tool_call", tool_name=entry.name, args=args, result=text, duration_ms=spent, **_told(keywords))

    def _fit(self, entry: ToolEntry, text: str) -> Outcome:
        limit = DEFAULT_LIMIT if entry.max_result_size_chars is None else entry.max_result_size_chars
        failed = is_failure(text)
        if len(text) <= limit:
            return Outcome(content=text, failed=failed)
        if self.results is None:
            return Outcome(content=clip(text, limit), failed=failed)
        content, full = self.results.fit(text, limit)
        return Outcome(content=content, failed=failed, full=full)


class _Verdict(msgspec.Struct):
    error: Any = None
    exit_code: int | None = None


_verdict = msgspec.json.Decoder(_Verdict)


def is_failure(text: str) -> bool:
    """Whether a result says that the call failed: an error in it, or an exit code other than 0."""
    if not text.startswith("{"):
        return False
    try:
        verdict = _verdict.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return bool(verdict.error) or bool(verdict.exit_code)


def is_guest(entry: ToolEntry) -> bool:
    """Whether the handler comes from a tool file that is not ours."""
    return getattr(entry.handler, "__module__", "").startswith(GUEST_MODULES)


def failure(tool: str, error: Exception) -> str:
    """The JSON for a fault, without any markup that could pass for the conversation's frame."""
    if isinstance(error, ArgumentError):
        return tool_error(f"Invalid arguments for {tool}: {error}")
    if isinstance(error, Refused):
        return tool_error(str(error), status="blocked")
    logger.info("Tool %s failed", tool, exc_info=error)
    return tool_error(sanitised(f"Tool execution failed: {type(error).__name__}: {error}"))


def sanitised(text: str) -> str:
    """An error text without tags, fences and other framing, at most 2,000 characters."""
    return clip(_FRAMING.sub("", mend_surrogates(text)), ERROR_LIMIT)


def _checked(found: Any) -> str:
    """The handler's string; anything else breaks the documented contract."""
    if not isinstance(found, str):
        return tool_error(f"The tool gave {type(found).__name__} instead of a JSON string.", error_type="tool_result_contract")
    return mend_surrogates(found)


def _told(keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {name: keywords.get(name, "") for name in ("task_id", "session_id", "tool_call_id")}


registry.connect(Dispatcher().call_blocking)
