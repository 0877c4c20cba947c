"""A context engine of the original's form as one of ours."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio
from msgspec import Struct

from hermes.agent.compaction.boundaries import head_end, tail_start
from hermes.agent.compaction.compactor import Compactor, thrashes
from hermes.agent.compaction.settings import CompressionSettings
from hermes.agent.compaction.summary import numbered, verbatim
from hermes.agent.compaction.view import place, record
from hermes.agent.context import ContextRequest
from hermes.agent.log import Log
from hermes.agent.todos import from_log, last_plan
from hermes.compat.conversation import as_tables
from hermes.compat.keywords import taken
from hermes.config.sections import Settings
from hermes.lib.aio import in_tool_thread
from hermes.lib.error_words import error_words
from hermes.tools.registry import tool_error
from hermes.types.error import ContextOverflow
from hermes.types.message import Compaction, Message

logger = logging.getLogger(__name__)

SECONDS: Final = 120.0
"""How long an engine may take to shorten a conversation; it may ask a model."""
ROOM: Final = 1 / 16
"""Of the window, for what stays word for word of what is left out, beside the engine's words."""
TOOLSET: Final = "context_engine"


def adapted(engine: Any, settings: Settings) -> "AdaptedContext":
    """The engine, with ours for when it fails."""
    return AdaptedContext(engine, Compactor(settings[CompressionSettings]))


class AdaptedContext:
    """Asks an engine of the original's form, which gets messages as tables and gives back those that stay,
    with new ones among them that stand for the rest.

    Of what it gives, the first and the last messages that it was given stay as they are, and the words of
    all between become the record. Where it fails, is late, or gives what leaves nothing out, ours makes
    room, and the fault is logged.
    """

    def __init__(self, engine: Any, ours: Compactor) -> None:
        self._engine, self._ours = engine, ours
        self._lock = threading.Lock()
        self._model: tuple[str, ...] = ()

    def messages(self, log: Log) -> tuple[Message, ...]:
        """The messages of the next request."""
        return self._ours.messages(log)

    def is_full(self, wanted: ContextRequest) -> bool:
        """Whether the engine wants room to be made; not while it makes some for another session."""
        size = self._ours.size(wanted)
        if wanted.log.open or thrashes(wanted.log, size) or not self._lock.acquire(blocking=False):
            return False
        try:
            self._hear(wanted)
            return bool(self._engine.should_compress(size))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary of a stranger's code
            self._tell(error)
            return self._ours.is_full(wanted)
        finally:
            self._lock.release()

    async def make_room(
        self, wanted: ContextRequest, *, overflow: ContextOverflow | None = None, focus: str | None = None
    ) -> Compaction | None:
        """An entry that stands for what the engine leaves out."""
        given, size = _Given.of(wanted.log), self._ours.size(wanted)
        how = {"current_tokens": size, "focus_topic": focus or None}
        asked = {**how, "force": focus is not None or overflow is not None, "memory_context": ""}
        try:
            with anyio.fail_after(SECONDS):
                made = await in_tool_thread(partial(self._compressed, given.tables, asked))
            entry = given.entry(made, wanted, focus or "")
        except Exception as error:  # noqa: BLE001  # as above
            self._tell(error)
            entry = None
        weighed = entry and self._ours.weighed(wanted, entry)
        return weighed or await self._ours.make_room(wanted, overflow=overflow, focus=focus)

    def _compressed(self, tables: list[dict[str, Any]], asked: Mapping[str, Any]) -> Any:
        """What the engine makes of them; in a thread, where nothing but its own fault ends a program."""
        try:
            with self._lock:
                return self._engine.compress([*tables], **taken(self._engine.compress, **asked))
        except BaseException as error:
            raise RuntimeError(error_words(error)) from error

    def _hear(self, wanted: ContextRequest) -> None:
        """Tell the engine of the model."""
        endpoint = wanted.endpoint
        if (model := (endpoint.full_name, endpoint.base_url)) != self._model:
            about = {"base_url": endpoint.base_url, "provider": endpoint.provider, "api_key": ""}
            about["api_mode"] = endpoint.protocol
            update = self._engine.update_model
            update(endpoint.model, endpoint.context_window, **taken(update, **about))
            self._model = model

    def _tell(self, error: BaseException) -> None:
        name = getattr(self._engine, "name", "?")
        logger.warning(
            "The context engine %s failed, and ours stands in: %s",
            name,
            error_words(error.__cause__ or error),
        )


