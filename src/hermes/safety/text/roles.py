"""Who speaks and who is spoken to: names of roles at the head of a piece of text."""

import re
from typing import Final

_READERS: Final = (
    r"(?:ai|a\.i\.|llms?|agents?|assistants?|chat ?bots?|bots?|language models?|claude|chatgpt|gpt[-\w.]{0,8}"
    r"|copilot|gemini|codex|cursor|hermes)"
)
_SPEAKERS: Final = r"(?:system|user|human|developer|operator|models?|tool)"
_TO_READER: Final = re.compile(
    rf"\W{{0,8}}(?:[^\W\d_]{{1,20}} ){{0,3}}?{_READERS}(?: [^\W\d_]{{1,20}}){{0,2}} ?[:!]\s*(?=\S)"
    rf"|\W{{0,8}}(?:[^\W\d_]{{1,20}} ){{0,2}}?{_READERS}(?: {_READERS})?,\s|\W{{0,8}}@{_READERS} ",
    re.IGNORECASE,
)
_AS_SPEAKER: Final = re.compile(rf"\W{{0,8}}{_SPEAKERS} ?:\s*(?=\S)", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"[.!?]\s|\n")
_FEWEST: Final = 3
_LONGEST: Final = 4_000


def is_addressed(text: str) -> bool:
    """Whether a sentence of a text begins with the name of a role and goes on."""
    start = 0
    text = text[:_LONGEST]
    while start < len(text):
        head = _TO_READER.match(text, start) or _AS_SPEAKER.match(text, start)
        if head and len(text[head.end() :].split(None, _FEWEST)) >= _FEWEST:
            return True
        after = _SENTENCE.search(text, start)
        start = after.end() if after else len(text)
    return False
