"""The record of what is left out: what a model is asked for, and what of its answer may stand."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from hermes.agent.compaction.digests import digest
from hermes.agent.log import answered
from hermes.lib.data_files import data_text
from hermes.lib.text import CHARACTERS, clip
from hermes.models.side_calls import SideQuestion
from hermes.types.message import Assistant, ContextBlock, Message, ToolCall, ToolResult, User

Numbered = tuple[int, Message]
"""A message and its place in the log, from 1."""

SAID: Final = 4_000
"""Characters of what a user or the assistant said that go into the material."""
RESULT: Final = 600
"""Characters of a tool's result there."""
LEAST_HEADINGS: Final = 2
CALLED: Final = "The assistant made calls"

PINNED: Final = "What the user pinned, which holds:"
PLAN: Final = "The plan as it was last written:"
SAID_HERE: Final = "What the user said in these entries, word for word:"
TITLES: Final = (PINNED, PLAN, SAID_HERE)
"""What stands before the parts that are word for word; a record has no such words."""

_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_CITED = re.compile(r"\[(\d+(?:\s*[-–,]\s*\d+)*)\]")
_DIGITS: Final = 12
_ITEM = re.compile(r"\s*(?:[-*]|\d+[.)])\s+\S")


@cache
def instructions() -> str:
    """What the model that writes the record is told."""
    return data_text("prompts/compaction.md").strip()


@cache
def headings() -> frozenset[str]:
    """The headings that a record may have."""
    return frozenset(_HEADING.findall(instructions()))


def question(
    left_out: Sequence[Numbered], *, before: str, budget: int, focus: str, room: int
) -> SideQuestion:
    """The side call that asks for a record of so many tokens, or for the record `before` brought up to date.

    `focus` is what most of its room belongs to. The entries take at most `room` tokens: where they are more,
    the first ones are only listed.
    """
    text = material(left_out)
    if len(text) > room * CHARACTERS:
        text = _partly_listed(left_out, room)
    parts = [
        f"The record may take {budget} tokens.",
        f"About two thirds of it are for this topic, the rest as short as it can be: {focus}"
        if focus
        else "",
        "The record so far follows. Keep what still holds, go on with its numbers, move what is done or"
        " answered to its heading, and put what the user asked for last, word for word, in the place of an"
        f" active task that is done:\n{before}"
        if before
        else "",
        "Entries:\n" + text,
    ]
    return SideQuestion(instructions=instructions(), text="\n\n".join(filter(None, parts)))


