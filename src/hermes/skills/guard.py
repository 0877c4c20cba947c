"""Look through a skill before it is installed: what its scripts and the commands in its texts would do, what
is hidden in it, what kind of files it has.

Commands are read by the same rules that approvals go by (`safety.commands`), texts by those for what nobody
here wrote (`safety.text`); the guard adds what only a folder has: its size, its links, its binaries.
"""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.lib.edit.textfile import is_binary, is_image
from hermes.lib.text import clip
from hermes.lib.walk import walk
from hermes.safety.commands.findings import inspect
from hermes.safety.commands.paths import Map
from hermes.safety.commands.rules import Finding
from hermes.safety.text.hidden import unrendered
from hermes.safety.text.prose import is_order, is_prose
from hermes.safety.text.quarantine import findings as hidden_in
from hermes.skills.programs import SkillProgram, programs
from hermes.skills.skill_file import FILE, split
from hermes.skills.unseen import UnseenWords, unseen
from hermes.types.error import BeyondReading, SkillError

Level = Literal["safe", "caution", "dangerous"]

MOST_FILES: Final = 200
MOST_BYTES: Final = 5_242_880
LARGEST_TEXT: Final = 524_288
_LONGEST_PROGRAM: Final = 30_000
_ORDINARY: Final = frozenset({"network", "change", "needs-network", "process", "container", "outside"})
"""What a procedure may say that is done, without a word: each is decided when it is about to be done."""
_DANGEROUS: Final = frozenset(
    {
        *("erase", "halt", "reserved", "policy", "secret", "vault", "own", "upload", "listen", "download"),
        *("persistence", "loader"),
    }
)
_MAYBE: Final = ("download-and-run", "")
"""The rule and words of what is found where a program fetches something and runs something else, which may be
what it fetched.
"""
_MARKDOWN: Final = (".md", ".markdown", ".mdx")
_IMAGES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tiff"})
_FOLDERS: Final = Map(
    workspace="/work",
    home="/home/user",
    hermes_home="/home/user/.hermes",
    temp=("/tmp",),  # noqa: S108  # a place in words, nothing is put there
)
_WORDS: Final = 160
_UNSEEN: Final = "whoever reads the page does not see what stands in {where}"


class GuardFinding(Struct, frozen=True, kw_only=True):
    """One thing in a file that a person should know of; `line` counts from 1, 0 for the whole file."""

    file: str
    line: int
    level: Level
    why: str
    words: str = ""


class GuardVerdict(Struct, frozen=True, kw_only=True):
    """What the guard says of a skill, and what made it say so."""

    level: Level
    findings: tuple[GuardFinding, ...]


def examine(folder: Path) -> GuardVerdict:
    """The verdict on the skill in a folder; nothing in it is run, and no link is followed."""
    found = tuple(dict.fromkeys(_of_folder(folder)))
    levels = {one.level for one in found}
    level: Level = "dangerous" if "dangerous" in levels else "caution" if levels else "safe"
    return GuardVerdict(level=level, findings=found)


def _of_folder(folder: Path) -> Iterator[GuardFinding]:
    files = list(_files(folder))
    if FILE not in files:
        yield _whole(FILE, "dangerous", "it is not there, so that this is no skill")
    if len(files) > MOST_FILES:
        yield _whole("", "dangerous", f"there are more than {MOST_FILES} files")
    total = 0
    for path in files[:MOST_FILES]:
        info = (folder / path).lstat()
        total += info.st_size
        yield from _of_file(folder / path, path, info.st_mode, info.st_size)
    if total > MOST_BYTES:
        yield _whole("", "dangerous", f"the files have {total:,} bytes, more than {MOST_BYTES:,}")


def _files(folder: Path) -> Iterator[str]:
    for place, folders, names in walk(str(folder)):
        folders.sort()
        below = Path(place).relative_to(folder)
        yield from (str(below / name) for name in sorted(names))


def _of_file(file: Path, path: str, mode: int, size: int) -> Iterator[GuardFinding]:
    if not path.isprintable():
        yield _whole(path, "dangerous", "its name has characters that hide what it is")
    if stat.S_ISLNK(mode):
        yield _whole(path, "dangerous", "it is a link, which may lead anywhere")
        return
    if not stat.S_ISREG(mode):
        yield _whole(path, "dangerous", "it is a device, a pipe or a socket")
        return
    if mode & (stat.S_ISUID | stat.S_ISGID):
        yield _whole(path, "dangerous", "it runs with the rights of another user")
    data = file.read_bytes()[: LARGEST_TEXT + 1]
    if is_image(data) and file.suffix.lower() in _IMAGES:
        return
    if is_binary(data):
        yield _whole(path, "caution", "it is binary, so that nobody can read what it does")
    elif size > LARGEST_TEXT:
        yield _whole(path, "caution", f"it has more than {LARGEST_TEXT:,} bytes of text")
    else:
        yield from _of_text(path, data.decode("utf-8", "replace"))


