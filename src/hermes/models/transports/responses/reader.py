"""Reads the reply on the Responses wire."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hermes.lib.codec import mended
from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.models.transports.common.arrival import BodyDetector, Events
from hermes.models.transports.common.drafts import Calls, count, part, tree_of
from hermes.types.message import Assistant, Thinking, ToolCall
from hermes.types.request import CallStarted, Delta, Endpoint, Remark, Text, ThinkingText
from hermes.types.usage import Stop, Usage

PROTOCOL = "codex_responses"
UNDERSTOOD = frozenset({"message", "reasoning", "function_call"})
_CUTS: Mapping[str, Stop] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}
_STATUSES: Mapping[str, int] = {"rate_limit_exceeded": 429, "server_error": 500, "server_is_overloaded": 503}
_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THINKING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS = frozenset(
    {"response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled"}
)
_SHOWN_BYTES = 200
_A_REPLY = "a reply of the Responses interface"


class ResponsesReader:
    """One reply, from server-sent events or from one JSON body: both take the same road."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._events = Events()
        self._arrival = BodyDetector()
        self._items: dict[int, dict[str, Any]] = {}
        self._response: Mapping[str, Any] | None = None
        self._last: dict[str, tuple[Any, ...]] = {}
        self._answers = False
        self.usage = Usage(requests=1)
        self.progress = 0

    def feed(self, data: bytes) -> list[Delta]:
        """What these bytes added, pieces of text that came together merged."""
        data = self._arrival.streamed(data)
        return self._take(self._events.feed(data)) if data else []

    def finish(self) -> Assistant:
        """The whole reply."""
        if self._arrival.body:
            self._whole(tree_of(self._arrival.body, _A_REPLY))
        elif self._arrival.streams is None:
            raise BadReplyError("The server sent an empty reply.")
        try:
            self._take(self._events.finish())
        except BadReplyError as error:
            raise CutShortError("The stream ended in the middle of an event.") from error
        if self._response is None:
            if self.progress and not self._answers:
                raise BadReplyError(f"The server sent something that is not {_A_REPLY}.")
            raise CutShortError("The stream ended before the reply did.")
        return self._reply(self._response)

    def _whole(self, response: Mapping[str, Any]) -> None:
        if response.get("error") and not isinstance(response.get("output"), list):
            raise _wire_error(response["error"])
        if not isinstance(response.get("output"), list):
            raise BadReplyError(
                f"The server sent something that is not {_A_REPLY}: {str(response)[:_SHOWN_BYTES]}"
            )
        self._end(response)

    def _take(self, events: list[bytes]) -> list[Delta]:
        self.progress += len(events)
        deltas: list[Delta] = []
        for data in events:
            if data == b"[DONE]":
                continue
            for delta in self._event(tree_of(data, _A_REPLY)):
                if deltas and isinstance(delta, Text | ThinkingText) and type(deltas[-1]) is type(delta):
                    deltas[-1] = type(delta)(text=deltas[-1].text + delta.text)
                else:
                    deltas.append(delta)
        return deltas

    def _event(self, event: Mapping[str, Any]) -> list[Delta]:
        kind = str(event.get("type"))
        self._answers = self._answers or kind.startswith("response.")
        if kind in _TEXT:
            return [
                Text(text=self._apart("text", event, "output_index") + mended(str(event.get("delta") or "")))
            ]
        if kind in _THINKING:
            return [
                ThinkingText(
                    text=self._apart("thinking", event, "output_index", "summary_index")
                    + mended(str(event.get("delta") or ""))
                )
            ]
        if kind == "response.output_item.added":
            return _began(event)
        if kind == "response.output_item.done":
            return self._item(event)
        if kind == "error" or (event.get("error") and kind not in _ENDS):
            raise _wire_error(event.get("error") or event)
        if kind in _ENDS and isinstance(event.get("response"), Mapping):
            self._end({"status": kind.removeprefix("response."), **event["response"]})
        return []

    def _apart(self, what: str, event: Mapping[str, Any], *names: str) -> str:
        """An empty line where another message or another part of a summary begins."""
        place = tuple(event.get(name) for name in names)
        before, self._last[what] = self._last.get(what, place), place
        return "" if before == place else "\n\n"

    def _item(self, event: Mapping[str, Any]) -> list[Delta]:
        item = event.get("item")
        if not isinstance(item, dict):
            return []
        index = event.get("output_index")
        self._items[index if isinstance(index, int) else len(self._items)] = item
        kind = str(item.get("type"))
        return (
            []
            if kind in UNDERSTOOD
            else [Remark(text=f"The reply holds an item that is not understood here: {kind}.")]
        )

    def _end(self, response: Mapping[str, Any]) -> None:
        if usage := part(response, "usage"):
            self.usage = Usage(
                input_tokens=count(usage, "input_tokens"),
                output_tokens=count(usage, "output_tokens"),
                cache_read=count(part(usage, "input_tokens_details"), "cached_tokens"),
                reasoning=count(part(usage, "output_tokens_details"), "reasoning_tokens"),
                requests=1,
            )
        status = response.get("status")
        if status == "failed":
            raise _wire_error(response.get("error") or "The provider could not finish the reply.")
        if status == "cancelled":
            raise WireError("The provider cancelled the reply.", code="cancelled")
        self._response = response

    def _reply(self, response: Mapping[str, Any]) -> Assistant:
        output = self._output(response)
        endpoint = self._endpoint
        stop = _stop(response, output)
        calls = _calls(output, stop, str(response.get("id") or "")[-12:])
        if calls and stop == "end":
            stop = "calls"
        return Assistant(
            id="",
            at=0.0,
            text=text_of(output),
            thinking=tuple(Thinking(text=text) for text in thoughts(output)),
            calls=calls,
            stop=stop,
            usage=self.usage,
            provider=endpoint.provider,
            model=endpoint.model,
            protocol=PROTOCOL,
            family=endpoint.profile.family,
            opaque=() if says_all(output) else _with_ids(output, calls),
        )

    def _output(self, response: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The items of the reply; some servers leave them out of its last event, others send them only
        there.
        """
        told = [item for item in response.get("output") or () if isinstance(item, dict)]
        streamed = [self._items[index] for index in sorted(self._items)]
        return [dict(mended(item)) for item in (streamed if len(streamed) >= len(told) else told)]


def _began(event: Mapping[str, Any]) -> list[Delta]:
    item = event.get("item")
    if isinstance(item, Mapping) and item.get("type") == "function_call":
        return [CallStarted(name=str(item.get("name") or ""))]
    return []


def _stop(response: Mapping[str, Any], output: list[dict[str, Any]]) -> Stop:
    details = response.get("incomplete_details")
    if response.get("status") == "incomplete" or details:
        reason = details.get("reason") if isinstance(details, Mapping) else ""
        return _CUTS.get(str(reason), "error")
    return "refusal" if refuses(output) else "end"


def _calls(output: list[dict[str, Any]], stop: Stop, reply_id: str) -> tuple[ToolCall, ...]:
    calls = Calls()
    wanted = (item for item in output if item.get("type") == "function_call")
    for number, item in enumerate(wanted):
        calls.add(
            number,
            str(item.get("call_id") or item.get("id") or ""),
            str(item.get("name") or ""),
            item.get("arguments"),
        )
    return calls.finish(stop, reply_id)


def _with_ids(output: list[dict[str, Any]], calls: tuple[ToolCall, ...]) -> tuple[dict[str, Any], ...]:
    """The items with the ids that the message gives its calls."""
    ids = iter(calls)
    return tuple(
        {**item, "call_id": next(ids).id} if item.get("type") == "function_call" else item for item in output
    )


def _wire_error(error: Any) -> WireError:
    if not isinstance(error, Mapping):
        return WireError(str(error))
    code = str(error.get("code") or error.get("type") or "")
    status = (
        error.get("status")
        or error.get("status_code")
        or (int(code) if code.isdigit() else _STATUSES.get(code))
    )
    return WireError(
        str(error.get("message") or error), status=status if isinstance(status, int) else None, code=code
    )


def says_all(output: Sequence[Mapping[str, Any]]) -> bool:
    """Whether text and calls of a message say all that is in the items: one message of plain text, then
    calls.
    """
    kinds = [str(item.get("type")) for item in output]
    messages = kinds.count("message")
    in_order = kinds == ["message"] * messages + ["function_call"] * (len(kinds) - messages)
    return in_order and messages <= 1 and all(_is_plain(item) for item in output)


def _is_plain(item: Mapping[str, Any]) -> bool:
    if item.get("type") == "function_call":
        return not item.get("namespace")
    parts = _parts(item, "content")
    return (
        not item.get("phase")
        and parts == (item.get("content") or [])
        and all(part.get("type") == "output_text" for part in parts)
    )


def text_of(output: Iterable[Mapping[str, Any]]) -> str:
    """What was said, refusals too; messages stand apart."""
    said = (
        "".join(str(part.get("text") or part.get("refusal") or "") for part in _parts(item, "content"))
        for item in output
        if item.get("type") == "message"
    )
    return "\n\n".join(text for text in said if text)


def refuses(output: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a message is a refusal."""
    return any(
        part.get("type") == "refusal"
        for item in output
        if item.get("type") == "message"
        for part in _parts(item, "content")
    )


def thoughts(output: Iterable[Mapping[str, Any]]) -> list[str]:
    """The text of each reasoning item, its summary or, where there is none, the reasoning itself."""
    texts = []
    for item in output:
        if item.get("type") == "reasoning":
            parts = _parts(item, "summary") or _parts(item, "content")
            texts.append("\n\n".join(str(part.get("text") or "") for part in parts))
    return [text for text in texts if text]


def _parts(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
