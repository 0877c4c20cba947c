"""A model that replies from a script, over the real wire; it fails the test when a request does not extend
the one before.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import httpx2
from msgspec import Struct, field


class Turn(Struct, frozen=True, kw_only=True):
    """One scripted reply: bytes of its body, in pieces.

    `pause` seconds pass before each piece, `breaks_prefix` allows a new prefix.
    """

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    pause: float = 0.0
    breaks_prefix: bool = False


def say(
    text: str, *, size: int = 12, pause: float = 0.0, thinking: str = "", breaks_prefix: bool = False
) -> Turn:
    """Words, streamed `size` characters at a time."""
    deltas: list[dict[str, Any]] = [{"reasoning_content": thinking}] if thinking else []
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    return _stream(deltas, "stop", pause=pause, breaks_prefix=breaks_prefix)


def call(
    name: str,
    arguments: Mapping[str, Any] | str,
    *,
    text: str = "",
    call_id: str = "",
    pause: float = 0.0,
    breaks_prefix: bool = False,
) -> Turn:
    """One tool call; arguments may be the raw text a model writes."""
    ids = (call_id,) if call_id else ()
    return calls((name, arguments), text=text, ids=ids, pause=pause, breaks_prefix=breaks_prefix)


def calls(
    *wanted: tuple[str, Mapping[str, Any] | str],
    text: str = "",
    ids: Sequence[str] = (),
    pause: float = 0.0,
    breaks_prefix: bool = False,
) -> Turn:
    """Several tool calls in one reply."""
    deltas: list[dict[str, Any]] = [{"content": text}] if text else []
    for index, (name, arguments) in enumerate(wanted):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call_id = ids[index] if index < len(ids) else f"call_{name}_{index}"
        deltas.append(
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": call_id,
                        "type": "function",
                        "function": {"name": name, "arguments": ""},
                    }
                ]
            }
        )
        half = len(written) // 2
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in (written[:half], written[half:])
        ]
    return _stream(deltas, "tool_calls", pause=pause, breaks_prefix=breaks_prefix)


def fail(status: int, message: str = "scripted failure", *, headers: Mapping[str, str] | None = None) -> Turn:
    """An HTTP error with the usual body."""
    body = json.dumps({"error": {"message": message}}).encode()
    return Turn(
        pieces=(body,), status=status, headers={"content-type": "application/json", **(headers or {})}
    )


def raw(*pieces: bytes, content_type: str = "text/event-stream", pause: float = 0.0) -> Turn:
    """Bytes as they are, for faults that no other helper makes."""
    return Turn(pieces=pieces, headers={"content-type": content_type}, pause=pause)


def _stream(
    deltas: Sequence[Mapping[str, Any]], finish: str, *, pause: float, breaks_prefix: bool = False
) -> Turn:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 80}}
    chunks.append({"choices": [], "usage": usage})
    lines = [
        b"data: "
        + json.dumps({"id": "scripted", "object": "chat.completion.chunk", **chunk}).encode()
        + b"\n\n"
        for chunk in chunks
    ]
    return Turn(pieces=(*lines, b"data: [DONE]\n\n"), pause=pause, breaks_prefix=breaks_prefix)


Reply = Turn | Callable[[dict[str, Any]], Turn]


class ScriptedModel:
    """Plays replies in order. `requests` are the bodies it got.

    A reply may be a function of the request's body.
    """

    def __init__(self, *replies: Reply | str) -> None:
        self._replies = [say(reply) if isinstance(reply, str) else reply for reply in replies]
        self.requests: list[dict[str, Any]] = []

    def http(self) -> httpx2.AsyncClient:
        """A client that reaches this model whatever the address."""
        return httpx2.AsyncClient(transport=_Wire(self))

    def next(self, body: bytes) -> Turn:
        """The reply to a request; AssertionError when the script is over or the request does not extend the
        one before.
        """
        request = json.loads(body)
        number = len(self.requests)
        assert number < len(self._replies), (
            f"request {number + 1} came, the script has {len(self._replies)} replies: {body[-300:]!r}"
        )
        reply = self._replies[number]
        turn = reply(request) if callable(reply) else reply
        if self.requests and not turn.breaks_prefix:
            assert_extends(self.requests[-1], request)
        self.requests.append(request)
        return turn


def assert_extends(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Fail unless `after` is `before` with more messages: the prompt cache of every provider depends on
    it.
    """
    count = len(before["messages"])
    assert after["messages"][:count] == before["messages"], (
        "the request does not extend the messages of the one before; a reply with breaks_prefix=True may"
        " answer one that begins anew, such as the first of a child"
    )
    assert after.get("tools") == before.get("tools"), "the tools changed between two requests"
    assert after["model"] == before["model"], "the model changed between two requests"


def network(models: Mapping[str, ScriptedModel]) -> httpx2.AsyncClient:
    """A client that reaches each model by its host; any other host cannot be reached."""
    return httpx2.AsyncClient(transport=_Network(models))


class _Network(httpx2.AsyncBaseTransport):
    def __init__(self, models: Mapping[str, ScriptedModel]) -> None:
        self._wires = {host: _Wire(model) for host, model in models.items()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        wire = self._wires.get(request.url.host)
        if wire is None:
            raise httpx2.ConnectError("no such host", request=request)
        return await wire.handle_async_request(request)


class _Wire(httpx2.AsyncBaseTransport):
    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return httpx2.Response(404)
        turn = self._model.next(await request.aread())
        return httpx2.Response(turn.status, headers=dict(turn.headers), stream=_Pieces(turn))


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._turn.pieces:
            if self._turn.pause:
                await anyio.sleep(self._turn.pause)
            yield piece
