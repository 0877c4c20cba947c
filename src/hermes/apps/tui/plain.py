"""The same conversation for terminals that understand nothing but text: lines in, lines out, no escape codes."""

import sys
import time
from typing import TYPE_CHECKING

import anyio

from hermes.apps.tui.backing import Start
from hermes.apps.tui.transcript import Transcript
from hermes.present.spans import plain
from hermes.present.theme import Theme
from hermes.types.event import Asked
from hermes.types.question import Answer, Approve, Deny, Grant, Question, Reply

if TYPE_CHECKING:
    from hermes.agent.session import Session

_WIDTH = 80


async def run_plain(start: Start, theme: Theme) -> int:
    """Read a line, run a turn, print its lines; an empty line or the end of input leaves."""
    async with start.opening() as runtime:
        session = await runtime.session(start.options(start.resume, "", ""))
        print(theme.text(f"hermes {start.version} · {session.endpoint.model} · an empty line leaves"))
        try:
            while text := (await _ask("> ")).strip():
                await _turn(session, text, theme)
        finally:
            await session.close()
    return 0


async def _turn(session: "Session", text: str, theme: Theme) -> None:
    transcript = Transcript(width=_WIDTH, config_fix="hermes doctor tells more.")
    async with session.stream(text) as events:
        async for event in events:
            for row in transcript.feed(event, time.monotonic()):
                print(theme.text(plain(row)), flush=True)
            if isinstance(event, Asked):
                session.answer(event.id, await _answer(event.question))


async def _answer(question: Question) -> Answer:
    if not isinstance(question, Approve):
        return Reply(text=await _ask(f"{question.text} {' / '.join(question.options)} > "))
    why = "; ".join(question.reasons)
    said = (
        await _ask(f"Run this? {question.command}\nin {question.cwd}, stopped because: {why}\nType yes, or what to do instead > ")
    ).strip()
    return Grant() if said == "yes" else Deny(reason="" if said in {"", "no"} else said)


async def _ask(prompt: str) -> str:
    print(prompt, end="", flush=True)
    return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
