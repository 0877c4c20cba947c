"""Layer 4. Named hook points with specs: callbacks that observe, change or block what is about to happen."""

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

import anyio
from msgspec import Meta, Struct

from hermes.config.sections import doc, section
from hermes.lib.aio import has_kind, in_tool_thread, is_cancellation
from hermes.lib.codec import copied

logger = logging.getLogger(__name__)


class HookSpec(Struct, frozen=True, kw_only=True):
    """One hook point: the arguments it offers, and what a callback's answer does.

    `observe`: nothing. `block`: an answer `{"action": "block", "message": why}` stops it. `change`: an answer
    that is not None replaces the argument named by `changes`, and the next callback sees the new one. `add`:
    words, or `{"context": words}`, are added.
    """

    arguments: frozenset[str]
    kind: Literal["observe", "block", "change", "add"]
    changes: str = ""


_CALL: Final = frozenset({"tool_name", "args", "task_id", "session_id", "tool_call_id"})
_SESSION: Final = frozenset({"session_id", "model", "platform"})
_TURN: Final = _SESSION | {"task_id", "user_message"}
SPECS: Final[Mapping[str, HookSpec]] = {
    "on_session_start": HookSpec(arguments=_SESSION | {"resumed"}, kind="observe"),
    "pre_llm_call": HookSpec(arguments=_TURN | {"is_first_turn", "sender_id"}, kind="add"),
    "post_llm_call": HookSpec(arguments=_TURN | {"assistant_response"}, kind="observe"),
    "on_session_end": HookSpec(
        arguments=_SESSION | {"task_id", "completed", "interrupted", "reason"}, kind="observe"
    ),
    "pre_tool_call": HookSpec(arguments=_CALL, kind="block"),
    "transform_tool_args": HookSpec(arguments=_CALL, kind="change", changes="args"),
    "transform_tool_result": HookSpec(arguments=_CALL | {"result"}, kind="change", changes="result"),
    "post_tool_call": HookSpec(arguments=_CALL | {"result", "duration_ms"}, kind="observe"),
}
"""Hook points by name; a callback takes any subset of the arguments, or `**kwargs`."""

_UNNAMED: Final = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
HookCallback = Callable[..., Any]


@section("hooks")
class HookSettings(Struct, frozen=True, kw_only=True):
    """Callbacks of plugins."""

    timeout: Annotated[
        float, Meta(gt=0), doc("Seconds after which a callback that has not ended counts as failed.")
    ] = 30.0


class Hooks:
    """Callbacks by hook point, in the order they were registered: async ones run on the session's loop, plain
    ones in threads.

    A callback that fails, or has not ended after `seconds`, is logged, and nothing else happens. Each gets
    a copy of what it could change.
    """

    def __init__(self, *, seconds: float = HookSettings().timeout) -> None:
        self._seconds = seconds
        self._callbacks: dict[str, list[tuple[HookCallback, frozenset[str] | None]]] = {}

    def register(self, point: str, callback: HookCallback) -> None:
        """Add a callback; ValueError when the point is unknown or does not offer what the callback wants."""
        if point not in SPECS:
            raise ValueError(f"There is no hook {point!r}; there are {', '.join(sorted(SPECS))}.")
        self._callbacks.setdefault(point, []).append((callback, _wanted(point, callback)))

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def __contains__(self, point: str) -> bool:
        return point in self._callbacks

    async def observe(self, point: str, **offered: Any) -> None:
        """Tell every callback."""
        for callback, wanted in self._callbacks.get(point, ()):
            await self._answer(point, callback, wanted, offered)

    async def why_blocked(self, point: str, **offered: Any) -> str:
        """Ask the callbacks in turn; the words of the first that blocks, or nothing."""
        for callback, wanted in self._callbacks.get(point, ()):
            why = await self._answer(point, callback, wanted, offered, _blocking_words)
            if why:
                return str(why)
        return ""

    async def change(self, point: str, **offered: Any) -> Any:
        """Give the argument that the point lets callbacks replace, as they leave it."""
        name = SPECS[point].changes
        for callback, wanted in self._callbacks.get(point, ()):
            answer = await self._answer(point, callback, wanted, offered)
            offered = offered if answer is None else {**offered, name: answer}
        return offered[name]

    async def added(self, point: str, **offered: Any) -> tuple[str, ...]:
        """Give the words that callbacks add, in their order."""
        words = []
        for callback, wanted in self._callbacks.get(point, ()):
            words.append(await self._answer(point, callback, wanted, offered, _added_words))
        return tuple(filter(None, words))

    async def _answer(
        self,
        point: str,
        callback: HookCallback,
        wanted: frozenset[str] | None,
        offered: Mapping[str, Any],
        read: Callable[[Any], Any] = copied,
    ) -> Any:
        """What `read` finds in a callback's answer; None when either fails, or does not end in time."""
        chosen = offered if wanted is None else {name: offered[name] for name in wanted & offered.keys()}
        try:
            run = partial(callback, **{name: copied(value) for name, value in chosen.items()})
            with anyio.move_on_after(self._seconds):
                answer = await (run() if inspect.iscoroutinefunction(callback) else in_tool_thread(run))
                return read(await answer if inspect.isawaitable(answer) else answer)
        except BaseException as error:  # a callback's fault stops nothing
            if has_kind(error, KeyboardInterrupt) or await is_cancellation(error):
                raise
            logger.exception("Hook %s: %s failed", point, _name(callback))
            return None
        logger.error("Hook %s: %s did not end within %g s", point, _name(callback), self._seconds)
        return None


def _blocking_words(answer: Any) -> str:
    """Why an answer blocks what was to happen, or nothing."""
    if isinstance(answer, Mapping) and answer.get("action") == "block":
        return str(answer.get("message") or "A hook blocked this call.")
    return ""


def _added_words(answer: Any) -> str:
    """The words that an answer adds, or nothing."""
    words = answer.get("context") if isinstance(answer, Mapping) else answer
    return words if isinstance(words, str) and words.strip() else ""


def _name(callback: HookCallback) -> object:
    return getattr(callback, "__qualname__", callback)


def _wanted(point: str, callback: HookCallback) -> frozenset[str] | None:
    """The arguments to hand over; None for all."""
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
