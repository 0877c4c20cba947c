"""Layer 4. Named hook points with specs: callbacks that observe, change or block what is about to happen."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeVar

import anyio
from msgspec import Struct

from hermes.lib.aio import in_tool_thread, is_cancellation
from hermes.lib.codec import copied
from hermes.lib.error_words import error_words
from hermes.lib.nearest import nearest
from hermes.lib.once import Once
from hermes.lib.visible import one_line
from hermes.types.ctrl_c import is_ctrl_c

logger = logging.getLogger(__name__)
R = TypeVar("R")


class HookSpec(Struct, frozen=True, kw_only=True):
    """One hook point: the arguments it offers, and what a callback's answer does.

    `observe`: nothing. `direct`: an answer `{"action": "block", "message": why}`, or with another action that
    the point knows, says what happens. `change`: an answer that is not None replaces the argument named by
    `changes`, and the next callback sees the new one. `replace`: the first text that is given replaces it.
    `add`: words, or `{"context": words}`, are added. `around`: it stands for what happens, which it may have
    done by `next_call`, with another argument that `changes` names. Where nothing of Hermes calls a point
    yet, `waits` says for what.
    """

    arguments: frozenset[str]
    kind: Literal["observe", "direct", "change", "replace", "add", "around"]
    changes: str = ""
    waits: str = ""


class HookDirective(Struct, frozen=True, kw_only=True):
    """What a callback wants to happen: `block` it, `approve` (ask a person first), or `continue` a turn that
    was about to end.
    """

    action: Literal["block", "approve", "continue"]
    message: str
    rule_key: str = ""


def _observes(*arguments: str, waits: str = "") -> HookSpec:
    return HookSpec(arguments=frozenset(arguments), kind="observe", waits=waits)


def _replaces(name: str, *arguments: str) -> HookSpec:
    return HookSpec(arguments=frozenset({name, *arguments}), kind="replace", changes=name)


VERSIONS: Final = {
    "telemetry_schema_version": "hermes.observer.v1",
    "middleware_schema_version": "hermes.middleware.v1",
}
"""What middleware is told of the form of what it is told."""
_CALL: Final = (
    *("tool_name", "args", "task_id", "session_id", "tool_call_id", "turn_id", "api_request_id"),
    "middleware_trace",
)
_ASKED: Final = (*_CALL, "original_args", *VERSIONS)
_ENDED: Final = (*_CALL, "result", "duration_ms", "status", "error_type", "error_message")
_SESSION: Final = ("session_id", "model", "platform")
_TURN: Final = (*_SESSION, "task_id", "turn_id", "user_message", "conversation_history")
_REQUEST: Final = (
    *("task_id", "turn_id", "api_request_id", "session_id", "user_message", "conversation_history"),
    *("platform", "model", "provider", "base_url", "api_mode", "api_call_count", "request_messages"),
    *("message_count", "tool_count", "approx_input_tokens", "request_char_count", "max_tokens"),
    *("started_at", "middleware_trace", "request"),
)
_CHANGED: Final = (*_REQUEST, "original_request", *VERSIONS)
_REPLY: Final = (
    *("api_duration", "ended_at", "finish_reason", "response_model", "response", "usage"),
    *("assistant_message", "assistant_content_chars", "assistant_tool_call_count"),
)
_CHILD: Final = ("parent_session_id", "parent_turn_id", "child_session_id", "child_role")
_APPROVAL: Final = ("command", "description", "pattern_key", "pattern_keys", "session_key", "surface")
_TASK: Final = ("task_id", "board", "assignee", "run_id", "profile_name")
_BOARD: Final = "boards of tasks"
SPECS: Final[Mapping[str, HookSpec]] = {
    "on_session_start": _observes(*_SESSION, "resumed"),
    "pre_llm_call": HookSpec(arguments=frozenset({*_TURN, "is_first_turn", "sender_id"}), kind="add"),
    "post_llm_call": _observes(*_TURN, "assistant_response"),
    "transform_llm_output": _replaces("response_text", *_SESSION),
    "pre_verify": HookSpec(
        arguments=frozenset({*_SESSION, "coding", "attempt", "final_response", "changed_paths"}),
        kind="direct",
    ),
    "on_session_end": _observes(*_SESSION, "task_id", "turn_id", "completed", "interrupted", "reason"),
    "on_session_finalize": _observes("session_id", "platform", "reason", "old_session_id", "new_session_id"),
    "on_session_reset": _observes("session_id", "platform", "reason", "old_session_id", "new_session_id"),
    "pre_tool_call": HookSpec(arguments=frozenset(_CALL), kind="direct"),
    "transform_tool_args": HookSpec(arguments=frozenset(_ASKED), kind="change", changes="args"),
    "tool_execution": HookSpec(arguments=frozenset({*_ASKED, "next_call"}), kind="around", changes="args"),
    "transform_terminal_output": _replaces("output", "command", "returncode", "task_id", "env_type"),
    "transform_tool_result": _replaces("result", *_ENDED),
    "post_tool_call": _observes(*_ENDED),
    "llm_request": HookSpec(arguments=frozenset(_CHANGED), kind="change", changes="request"),
    "llm_execution": HookSpec(
        arguments=frozenset({*_CHANGED, "next_call"}), kind="around", changes="request"
    ),
    "pre_api_request": _observes(*_REQUEST),
    "post_api_request": _observes(*_REQUEST, *_REPLY),
    "api_request_error": _observes(
        *(*_REQUEST, "status_code", "retry_count", "max_retries", "retryable", "reason", "error")
    ),
    "subagent_start": _observes(*_CHILD, "parent_subagent_id", "child_subagent_id", "child_goal"),
    "subagent_stop": _observes(*_CHILD, "child_summary", "child_status", "duration_ms"),
    "pre_approval_request": _observes(*_APPROVAL),
    "post_approval_response": _observes(*_APPROVAL, "choice", "decided_by"),
    "pre_gateway_dispatch": HookSpec(
        arguments=frozenset({"event", "gateway", "session_store"}), kind="direct", waits="the gateway"
    ),
    "kanban_task_claimed": _observes(*_TASK, waits=_BOARD),
    "kanban_task_completed": _observes(*_TASK, "summary", waits=_BOARD),
    "kanban_task_blocked": _observes(*_TASK, "reason", waits=_BOARD),
}
"""Hook points by name; a callback takes any subset of the arguments, or `**kwargs`."""
WHEN: Final[Mapping[str, str]] = {
    "on_session_start": "when a session is opened, new or again",
    "pre_llm_call": "before the model hears a message",
    "post_llm_call": "after the last reply of a turn that was done",
    "transform_llm_output": "before the last reply of a turn is kept",
    "pre_verify": "before a turn ends with a reply",
    "on_session_end": "after every turn, however it ended",
    "on_session_finalize": "when a session is closed",
    "on_session_reset": "when a new session takes the place of another",
    "pre_tool_call": "before each call of a tool",
    "transform_tool_args": "before the arguments of a call are looked at",
    "tool_execution": "around each call of a tool",
    "transform_terminal_output": "when a command of the tool terminal has ended",
    "transform_tool_result": "after each call of a tool, with its result",
    "post_tool_call": "after each call of a tool",
    "llm_request": "before each request to a model is sent",
    "llm_execution": "around each request to a model",
    "pre_api_request": "before each request to a model",
    "post_api_request": "after each request to a model",
    "api_request_error": "when a request to a model has failed",
    "subagent_start": "when a child is opened",
    "subagent_stop": "when a child has reported",
    "pre_approval_request": "before a question about an action",
    "post_approval_response": "when a question about an action was answered",
    "pre_gateway_dispatch": "never yet",
    "kanban_task_claimed": "never yet",
    "kanban_task_completed": "never yet",
    "kanban_task_blocked": "never yet",
}
"""When callbacks at a hook point are called, for people."""

_UNNAMED: Final = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
HookCallback = Callable[..., Any]
Bound = Callable[[Any, Any], Any]
"""What becomes of a value that a callback has changed, given as it was before and after."""
SECONDS: Final = 30.0
"""How long a callback may take."""


class Hooks:
    """Callbacks by hook point, in the order they were registered: async ones run on the session's loop, plain
    ones in threads.

    A callback that fails, or has not ended after `seconds`, is logged, and nothing else happens. Each gets
    a copy of what it could change.
    """

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._callbacks: dict[str, list[_Listener]] = {}

    def register(
        self,
        point: str,
        callback: HookCallback,
        *,
        owner: str = "",
        seconds: float = 0.0,
        bound: Bound | None = None,
    ) -> Callable[[], None]:
        """Add a callback, which `owner` names to people and which may take so many `seconds` if that is not
        what others may, and give what removes it; what it changes is what `bound` makes of that before and
        after. ValueError when the point is unknown or does not offer what the callback wants.
        """
        if point not in SPECS:
            near = " or ".join(nearest(point, SPECS, most=3))
            hint = f"did you mean {near}?" if near else "docs/guide/hooks.md has those that there are."
            raise ValueError(f"There is no hook {point!r}; {hint}")
        wanted, limit = wanted_arguments(point, callback), seconds or self._seconds
        one = _Listener(callback, wanted, owner, limit, bound or _as_it_is)
        self._callbacks.setdefault(point, []).append(one)
        return partial(self._remove, point, one)

    def _remove(self, point: str, one: "_Listener") -> None:
        left = [other for other in self._callbacks.get(point, ()) if other is not one]
        self._callbacks[point] = left
        if not left:
            del self._callbacks[point]

    @property
    def seconds(self) -> float:
        """How long a callback may take that says nothing else."""
        return self._seconds

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def __contains__(self, point: str) -> bool:
        return point in self._callbacks

    async def observe(self, point: str, **offered: Any) -> None:
        """Tell every callback."""
        for one in self._callbacks.get(point, ()):
            await self._answer(point, one, offered)

    async def directive(self, point: str, **offered: Any) -> HookDirective | None:
        """Ask the callbacks in turn, to the first that blocks; else the first of the others that has a
        wish.
        """
        found: HookDirective | None = None
        for one in self._callbacks.get(point, ()):
            wanted: HookDirective | None = await self._answer(point, one, offered, _directive)
            if wanted is not None and wanted.action == "block":
                return wanted
            found = found or wanted
        return found

    async def change(
        self, point: str, read: Callable[[Any], tuple[Any, dict[str, str]] | None], **offered: Any
    ) -> tuple[Any, tuple[dict[str, str], ...]]:
        """Give the argument that the point lets callbacks replace, as they leave it, and what is told of each
        that gave another one; `read` finds both in an answer.
        """
        name, trace = SPECS[point].changes, offered.get("middleware_trace", ())
        for one in self._callbacks.get(point, ()):
            found = await self._answer(point, one, {**offered, "middleware_trace": trace}, read)
            if found is not None:
                value = one.bound(offered[name], found[0])
                offered, trace = {**offered, name: value}, (*trace, {"callback": one.words, **found[1]})
        return offered[name], trace

    async def replaced(self, point: str, **offered: Any) -> str:
        """Give the text that the point lets callbacks replace, as the first that gives another one says."""
        for one in self._callbacks.get(point, ()):
            answer = await self._answer(point, one, offered, text_of)
            if answer is not None:
                return str(answer)
        return str(offered[SPECS[point].changes])

    async def added(self, point: str, **offered: Any) -> tuple[str, ...]:
        """Give the words that callbacks add, in their order."""
        words = [
            await self._answer(point, one, offered, _added_words) for one in self._callbacks.get(point, ())
        ]
        return tuple(filter(None, words))

    async def around(
        self, point: str, run: Callable[..., Awaitable[R]], read: Callable[[Any], R | None], **offered: Any
    ) -> R:
        """What `run` gives for the argument that the point lets callbacks change, called through them, the
        first of them outermost; an answer in which `read` finds nothing is none.
        """
        for one in reversed(self._callbacks.get(point, ())):
            run = partial(self._through, point, one, run, read, offered)
        return await run(offered[SPECS[point].changes])

    async def _through(
        self,
        point: str,
        one: "_Listener",
        run: Callable[..., Awaitable[R]],
        read: Callable[[Any], R | None],
        offered: Mapping[str, Any],
        args: Mapping[str, Any],
    ) -> R:
        """What a callback gives that stands around `run`; what that gives where the callback fails."""
        inner, is_async = Once(run, args, one.bound), inspect.iscoroutinefunction(one.callback)
        given = {name: copied(value) for name, value in {**offered, SPECS[point].changes: args}.items()}
        given["next_call"] = inner.call if is_async else inner.call_blocking
        chosen = given if one.wanted is None else {name: given[name] for name in one.wanted & given.keys()}
        try:
            call = partial(one.callback, **chosen)
            answer = read(await (call() if is_async else in_tool_thread(call)))
        except BaseException as error:  # a callback's fault stops nothing
            if error is inner.fault or is_ctrl_c(error) or await is_cancellation(error):
                raise
            _log(point, one, error)
            answer = None
        return await inner.call() if answer is None else answer

    async def _answer(
        self,
        point: str,
        one: "_Listener",
        offered: Mapping[str, Any],
        read: Callable[[Any], Any] = copied,
    ) -> Any:
        """What `read` finds in a callback's answer; None when either fails, or does not end in time."""
        callback, wanted = one.callback, one.wanted
        chosen = offered if wanted is None else {name: offered[name] for name in wanted & offered.keys()}
        try:
            run = partial(callback, **{name: copied(value) for name, value in chosen.items()})
            with anyio.move_on_after(one.seconds):
                answer = await (run() if inspect.iscoroutinefunction(callback) else in_tool_thread(run))
                return read(await answer if inspect.isawaitable(answer) else answer)
        except BaseException as error:  # a callback's fault stops nothing
            if is_ctrl_c(error) or await is_cancellation(error):
                raise
            _log(point, one, error)
            return None
        logger.error("Hook %s: %s did not end within %g s", point, one.words, one.seconds)
        return None