def _partly_listed(left_out: Sequence[Numbered], room: int) -> str:
    """The last entries that fit in three quarters of the room, in words; a list of those before them."""
    kept = _last(_in_words(left_out), room * CHARACTERS * 3 // 4)
    listed = outline(left_out[: len(left_out) - len(kept)], room // 4)
    return "\n".join([listed, "", "The entries after these:", *kept])


def material(left_out: Sequence[Numbered]) -> str:
    """The entries in words, each after its number; long ones as their beginning and end."""
    return "\n".join(_in_words(left_out))


def _in_words(left_out: Sequence[Numbered]) -> list[str]:
    calls = answered(left_out)
    return [f"[{number}] {_words(one, calls.get(number))}" for number, one in left_out]


def outline(left_out: Sequence[Numbered], budget: int) -> str:
    """The record where no model wrote one: a line for each entry, the last ones where not all find room."""
    calls = answered(left_out)
    lines: list[str] = []
    room = budget * CHARACTERS
    for number, one in reversed(left_out):
        line = f"- {_line(one, calls.get(number))} [{number}]"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    hidden = len(left_out) - len(lines)
    first = [f"- {hidden} earlier entries are not listed [{left_out[0][0]}-{left_out[hidden - 1][0]}]"]
    return "\n".join(["## Entries", *(first if hidden else []), *reversed(lines)])


def accepted(answer: str | None, *, first: int, last: int, budget: int) -> str:
    """The record as it may stand: known headings and items, which cite entries that are there; empty where
    the answer is no record.

    A line that cites nothing stands for all entries from `first` to `last`. An answer without the headings of
    a record, or of more than twice its room, is refused.
    """
    text = (answer or "").strip()
    known = len(headings().intersection(_HEADING.findall(text)))
    if known < LEAST_HEADINGS or len(text) > 2 * budget * CHARACTERS:
        return ""
    begin = _HEADING.search(text)
    lines = text[begin.start() if begin else 0 :].splitlines()
    return "\n".join(_cited(line, first, last) for line in _of_a_record(lines))


def _of_a_record(lines: Iterable[str]) -> Iterator[str]:
    """The lines that are known headings, items, or go on with an item; none of a title's words."""
    in_item = False
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            in_item = False
            if heading[1] in headings():
                yield line
        elif forged(line) or not line.strip() or line.lstrip().startswith("#"):
            in_item = False
        elif in_item or _ITEM.match(line):
            in_item = True
            yield line


def forged(text: str) -> bool:
    """Whether a text has the words of a title, in whatever case and with whatever spaces and marks."""
    words = _plain(text)
    return any(_plain(title) in words for title in TITLES)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def citations(text: str) -> Iterator[int]:
    """The numbers of entries that a text cites, those within a range too."""
    for group in _CITED.findall(text):
        for part in re.split(r"\s*,\s*", group):
            # Of a number of thousands of digits, which no entry has, the first tell as much
            low, *high = (int(one[:_DIGITS]) for one in re.split(r"\s*[-–]\s*", part))
            yield from (low, *high)


def _cited(line: str, first: int, last: int) -> str:
    def kept(match: re.Match[str]) -> str:
        return match[0] if all(1 <= one <= last for one in citations(match[0])) else ""

    line = _CITED.sub(kept, line).rstrip()
    if not _ITEM.match(line) or _CITED.search(line):
        return line
    return f"{line} [{first}-{last}]" if first < last else f"{line} [{last}]"


def _words(message: Message, call: ToolCall | None) -> str:
    match message:
        case User():
            return f"user: {clip(message.told, SAID)}"
        case Assistant():
            asked = "".join(f"\ncalls {one.name}" for one in message.calls)
            return f"assistant: {clip(message.text, SAID)}{asked}"
        case ToolResult():
            outside = " (from outside)" if message.outside else ""
            note = f"\n{message.note}" if message.note else ""
            line = digest(call, message)
            return f"{line}{outside}\n{clip(message.content, RESULT)}{note}"
    return ""


def _line(message: Message, call: ToolCall | None) -> str:
    match message:
        case User():
            return f"The user said: {_first(message.text)}"
        case Assistant():
            return (
                f"The assistant said: {_first(message.text)}" if message.text else "The assistant made calls"
            )
        case ToolResult():
            return digest(call, message)
    return ""


def _first(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= RESULT // 3 else f"{line[: RESULT // 3]}…"


def numbered(messages: Sequence[Message], begin: int, end: int) -> list[Numbered]:
    """The messages from one place to before another with their numbers; entries that stand for others are
    none of them.
    """
    return [(at + 1, messages[at]) for at in range(begin, end) if messages[at].kind != "compaction"]


def verbatim(left_out: Sequence[Numbered], plan: Iterable[Mapping[str, str]], room: int) -> str:
    """What of the entries stays word for word: what the user pinned and this plan of theirs, whole; what the
    user said, the last first to find room in so many tokens.
    """
    pins = [f"- {text} [{number}]" for text, number in pinned(left_out).items()]
    items = [f"- {item['content']} ({item['status']})" for item in plan]
    said = [f"- {words} [{number}]" for number, one in left_out for words in _said(one)]
    kept = _last(said, room * CHARACTERS)
    hidden = len(said) - len(kept)
    more = [f"- {hidden} earlier messages of the user are not listed; expand gives them"] if hidden else []
    parts = {
        PINNED: pins,
        PLAN: items,
        SAID_HERE: [*more, *kept] if kept or more else [],
    }
    return "\n\n".join("\n".join([title, *lines]) for title, lines in parts.items() if lines)


def pinned(entries: Iterable[Numbered]) -> dict[str, int]:
    """The facts that the user pinned there and did not take back, with the number of the entry."""
    found: dict[str, int] = {}
    for number, one in entries:
        for block in _blocks(one):
            if block.kind == "pin":
                found[block.text] = number
            elif block.kind == "unpin":
                found.pop(block.text, None)
    return found


def _said(message: Message) -> Iterator[str]:
    if isinstance(message, User):
        yield message.text
    yield from (block.text for block in _blocks(message) if block.kind == "note")


def _blocks(message: Message) -> tuple[ContextBlock, ...]:
    return message.blocks if isinstance(message, User | ToolResult) else ()


def _last(lines: Sequence[str], room: int) -> list[str]:
    """The last of the lines that fit in so many characters."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line)
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
