"""What a client of the server may call, and how it hears of what happens meanwhile."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from hermes.agent.session import Session
from hermes.lib.aio import first_of
from hermes.types.event import Asked, Event, Notice, StepStarted, ToolProgress, ToolStarted
from hermes.types.question import Clarify

Report = Callable[[str], Awaitable[None]]
"""Tells the client that waits for a call what happens, in a few words."""

T = TypeVar("T")


class OfferedResult(Struct, frozen=True):
    """What a client gets for a call: JSON, and whether the call failed."""

    text: str
    failed: bool = False


class ToolOffer(Protocol):
    """Some tools of the server."""

    @property
    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """Name, description and parameters of each."""

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> OfferedResult:
        """Run one of them; a failure is a result. Cancelled where the client gives up."""


async def reported(session: Session, work: Callable[[], Awaitable[T]], report: Report) -> T:
    """What the work in a session comes to; its client is told of the session's events meanwhile."""
    found: list[T] = []

    async def run() -> None:
        found.append(await work())

    await first_of(run, partial(_tell, session, report))
    return found[0]


async def _tell(session: Session, report: Report) -> None:
    with session.watch() as events:
        async for event in events:
            if words := _words(event):
                await report(words)


def _words(event: Event) -> str:
    """An event in a few words; "" for one that is not worth any."""
    match event:
        case StepStarted(step=step):
            return f"step {step}"
        case ToolStarted(call=call):
            return f"runs {call.name}"
        case ToolProgress(text=text):
            return text[-200:]
        case Notice(text=text):
            return text
        case Asked(id=number, question=question, decided=""):
            asked = question.text if isinstance(question, Clarify) else question.command
            return f"asks {number} (question_answer answers it): {asked[:200]}"
        case _:
            return ""