class _Listener(Struct, frozen=True):
    """A callback, the arguments to hand over (None for all), whose it is, and the bound of its changes."""

    callback: HookCallback
    wanted: frozenset[str] | None
    owner: str
    seconds: float
    bound: Bound

    @property
    def words(self) -> str:
        """What a log calls it."""
        name = str(getattr(self.callback, "__qualname__", self.callback))
        return f"{name} of {self.owner}" if self.owner else name


def _log(point: str, one: _Listener, error: BaseException) -> None:
    """Tell of a callback that failed: its user one line, whoever looks for its fault where it came from."""
    logger.error("Hook %s: %s failed: %s", point, one.words, one_line(error_words(error)))
    logger.debug("It came from here", exc_info=error)


def _as_it_is(_before: Any, after: Any) -> Any:
    return after


def _directive(answer: Any) -> HookDirective | None:
    """What an answer wants to happen, also in the form that other agents' hooks have."""
    if not isinstance(answer, Mapping):
        return None
    action = "block" if answer.get("decision") == "block" else answer.get("action")
    words = str(answer.get("message") or answer.get("reason") or "")
    match action:
        case "block":
            return HookDirective(action="block", message=words or "A hook blocked this call.")
        case "approve":
            return HookDirective(
                action="approve",
                message=words or "a hook wants a person to look at this",
                rule_key=str(answer.get("rule_key") or ""),
            )
        case "continue" if words:
            return HookDirective(action="continue", message=words)
    return None


