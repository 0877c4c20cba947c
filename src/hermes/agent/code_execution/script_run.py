"""One script under way: its process, and its calls, each of which takes the path of a model's call."""

import re
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec
from msgspec import Struct

from hermes.agent.calls import CallBatch
from hermes.agent.code_execution.tools_module import WITHHELD, callable_tools, module_text
from hermes.agent.guardrails import LoopGuard
from hermes.agent.provenance import tell
from hermes.tools.registry import tool_error
from hermes.types.message import ToolCall, ToolResult
from hermes.types.script import KernelUse, Script, ScriptResult
from hermes.types.workspace import ExecResult

if TYPE_CHECKING:
    from hermes.agent.tool_context import ToolRunContext

NOT_CALLABLE: Final = "A script cannot call {name}; it can call: {names}."
UNREADABLE: Final = "This is no call: it takes a tool's name and its arguments."
USED_UP: Final = "This call was not run: a script may make {most} calls (code_execution.max_tool_calls)."
NOT_FOR_SCRIPTS: Final = "A script cannot use {names} of {tool}: what it starts ends with it."
NO_PYTHON: Final = "There is no python3 where commands run, which execute_code needs."
TOO_LONG: Final = "timed out after {seconds} s and was killed; the output so far is kept"
OPENED_ANEW: Final = "this session was opened anew, and its process with the variables ended before"
STOPPED: Final = "timed out after {seconds} s and was stopped; the output so far is kept"
REFUSAL_SECONDS: Final = 0.01
_NOT_FOUND: Final = 127
_KEPT: Final = 50_000
_IN_KERNEL: Final = re.compile(r'"kernel": ?"(?:started|kept|ended)"')


class _Asked(Struct):
    """What a script asks for."""

    tool: str
    arguments: dict[str, Any]


class ScriptRun:
    """A script of one execute_code call, whose context stops it with the turn."""

    def __init__(self, context: "ToolRunContext") -> None:
        self._context, self._session = context, context.session
        self._settings = context.session.services.code
        self._tools = callable_tools(context.session.tools)
        self._guard = LoopGuard(context.session.services.guardrails)
        self._one_call = anyio.Lock()  # invariant: the calls of a script run one after the other
        self.calls_made = 0
        self.output = ""

    async def run(self, code: str) -> ScriptResult:
        """What the script came to; Refused when it may not run, ExecError when it cannot be started."""
        try:
            workspace = self._session.workspace
            run = workspace.run_in_kernel if self._settings.kernel else workspace.run_script
            done = await run(
                Script(code=code, strict=self._settings.mode == "strict"),
                module=module_text(self._tools.values()),
                answer=self.answer,
                timeout=self._settings.timeout,
                on_output=self._shown,
            )
        finally:
            self._context.left.update(output=self.output, tool_calls_made=self.calls_made)
        return self._result(done)

    async def answer(self, request: bytes) -> bytes:
        """The answer to one request of the script."""
        async with self._one_call:
            text = await self._answered(request)
        return msgspec.json.encode({"result": text})

    async def _answered(self, request: bytes) -> str:
        try:
            asked = msgspec.json.decode(request, type=_Asked)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return await self._refused(UNREADABLE)
        if why := self._refusal(asked):
            return await self._refused(why)
        self.calls_made += 1
        name = f"{self._context.call_id}/{self.calls_made}"
        return await self._called(ToolCall(id=name, name=asked.tool, arguments=asked.arguments))

    async def _refused(self, why: str) -> str:
        """A refusal, after a moment: a script that asks on and on takes no time from other sessions."""
        await self._session.services.ports.sleep(REFUSAL_SECONDS)
        return tool_error(why)

    def _refusal(self, asked: _Asked) -> str:
        """Why a request is no call of this script's, or ""."""
        if asked.tool not in self._tools:
            return NOT_CALLABLE.format(name=asked.tool, names=", ".join(self._tools))
        if withheld := [name for name in WITHHELD.get(asked.tool, ()) if asked.arguments.get(name)]:
            return NOT_FOR_SCRIPTS.format(names=", ".join(withheld), tool=asked.tool)
        if self.calls_made >= self._settings.max_tool_calls:
            return USED_UP.format(most=self._settings.max_tool_calls)
        return ""

    async def _called(self, call: ToolCall) -> str:
        """The result of a call, as a model would get it."""
        if why := self._guard.blocked(call):
            return tool_error(why)
        outer = self._session.batch
        batch = CallBatch(
            (call,), self._session, outer.user_task if outer else "", parent=self._context.call_id
        )
        try:
            await batch.run()
        finally:
            (result,) = batch.ordered()
            tell(result.outside)  # what the script has read counts for what it prints
        self._guard.heard(call, result, batch.manifest(call))
        return result.content

    def _lost(self, use: KernelUse) -> str:
        """Why variables of earlier scripts are gone, if they are; a log may tell of some that another process
        of Hermes has run.
        """
        if use.lost or use.state != "started":
            return use.lost
        had = any(isinstance(one, ToolResult) and _IN_KERNEL.search(one.content) for one in self._session.log)
        return OPENED_ANEW if had else ""

    def _shown(self, text: str) -> None:
        self.output = (self.output + text)[-_KEPT:]
        self._context.progress(text)

    def _result(self, done: ExecResult) -> ScriptResult:
        error = ""
        if done.timed_out:
            words = TOO_LONG if done.kernel is None else STOPPED
            error = words.format(seconds=self._settings.timeout)
        elif done.code == _NOT_FOUND and "python3" in done.errors + done.text and not self.calls_made:
            error = NO_PYTHON
        return ScriptResult(
            status="timeout" if done.timed_out else "error" if done.code else "success",
            output=done.text,
            exit_code=done.code,
            tool_calls_made=self.calls_made,
            duration_seconds=round(done.seconds, 2),
            stderr=done.errors,
            stdout_truncated=done.clipped,
            full_output=done.full,
            full_stderr=done.errors_full,
            kernel=done.kernel.state if done.kernel else "",
            variables_lost=self._lost(done.kernel) if done.kernel else "",
            **(_bytes_of(done) if done.clipped else {}),
            error=error,
            denied=done.denied,
        )


def _bytes_of(done: ExecResult) -> dict[str, int]:
    """How much of a cut output is in the result."""
    captured = min(done.total, len(done.text.encode("utf-8", "surrogatepass")))
    return {
        "stdout_bytes_captured": captured,
        "stdout_bytes_total": done.total,
        "stdout_bytes_omitted": done.total - captured,
    }
