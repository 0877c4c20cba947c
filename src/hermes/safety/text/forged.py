"""Imitations of what only a program around a model writes: turns, marks of chat templates, results of tools,
frames, and our own marks.
"""

import re
from collections.abc import Iterator
from typing import Final

from hermes.safety.text.code import CodeMap
from hermes.safety.text.prose import is_prose
from hermes.safety.text.spans import TextSpan

_TEMPLATE: Final = re.compile(
    r"<[|｜][\w▁ ]{2,30}[|｜]>|\[/?INST\]|<</?(?:SYS|[Ss]ystem|SYSTEM|[Aa]dmin|[Aa]ssistant|[Uu]ser)>>"
    r"|</s><s>|<(?:start|end)_of_turn>"
    r"|\[/?(?:TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS|SYSTEM_PROMPT)\]"
)
_OF_TOOLS: Final = (
    r"(?:system[-_ ]?(?:reminder|prompt|message|note|instructions?)"
    r"|(?:tool|function)[-_ ]?(?:results?|calls?|use|response|outputs?)"
    r"|untrusted(?:[-_ ]\w{1,20})?|memory[-_ ]context|search[-_ ]results?"
    r"|(?:user|assistant)[-_ ](?:input|message|turn))"
)
_OF_TEXTS: Final = r"(?:(?:web[-_ ]?)?page|documents?|context|conversation|instructions|transcript|prompt)"
_TAG: Final = re.compile(
    rf"<(?P<closes>/?)(?:(?P<tool>{_OF_TOOLS}|invoke(?= name=))|(?P<role>system|assistant|user|human|think)"
    rf"|(?P<text>{_OF_TEXTS}))\b[^<>]{{0,200}}>",
    re.IGNORECASE,
)
_KINDS: Final = (
    r"(?:note|message|notice|update|prompt|reminder|override|instruction|alert|directive|command)s?"
)
_NOTE: Final = re.compile(
    rf"[\[(](?:system|admin(?:istrator)?|developer|operator|assistant)(?P<kind>[ _-]{_KINDS})?"
    r"(?P<end>\]|:) ?(?P<words>[^\n\[(][^\n]{8,400})",
    re.IGNORECASE,
)
_QUOTED: Final = " >"
_FRAME: Final = re.compile(
    r"(?:(?<![-=*#_~])[-=*#_~]{2,} ?|\[)(?:(?:END|BEGIN|START)(?: OF)?(?: THE)? "
    rf"(?:{_OF_TOOLS}|(?:[A-Z]{{3,12}} )?{_OF_TEXTS}|summary|file)"
    rf"|(?:{_OF_TOOLS}|{_OF_TEXTS}|summary) (?:ends?|begins?)|system (?:message|prompt|note|reminder))"
    r"(?: ?[-=*#_~]{2,}|\])",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(
    r"^#{1,6} ?(?:system|assistant|user|human|instructions?) ?: ?\n+([^\n]{8,400})",
    re.IGNORECASE | re.MULTILINE,
)
_TURN: Final = re.compile(
    rf"^[ >@]{{0,3}}(?:\*\*)?(?P<role>human|user|assistant|system)(?: {_KINDS}| \([^)\n]{{1,40}}\))?"
    r"(?:\*\*)?[ \xa0]?[:>](?:\*\*)? ?(?P<words>\S[^\n]{2,400})",
    re.IGNORECASE | re.MULTILINE,
)
_ENDED: Final = frozenset(".!?:;>)]}*-_=#`\n")
_CONTENT: Final = re.compile(
    r"^role: ?(?:system|developer|assistant|user|tool)\n {0,4}content: ", re.MULTILINE
)
_OURS: Final = re.compile(
    r"\[outside [0-9a-f]{6,12}(?:: data from outside| ends\])|\[While you were working: "
)
_NOTICE: Final = re.compile(r"\[\d{1,9} characters were taken out here because [^\n\]]{0,400}")
_OWN_NOTICE: Final = re.compile(
    r"\[\d{1,9} characters were taken out here because .{1,200} \([a-z]{4,16}\)\. hermes scan shows"
    r" them; security\.allow_text with [0-9a-f]{16} lets them through\."
)
_AS_TURN: Final = "it imitates a turn of the conversation"
_FAR: Final = 2_000
_NEAR: Final = 200
_INDENT: Final = 5


def forged(text: str, code: CodeMap) -> Iterator[TextSpan]:
    """The stretches of a text that imitate another speaker or a frame, outside code."""
    for start, end, rule, why in _found(text):
        if not code.holds(start, end):
            yield TextSpan(start=start, end=end, kind="forged", rule=rule, why=why)


def _found(text: str) -> Iterator[tuple[int, int, str, str]]:
    for rule, pattern, why in _MARKS:
        for found in pattern.finditer(text):
            yield found.start(), found.end(), rule, why
    for found in _HEADING.finditer(text):
        if is_prose(found[1]):
            yield found.start(), found.end(), "heading", _AS_TURN
    yield from _turns(text)
    yield from _tags(text)
    yield from _notes(text)
    for found in _NOTICE.finditer(text):
        if not _OWN_NOTICE.fullmatch(found[0]):
            yield found.start(), found.end(), "own-mark", "it imitates a notice of this program"


_MARKS: Final = (
    ("template-mark", _TEMPLATE, "it has a mark by which models tell speakers apart"),
    ("frame", _FRAME, "it imitates the frame around a text"),
    ("turn", _CONTENT, _AS_TURN),
    ("own-mark", _OURS, "it imitates a mark of this program"),
)


def _turns(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Lines that begin with a role and go on in prose; in small letters only where the line before has ended,
    for a word of a sentence may stand there.
    """
    for found in _TURN.finditer(text):
        before = text[max(0, found.start() - 2) : max(0, found.start() - 1)]
        ended = not before or before in _ENDED
        if is_prose(found["words"]) and (ended or not found["role"].islower()):
            yield found.start(), found.end(), "turn", _AS_TURN


def _notes(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Lines that begin with the name of a speaker in brackets; without "note" or the like only at the
    beginning of a paragraph, for lines of logs begin so, too.
    """
    for found in _NOTE.finditer(text):
        before = text[max(0, found.start() - _INDENT) : found.start()].rstrip(_QUOTED)
        paragraph = not before or before.endswith("\n\n")
        alone = paragraph and found["end"] == "]" and is_prose(found["words"])
        if alone or (found["kind"] and (paragraph or before.endswith("\n"))):
            yield found.start(), found.end(), "note", "it imitates a note of the system"


def _tags(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Tags of frames that hold something, or that close what was not opened and go on in prose."""
    opened: set[str] = set()
    for tag in _TAG.finditer(text):
        name = (tag["tool"] or tag["role"] or tag["text"]).lower()
        if not tag["closes"]:
            opened.add(name)
            imitates = _holds(tag, text)
        else:
            imitates = name not in opened and is_prose(text[tag.end() : tag.end() + _NEAR])
        if imitates:
            yield tag.start(), tag.end(), "frame-tag", "it imitates the frame around a text or a result"


def _holds(tag: re.Match[str], text: str) -> bool:
    """Whether an opening tag of a tool has prose or tags in it, or one of a role prose."""
    name = tag["tool"] or tag["role"]
    end = text.find(f"</{name}>", tag.end(), tag.end() + _FAR) if name else -1
    inner = text[tag.end() : max(end, tag.end())]
    if "<" in inner:
        return bool(tag["tool"]) and f"<{name}" not in inner
    return is_prose(inner)
