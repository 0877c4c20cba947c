"""Command lines among the words of a program that no table knows: `wrap -- rm -rf x`, `later --then 'rm -rf
x'`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from functools import lru_cache
from typing import Final

from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.prefixes import only_runs
from hermes.safety.commands.rules import Finding, is_ruled, table
from hermes.safety.commands.script import Simple, program_name
from hermes.types.error import BeyondReading

GUESSED: Final = "?"
"""Stands in `through` of a command that would run only if the program around it runs its words."""

QUOTED: Final = "?'"
"""Likewise of a command that stands in a single word."""

CONTAINED: Final = "container"
"""Stands in `through` of a command that would run in a container which has folders of this machine."""

_MOST_WORDS: Final = 5_000
_MOST_FOUND: Final = 40
_WEAK: Final = frozenset({"change", "network"})
_OURSELVES: Final = "hermes"
_UNSURE: Final = frozenset({"unknown-program", "unreadable", "write-unknown", "own-command"})
_BELOW: Final = frozenset({"erase", "delete", "history", "own", "persistence"})
_SOFTER: Final = {"erase": "delete", "halt": "service"}
_START: Final = re.compile(
    r"(?=(?:[;&|({!\n`\"']|\$\(|\b(?:do|then|else|exec|eval|system|run|shell|spawn|start|command|cmd|call)\s|^[:\\.+]*)"
    r"[ \t]*!?[ \t]*(?:\w+=\S*\s+)*"
    r"([\w./~-]+)(?=\s+(?!(?:is|was|are|the|an?|and|or|to|in|on|of|for|with|does|should|must|can|will|not|fail\w*|errors?|support|commands?|wrapper)\b)\S))"
)
_RUNS: Final = frozenset(
    {"--", "run", "exec", "x", "dlx", "shell", "unshare", "enter", "launch", "develop", "--command"}
    | {"--exec", "-c", "-x", "--run", "with"}
)
_MARKED: Final = re.compile(r"-\w|--\w|[/~.]|.*[*$\d]")
_VALUE: Final = re.compile(r"-*[\w.-]+[=:](?=.*\s)")
_TOUCHES: Final = re.compile(
    r">>?\s*(?:[~/]|\$HOME)|\s(?:~|\$HOME|/home/\w+|/root)/\.\w|\s/etc/(?:g?shadow|sudoers)"
)


def embedded_words(command: Simple) -> Iterator[Simple]:
    """What would run if a program started what stands behind some of its words."""
    words, start = _all_of(command), 1
    if command.program in table().groups["verbs"]:  # its next words are its own, whatever they are called
        start = next((position + 1 for position, word in enumerate(words) if word in _RUNS), len(words))
    found = 0
    for position in range(start, len(words)):
        name = program_name(words[position])
        if name == _OURSELVES:
            yield _guess(command, command.argv[position:])
        if name in table().groups["quoting"]:
            return
        if words[position - 1] not in table().groups["says"] and _starts(command, position):
            found += 1
            if found > _MOST_FOUND:
                raise BeyondReading(f"more than {_MOST_FOUND} programs among the words of {command.program}")
            yield _guess(command, command.argv[position:])


def embedded_texts(command: Simple) -> Iterator[str]:
    """The words of a program that read as command lines of something known."""
    before = command.argv[0]
    for word in _all_of(command)[1:]:
        said = before in table().groups["says"] or word.partition("=")[0] in table().groups["says"]
        if program_name(word) in table().groups["quoting"]:
            return
        if not said and (" " in word or "\t" in word):
            yield from _texts(word)
        before = word


def _all_of(command: Simple) -> Sequence[str]:
    if len(command.argv) > _MOST_WORDS:
        raise BeyondReading(f"{command.program} has more than {_MOST_WORDS:,} words")
    return command.argv


def is_plain(command: Simple) -> bool:
    """Whether a program's words are text and names to it, never something to run."""
    return not command.argv or UNKNOWN in command.argv[0] or _is_plain(command.program)


def counted(command: Simple, finding: Finding) -> Finding | None:
    """A finding as far as it counts where it is not sure that the command runs, or that it runs here."""
    if CONTAINED in command.through:
        return finding if finding.effect in _BELOW else None
    if not {GUESSED, QUOTED} & set(command.through):
        return finding
    unsure = finding.rule in _UNSURE or (finding.rule == "unknown-script" and not command.sources)
    if unsure or finding.effect in _WEAK:
        return None
    return (
        replace(finding, effect=_SOFTER.get(finding.effect, finding.effect))
        if QUOTED in command.through
        else finding
    )


def _guess(command: Simple, argv: Sequence[str]) -> Simple:
    return replace(
        command, argv=tuple(argv), through=(*command.through, GUESSED), assignments=(), writes=(), reads=()
    )


def _starts(command: Simple, position: int) -> bool:
    """Whether a known program and its words may begin at a word."""
    words = command.argv
    name = program_name(words[position])
    behind = words[position - 1] == "--"
    if behind and position + 1 < len(words) and not table().groups["local"] & {command.program, name}:
        return True
    if not _is_known(name):
        return False
    if position + 1 == len(words):
        return name in SHELLS and bool(command.sources or command.text)
    return name not in table().groups["english"] or behind or any(map(_MARKED.match, words[position + 1 :]))


def _texts(word: str) -> Iterator[str]:
    value = _VALUE.match(word)
    for text in [word, *([word[value.end() :]] if value else [])]:
        for found in _START.finditer(text):
            name = program_name(found[1])
            rest = text[found.end(1) :]
            is_marked = any(map(_MARKED.match, rest.split()))
            if (_is_known(name) and (is_marked or name not in table().groups["english"])) or (
                (only_runs(name) or name == "env") and is_marked
            ):
                mark = text[found.start(1) - 1 : found.start(1)]
                yield (
                    text[found.start(1) :].partition(mark)[0]
                    if mark in {"'", '"'}
                    else text[found.start(1) :]
                )
                return
        if _TOUCHES.search(text):
            yield text
            return


@lru_cache(maxsize=4096)
def _is_plain(name: str) -> bool:
    return name in table().groups["plain"] or name in table().groups["quoting"]


@lru_cache(maxsize=4096)
def _is_known(name: str) -> bool:
    return name in SHELLS or is_ruled(name, frozenset(_WEAK))
