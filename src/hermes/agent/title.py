"""A name for a session, from the first thing that was said in it."""

import re

from hermes.lib.text import clip
from hermes.models.auxiliary import Question

SHOWN = 1500
NAMING = (
    "You name conversations. Answer with a name of at most eight words, in the language of the conversation: only the name, "
    "without quotes and full stop."
)


def title_of(text: str, *, limit: int = 60) -> str:
    """The first line's words, at most `limit` characters, cut between words."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"


def naming(text: str, answer: str) -> Question:
    """The side call that asks for a name of a conversation by its first exchange."""
    told = f"They asked:\n{clip(text, SHOWN)}\n\nThe answer was:\n{clip(answer, SHOWN)}"
    return Question(instructions=NAMING, text=told)