class _Given(Struct, frozen=True, kw_only=True):
    """What an engine gets of a log: tables, with the place in the log of each; -1 is the record so far."""

    tables: list[dict[str, Any]]
    places: list[int]

    @classmethod
    def of(cls, log: Log) -> "_Given":
        """What is seen of a log now."""
        before = log.messages[log.compacted] if log.compacted >= 0 else None
        if not isinstance(before, Compaction):
            places = [number for number, one in enumerate(log.messages) if one.kind != "compaction"]
            return cls(tables=as_tables(log.messages), places=places)
        begin = place(log.messages, before.first_kept, log.compacted)
        numbers = (*range(before.head), *range(begin, len(log.messages)))
        places = [number for number in numbers if log.messages[number].kind != "compaction"]
        tables = as_tables(log.messages[number] for number in places)
        if before.summary or before.verbatim:
            tables.insert(before.head, {"role": "user", "content": record(before)})
            places.insert(before.head, -1)
        return cls(tables=tables, places=places)

    def entry(
        self, made: Sequence[Mapping[str, Any]], wanted: ContextRequest, focus: str
    ) -> Compaction | None:
        """The entry for what an engine made of it; None where nothing is left out."""
        messages = wanted.log.messages
        known = self.places.index(-1) if -1 in self.places else len(self.places)
        first = min(_alike(made, self.tables), known)
        last = min(_alike(made[::-1], self.tables[::-1]), len(made) - first)
        most = self.places[first - 1] + 1 if first else 0
        ends = (head_end(messages, count) for count in range(first, -1, -1))
        head = next(end for end in ends if end <= most)  # calls stay with their results
        cut = max((one for one in self.places[: len(self.places) - last]), default=-1) + 1
        while cut < len(messages) and messages[cut].kind in ("tool_result", "compaction"):
            cut += 1  # the call that it answers is left out
        cut = max(head, min(cut, tail_start(messages, 0, 1)))
        left_out = numbered(messages, head, cut)
        if not left_out:
            return None
        words = "\n\n".join(filter(None, map(_words, made[first : len(made) - last])))
        plan = from_log(messages).read() if head <= last_plan(messages) < cut else []
        return Compaction(
            id=wanted.ports.token(),
            at=wanted.ports.now(),
            summary=wanted.redact(words or f"{len(left_out)} messages are left out."),
            verbatim=wanted.redact(verbatim(left_out, plan, int(ROOM * wanted.endpoint.context_window))),
            first_kept=messages[cut].id,
            head=head,
            dropped=len(left_out),
            focus=focus,
        )


def _alike(some: Sequence[Any], others: Sequence[Any]) -> int:
    """How many are the same from the first on."""
    pairs = zip(some, others, strict=False)
    return next(
        (number for number, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others))
    )


def _words(table: Mapping[str, Any]) -> str:
    content = table.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if part.get("type") == "text")


def _used(usage: Mapping[str, int]) -> dict[str, int]:
    """What a request used, by the names of chat completions."""
    prompt, reply = usage["input_tokens"], usage["output_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}


def attach(context: Any, engine: Any, chosen: Callable[[], bool]) -> None:
    """Offer the engine's tools, and tell it of sessions and replies, as long as the settings choose it."""
    tells: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
        "on_session_start": lambda told: engine.on_session_start(told["session_id"]),
        "on_session_finalize": lambda told: engine.on_session_end(told["session_id"], []),
        "on_session_reset": lambda _: engine.on_session_reset(),
        "post_api_request": lambda told: engine.update_from_response(_used(told["usage"])),
    }
    for point, tell in tells.items():
        context.register_hook(point, partial(_when_chosen, chosen, tell))
    for one in engine.get_tool_schemas():
        try:
            schema = one.get("function", one)
            run = partial(_run, engine, str(schema["name"]))
            context.register_tool(str(schema["name"]), TOOLSET, schema, run, check_fn=chosen)
        except Exception as error:  # noqa: BLE001  # one tool that cannot be is refused alone
            context.refused.append(f"a tool of the context engine was refused: {error_words(error)}")


def _when_chosen(
    chosen: Callable[[], bool], tell: Callable[[Mapping[str, Any]], object], /, **told: Any
) -> None:
    if chosen():
        tell(told)


def _run(engine: Any, tool: str, args: dict[str, Any], **_keywords: Any) -> str:
    """Run one of an engine's tools."""
    call = engine.handle_tool_call
    found = call(tool, args, **taken(call, messages=[]))
    return found if isinstance(found, str) else tool_error(f"{tool} gave no text.")
