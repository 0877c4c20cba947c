"""A name for a session, from the first thing that was said in it."""

import re


def title_of(text: str, *, limit: int = 60) -> str:
    """The first line's words, at most `limit` characters, cut between words."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"
