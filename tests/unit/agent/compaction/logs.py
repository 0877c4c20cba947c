"""Sessions of any shape, as hypothesis makes them, and a request for room in them."""

import itertools
from collections.abc import Awaitable, Callable

from hypothesis import strategies as st

from hermes.agent.compaction.sizes import size
from hermes.agent.context import ContextRequest
from hermes.agent.log import Log
from hermes.models.side_calls import SMALL, SideQuestion
from hermes.types.message import Assistant, Attachment, ContextBlock, ToolCall, ToolResult, User
from hermes.types.ports import Ports
from hermes.types.request import Endpoint
from hermes.types.usage import Usage

WORDS = st.text("ab cdé漢\n", max_size=30)
SIZES = st.sampled_from([0, 1, 20, 300, 4_000, 30_000])
PICTURE = Attachment(media_type="image/png", data="AA==", name="shot.png")


class Made:
    """A log that hypothesis shows in short: the kinds of its messages and how long they are."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def __repr__(self) -> str:
        return " ".join(f"{one.kind}:{size(one)}" for one in self.log.messages)


Writer = Callable[[SideQuestion], Awaitable[str | None]]


@st.composite
def logs(draw: st.DrawFn, *, turns: int = 6) -> Made:
    """A log whose next message is a reply: turns of any length, with calls, notes, pins, pictures and results
    of any size.
    """
    log, number = Log(), itertools.count()
    for turn in range(draw(st.integers(1, turns))):
        log = log.add(
            User(
                id=f"u{next(number)}",
                at=0.0,
                text=f"request {turn}: {draw(WORDS)}",
                attachments=(PICTURE,) * draw(st.integers(0, 1)),
                blocks=tuple(
                    ContextBlock(kind="pin", text=f"fact {turn}.{one}")
                    for one in range(draw(st.integers(0, 1)))
                ),
            )
        )
        for _ in range(draw(st.integers(0, 5))):
            log = _step(draw, log, number)
        used = Usage(input_tokens=draw(st.sampled_from([0, 5_000])), output_tokens=10, requests=1)
        log = log.add(Assistant(id=f"a{next(number)}", at=0.0, text=draw(WORDS), usage=used))
    return Made(log.add(User(id="last", at=0.0, text="what the user wants now")))


def _step(draw: st.DrawFn, log: Log, number: "itertools.count[int]") -> Log:
    calls = tuple(
        ToolCall(
            id=f"c{next(number)}",
            name=draw(st.sampled_from(["terminal", "write_file"])),
            arguments={"command": "x" * draw(SIZES)},
        )
        for _ in range(draw(st.integers(1, 3)))
    )
    log = log.add(Assistant(id=f"a{next(number)}", at=0.0, text=draw(WORDS), calls=calls))
    for call in calls:
        note = (ContextBlock(kind="note", text="and mind this", id="n"),) * draw(st.integers(0, 1))
        content = draw(st.sampled_from(["r", "漢", '{"output": "%s"}'])).replace("%s", "y") * (
            draw(SIZES) + 1
        )
        log = log.add(
            ToolResult(
                id=f"r{next(number)}", at=0.0, call_id=call.id, name=call.name, content=content, blocks=note
            )
        )
    return log


def request(log: Log, ask: Writer, ports: Ports, *, window: int = 20_000) -> ContextRequest:
    """What a session with that log asks of the context manager before its next request."""
    return ContextRequest(
        log=log,
        endpoint=Endpoint(provider="p", base_url="http://h/v1", model="m", context_window=window),
        system="You are an agent.",
        tools=(),
        reply=0,
        ports=ports,
        ask=ask,
        redact=lambda text: text.replace("SECRET-4711", "[REDACTED]"),
        asked_window=window if window > SMALL else 0,
    )
