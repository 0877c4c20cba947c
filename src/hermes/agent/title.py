"""A name for a session, from the first thing that was said in it."""

import contextlib
import re
from typing import TYPE_CHECKING

from hermes.lib.text import clip
from hermes.models.side_calls import SideQuestion
from hermes.types.error import StoreError

if TYPE_CHECKING:
    from hermes.agent.session import Session

SHOWN = 1500
NAMING = (
    "You name conversations. Answer with a name of at most eight words, in the language of the conversation:"
    " only the name, without quotes and full stop."
)


def title_of(text: str, *, limit: int = 60) -> str:
    """The first line's words, at most `limit` characters, cut between words."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"


def naming(text: str, answer: str) -> SideQuestion:
    """The side call that asks for a name of a conversation by its first exchange."""
    told = f"They asked:\n{clip(text, SHOWN)}\n\nThe answer was:\n{clip(answer, SHOWN)}"
    return SideQuestion(instructions=NAMING, text=told)


async def name(session: "Session", text: str, answer: str) -> None:
    """Name a session by its first words, and better, where somebody looks, a reply was given and a model is
    at hand, in the background.
    """
    await session.rename(title_of(text))
    first = session.title
    if not (session.spec.attended and answer) or session.endpoint.local:
        return

    async def better() -> None:
        found = await session.ask_aside("title", naming(text, answer))
        if found and session.title == first:
            with contextlib.suppress(StoreError):  # a better name is not worth a fault
                await session.rename(found)

    session.services.routes.spawn(better)