def _of_text(path: str, text: str) -> Iterator[GuardFinding]:
    if path == FILE and not _says_what_it_is(text):
        yield _whole(path, "caution", "it does not say what it is for")
    yield from _of_hidden(path, text)
    for program in programs(path, text):
        yield from _of_program(path, program)


def _of_hidden(path: str, text: str) -> Iterator[GuardFinding]:
    """What nobody sees who looks at the file, or at the page that is made from its Markdown."""
    forms = hidden_in(text)
    told = {one.line for one in forms}
    for one in forms:
        why = f"it hides or forges text: {one.span.why}"
        yield GuardFinding(file=path, line=one.line, level="dangerous", why=why, words=clip(one.text, _WORDS))
    if not path.lower().endswith(_MARKDOWN):
        return
    for span in unrendered(text):
        if not any(one.span.start < span.end and span.start < one.span.end for one in forms):
            line, words = text.count("\n", 0, span.start) + 1, " ".join(text[span.start : span.end].split())
            told.update(range(line, text.count("\n", 0, span.end) + 2))
            yield GuardFinding(file=path, line=line, level="caution", why=span.why, words=clip(words, _WORDS))
    for stretch in unseen(text):
        if stretch.line not in told:
            yield from _of_unseen(path, stretch)


def _of_unseen(path: str, one: UnseenWords) -> Iterator[GuardFinding]:
    """What words that a page does not show say: prose to a reader, or commands."""
    if _speaks(one.words):
        why, words = _UNSEEN.format(where=one.where), clip(" ".join(one.words.split()), _WORDS)
        yield GuardFinding(file=path, line=one.line, level="caution", why=why, words=words)
    else:
        program = SkillProgram(line=one.line, language="sh", code=one.words.strip(), certainty="block")
        yield from _of_program(path, program)


def _speaks(words: str) -> bool:
    """Whether somebody could be told it, or could type it."""
    return any(is_prose(part) or is_order(part) for part in (words, *words.splitlines()))


def _says_what_it_is(text: str) -> bool:
    try:
        return bool(split(text)[0].get("description"))
    except SkillError:
        return False


def _of_program(path: str, program: SkillProgram) -> Iterator[GuardFinding]:
    if not program.language or len(program.code) > _LONGEST_PROGRAM:
        why = "is too long to be read" if program.language else "is in a language that is not read"
        yield GuardFinding(file=path, line=program.line, level="caution", why=f"a program {why}")
        return
    try:
        found = inspect(program.command, cwd="/work", folders=_FOLDERS)
    except (RecursionError, BeyondReading):
        why = "a program is too deep to be read"
        yield GuardFinding(file=path, line=program.line, level="dangerous", why=why)
        return
    for one in found:
        level = _level(one, program)
        if level != "safe":
            at, words = _line_of(one.words, program), clip(one.words.partition("\n")[0], _WORDS)
            yield GuardFinding(file=path, line=at, level=level, why=one.reason, words=words)


def _level(one: Finding, program: SkillProgram) -> Level:
    """How bad a finding is: what is only mentioned, or may be no command at all, is judged milder."""
    if one.effect in _ORDINARY or (program.certainty != "program" and one.effect == "opaque"):
        return "safe"
    is_dangerous = one.effect in _DANGEROUS and (one.rule, one.words) != _MAYBE
    if program.certainty == "words":
        return "caution" if is_dangerous else "safe"
    return "dangerous" if is_dangerous else "caution"


def _line_of(words: str, program: SkillProgram) -> int:
    """The line that a finding is about, as far as its words tell it; the first of the program else."""
    start = words.split(" ", 1)[0] if words else ""
    at = (
        program.code.find(words)
        if words and words in program.code
        else program.code.find(start)
        if start
        else 0
    )
    return program.line + program.code.count("\n", 0, max(at, 0))


def _whole(path: str, level: Level, why: str) -> GuardFinding:
    return GuardFinding(file=path, line=0, level=level, why=why)


BLOCKS: Final[Mapping[str, Level | None]] = {"builtin": None, "trusted": "dangerous", "community": "caution"}
"""From which level on a skill of each trust is kept out."""


_ORDER: Final[tuple[Level, ...]] = ("safe", "caution", "dangerous")


def worse(one: GuardVerdict, other: GuardVerdict) -> GuardVerdict:
    """What two that have looked at a skill say together: the worse word, and all that they found."""
    level = max(one.level, other.level, key=_ORDER.index)
    return GuardVerdict(level=level, findings=tuple(dict.fromkeys((*one.findings, *other.findings))))


def keeps_out(verdict: GuardVerdict, trust: str) -> bool:
    """Whether a skill of this trust is not installed without more."""
    limit = BLOCKS[trust]
    return limit is not None and _ORDER.index(verdict.level) >= _ORDER.index(limit)