def said_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """What a callback says of its change: where it comes from, what it is called, why it is made."""
    return {name: str(answer[name]) for name in ("source", "name", "reason") if name in answer}


def text_of(answer: Any) -> str | None:
    """The text that an answer is, if it is one."""
    return answer if isinstance(answer, str) else None


def _added_words(answer: Any) -> str:
    """The words that an answer adds, or nothing."""
    words = answer.get("context") if isinstance(answer, Mapping) else answer
    return words if isinstance(words, str) and words.strip() else ""


def wanted_arguments(point: str, callback: HookCallback) -> frozenset[str] | None:
    """The arguments of a point that a callback takes, None for all; ValueError where it wants others."""
    parameters = inspect.signature(callback).parameters.values()
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    refused = {inspect.Parameter.POSITIONAL_ONLY} if takes_all else _UNNAMED
    unnamed = [one.name for one in parameters if one.kind in refused]
    if unnamed:
        raise ValueError(f"Hook {point} gives its arguments by name, and {', '.join(unnamed)} takes none.")
    if takes_all:
        return None
    names = frozenset(parameter.name for parameter in parameters)
    offered = SPECS[point].arguments
    if names - offered:
        raise ValueError(
            f"Hook {point} does not offer {', '.join(sorted(names - offered))}; it offers"
            f" {', '.join(sorted(offered))}."
        )
    return names
