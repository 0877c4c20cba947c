"""Secrets by their value: text without them, in whichever form they stand in it, also where the text comes in
pieces.
"""

import base64
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar
from urllib.parse import quote, quote_plus

from msgspec import Struct

from hermes.lib.abridged import Abridged
from hermes.lib.lazy import import_object

SHORTEST = 8
"""A shorter value would also hit ordinary words."""
MASK = "[redacted]"

_LINE = 16
_LONGEST_WORD = 12
_BASE64 = 10
_WIDTHS = (76, 64)
_URL_SAFE = str.maketrans("+/", "-_")
# As `html.escape`, whose module loads half a megabyte of names of characters
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED = _MARKUP | str.maketrans({'"': "&quot;", "'": "&#x27;"})


class SecretValues:
    """The secrets that are known, and may become more."""

    def __init__(self, *secrets: str) -> None:
        self._learning = (
            threading.Lock()
        )  # invariant: of two that learn at a time, none forgets what the other learnt
        self._values: frozenset[str] = frozenset()
        self._made = _Made(self._values, (), {}, 0, None)
        self.learn(*secrets)

    def __repr__(self) -> str:
        return f"<{len(self._values)} secrets>"

    def learn(self, *secrets: str) -> None:
        """Know these too; from any thread."""
        fresh = frozenset(value for secret in secrets for value in _values(secret))
        with self._learning:
            if not fresh <= self._values:
                self._values |= fresh

    def redact(self, text: str) -> str:
        """`text` with a mask for every known secret in it."""
        known = self._known()
        if known.begun is None or len(text) < SHORTEST:  # no form is shorter, and no disguise of one
            return text
        if known.begun.search(text):
            for form in known.forms:
                if form in text:
                    text = text.replace(form, MASK)
        return _undisguised()(text, known.values, MASK)

    def pending_prefix_len(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret."""
        known = self._known()
        first = max(0, len(text) - known.longest + 1)
        found = known.begun.search(text, first) if known.begun else None
        for at in range(found.start() if found else len(text), len(text)):
            forms = known.beginnings.get(text[at])
            if forms and any(form.startswith(text[at:]) for form in forms):
                return len(text) - at
        return 0

    def passes(self, text: str) -> bool:
        """Whether a quick look tells that no secret is in a short text, and none begins there."""
        begun = self._known().begun
        return begun is None or (len(text) < SHORTEST and not begun.search(text))

    def divide(self, text: str) -> tuple[str, str]:
        """A text that goes on, without secrets: what can be shown, and what may be the beginning of one."""
        text = self.redact(text)
        shown = len(text) - self.pending_prefix_len(text)
        return text[:shown], text[shown:]

    def rest(self, waiting: str) -> str:
        """What waited was no secret."""
        return waiting

    def _known(self) -> "_Made":
        """Every form; made when it is first asked for."""
        made, values = self._made, self._values
        if made.values is not values:
            found = {form for value in values for form in forms(value) if len(form) >= SHORTEST}
            beginnings = defaultdict(list)
            ordered = tuple(sorted(found, key=lambda form: (-len(form), form)))
            for form in ordered:
                beginnings[form[0]].append(form)
            longest = len(ordered[0]) if ordered else 0
            made = self._made = _Made(values, ordered, beginnings, longest, _begun(ordered))
        return made


class _Made(Abridged, Struct, frozen=True):
    """The forms of some values, the longest first, and by their first letter.

    Where `begun` finds nothing in a text no form is in it, and none begins at its end; None without forms.
    """

    unshown: ClassVar = ("forms", "beginnings", "begun")

    values: frozenset[str]
    forms: tuple[str, ...]
    beginnings: Mapping[str, list[str]]
    longest: int
    begun: re.Pattern[str] | None


def _begun(forms: Sequence[str]) -> re.Pattern[str] | None:
    """What finds the places where the letters of some form may begin: one look at a text instead of one for
    each form.
    """
    letters = ["".join(map(re.escape, sorted({form[at] for form in forms}))) for at in range(SHORTEST)]
    pattern = ""
    for one in reversed(letters):
        pattern = f"[{one}](?:\\Z|{pattern})" if pattern else f"[{one}]"
    return re.compile(pattern) if forms else None


@cache
def _undisguised() -> Callable[[str, Collection[str], str], str]:
    """Imported when the first text is looked at: a start has nothing to hide."""
    found: Callable[[str, Collection[str], str], str] = import_object("hermes.lib.encodings:undisguised")
    return found


def forms(secret: str) -> Iterator[str]:
    """A secret as it is and as text commonly carries it: in JSON, addresses, markup, base64 and hexadecimal
    digits, and backwards.
    """
    yield secret
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once)[1:-1]
        yield json.dumps(once, ensure_ascii=False)[1:-1]
    data = secret.encode("utf-8", "surrogateescape")
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield _lower_escapes(quoted)
    yield secret.translate(_QUOTED)
    yield secret.translate(_MARKUP)
    yield data.hex()
    yield data.hex().upper()
    yield from _in_base64(data)
    yield secret[::-1]


def _values(secret: str) -> Iterator[str]:
    """A secret with and without the space around it, and its lines where they are no words: files are shown
    line by line.
    """
    lines = [line.strip() for line in secret.splitlines()] if "\n" in secret else []
    for value in (
        secret,
        secret.strip(),
        *(line for line in lines if len(line) >= _LINE and " " not in line),
    ):
        if len(value) >= SHORTEST and not _is_word(value):
            yield value


def _is_word(value: str) -> bool:
    """Whether a value would hide innocent text and hides nothing that cannot be guessed: `postgres`,
    `password`.
    """
    return len(value) < _LONGEST_WORD and value.isascii() and value.isalpha() and value.islower()


def _lower_escapes(quoted: str) -> str:
    head, *parts = quoted.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts)


def _in_base64(data: bytes) -> Iterator[str]:
    """The part of its base64 that does not depend on what stands around it, for each of the three ways in
    which it may begin.
    """
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode()
        sure = coded[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        yield from _long_enough(sure)
        if not before:
            for width in _WIDTHS:
                lines = [sure[at : at + width] for at in range(0, len(sure), width)]
                yield from (
                    form
                    for line in lines[: len(lines) if len(lines) > 1 else 0]
                    for form in _long_enough(line)
                )


def _long_enough(coded: str) -> tuple[str, ...]:
    return (coded, coded.translate(_URL_SAFE)) if len(coded) >= _BASE64 else ()
