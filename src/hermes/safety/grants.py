"""Wider answers: what a yes for more than once covers, how it is written down, and whether it covers an
action.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.safety.bound_files import is_bound, runs_unbound
from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.dataflow import INTERPRETERS
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.findings import Reading
from hermes.safety.commands.local_programs import is_local
from hermes.safety.commands.paths import Map
from hermes.safety.commands.rules import Finding
from hermes.safety.commands.script import Simple
from hermes.safety.needs import ASKED
from hermes.types.action import Action, Command, FileAccess, ToolUse, digest_of
from hermes.types.question import Scope

_LIMIT: Final = re.compile(r" \[(?:(\d+) uses? left)?(?:, )?(?:until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ))?\]$")
_PROGRAM: Final = re.compile(r"(?P<directory>/.*?)\$ (?P<words>\S+ \S+) … \((?P<rules>[\w-]+(?:, [\w-]+)*)\)")
_PATH: Final = re.compile(r"(?P<words>read|write|delete) (?P<path>/.*)", re.DOTALL)
_HOST: Final = re.compile(r"requests to (?P<words>[\w.:*/\[\]-]+)")
_RULES: Final = re.compile(r"any command \((?P<rules>[\w-]+(?:, [\w-]+)*)\)")
_TOOL: Final = re.compile(r"the tool (?P<words>[\w.-]+)")
EDIT: Final = "edit"
"""The rule that finds an edit of the workspace where these ask."""
EVERY_EDIT: Final = Scope(kind="edits", words="every edit of the workspace")
_EXACT: Final = re.compile(r"(?P<directory>/.*?)\$ (?P<words>.*)", re.DOTALL)
_NEEDS: Final = re.compile(r" \{needs ([^{}]+)\}$")
_CONTENT: Final = re.compile(r" \{content ([0-9a-f]{20})\}$")
_RUNS: Final = frozenset({"unconfined", "opaque", "loader", "privilege", "download"})
"""Effects of what runs a file: a lasting yes is for the file as it is."""
_PATTERNLESS: Final = frozenset(
    {"opaque", "unconfined", "loader", "privilege", "publish", "persistence", "outside"}
)
"""Effects of which a rule finds very different things, so that no pattern says what a yes would be to."""
_TOLD: Final = frozenset({"service", "process"})
_SIMPLE: Final = re.compile(r"[\w@%+:,./ ;&|-]{1,1000}", re.ASCII)
_REPEATS: Final = frozenset({"needs-network", "network", "publish", "service", "remote", "package"})


class Grants(Struct, frozen=True, kw_only=True):
    """What a person has said yes to in this session, and what time it is.

    `known` names the sources of outside text that each of these and each lasting yes was given in view of, or
    brought in itself, `ran` the commands that ran by a person's word.
    """

    session: tuple[Scope, ...] = ()
    known: Mapping[Scope, frozenset[str]] = field(default_factory=dict)
    ran: frozenset[str] = frozenset()
    now: float = 0.0

    def knows(self, scope: Scope) -> frozenset[str]:
        """The sources of outside text that do not end a yes."""
        return self.known.get(unlimited(scope), frozenset())

    def learned(self, scope: Scope, names: Iterable[str]) -> "Grants":
        """The same, with more sources that do not end a yes."""
        more = self.knows(scope).union(filter(None, names))
        return replace(self, known={**self.known, unlimited(scope): more})

    def noted(self, action: Action) -> "Grants":
        """The same after an action ran by a person's word."""
        return replace(self, ran=self.ran | {_words_of(action)}) if isinstance(action, Command) else self

    def has_words_of(self, action: Action, scope: Scope | None) -> bool:
        """Whether a person's yes was to the very words of a command, in a shell as it was then."""
        if scope is None or not isinstance(action, Command) or not action.fresh:
            return False
        return scope.kind == "exact" or _words_of(action) in self.ran

    def granted(self, scope: Scope) -> "Grants":
        """The same with a yes for the session, which takes the place of an earlier one to the same."""
        others = (one for one in self.session if unlimited(one) != unlimited(scope))
        return replace(self, session=(*others, scope))


def _words_of(action: Command) -> str:
    """A name of a command in a fresh shell."""
    return digest_of(replace(action, environment=""))


def write(scope: Scope) -> str:
    """A scope in words; `parse` reads them back."""
    if scope.kind == "program":
        text = f"{scope.directory}$ {scope.words} … ({', '.join(scope.rules)})"
    elif scope.kind == "path":
        text = f"{scope.words} {scope.path}"
    elif scope.kind == "host":
        text = f"requests to {scope.words}"
    elif scope.kind == "rules":
        text = f"any command ({', '.join(scope.rules)})"
    elif scope.kind == "edits":
        text = scope.words
    elif scope.kind == "tool":
        text = f"the tool {scope.words}"
    else:
        text = f"{scope.directory}$ {scope.words}" if scope.directory else scope.words
    text = f"{text} {{needs {', '.join(scope.needs)}}}" if scope.needs else text
    text = f"{text} {{content {scope.content}}}" if scope.content else text
    limits = [f"{scope.uses} use{'s' if scope.uses > 1 else ''} left"] if scope.uses else []
    if scope.until:
        limits.append(f"until {dt.datetime.fromtimestamp(scope.until, tz=dt.UTC):%Y-%m-%dT%H:%M:%SZ}")
    return f"{text} [{', '.join(limits)}]" if limits else text


@lru_cache(maxsize=512)
def parse(text: str) -> Scope:
    """What an entry covers; whatever has no other form is an exact command."""
    limit = _LIMIT.search(text)
    if limit is not None and (limit[1] or limit[2]):
        until = dt.datetime.fromisoformat(limit[2]).timestamp() if limit[2] else 0.0
        return replace(parse(text[: limit.start()]), uses=int(limit[1] or 0), until=until)
    if found := _CONTENT.search(text):
        return replace(parse(text[: found.start()]), content=found[1])
    if found := _NEEDS.search(text):
        return replace(parse(text[: found.start()]), needs=tuple(found[1].split(", ")))
    return _of_form(text) or _exact(text)


def _of_form(text: str) -> Scope | None:
    """What an entry covers that is more than one command."""
    if text == EVERY_EDIT.words:
        return EVERY_EDIT
    if found := _PROGRAM.fullmatch(text):
        return Scope(
            kind="program",
            words=found["words"],
            directory=found["directory"],
            rules=tuple(found["rules"].split(", ")),
        )
    if found := _PATH.fullmatch(text):
        return Scope(kind="path", words=found["words"], path=found["path"])
    if found := _HOST.fullmatch(text):
        return Scope(kind="host", words=found["words"])
    if found := _RULES.fullmatch(text):
        return Scope(kind="rules", words="any command", rules=tuple(found["rules"].split(", ")))
    if found := _TOOL.fullmatch(text):
        return Scope(kind="tool", words=found["words"])
    return None


def _exact(text: str) -> Scope:
    found = _EXACT.fullmatch(text)
    if found is None:
        return Scope(kind="exact", words=text.strip())
    return Scope(kind="exact", words=found["words"], directory=found["directory"])


def offered(
    action: Action, reading: Reading, folders: Map, reach: Literal["meant", "pattern"] = "meant"
) -> tuple[Scope | None, Scope | None]:
    """The scopes of a yes for the session and of one for good; none where what happens is not in the
    words, or in files that these do not name. With the reach of a `pattern` they are for all that the same
    rules find.
    """
    if isinstance(action, ToolUse):
        scope = _plain(Scope(kind="tool", words=action.tool, content=action.manifest.definition))
        return scope, scope
    if isinstance(action, FileAccess) and _are_edits(reading):
        return EVERY_EDIT, None
    if isinstance(action, FileAccess):
        scope = Scope(kind="path", words=action.operation, path=action.path)
        return _plain(scope), _plain(scope)
    commands, found = reading.commands, reading.found
    if _is_unknown(reading) or unbound(action, reading, folders):
        return None, None
    if reach == "pattern" and (rules := _rules(found)):
        return _host(found) or rules, rules
    if contested(action, reading):
        return None, None
    if any(one.effect in _RUNS for one in found) and not _is_told(action, commands, found):
        return None, None  # what runs stands in files that the words do not name
    exact = _plain(
        Scope(
            kind="exact",
            words=action.command.strip(),
            directory=action.cwd,
            needs=_needs(found),
            content=action.content if _runs_more(found) else "",
        )
    )
    wider = _host(found) or _program(action, commands, found)
    if any(one.effect in _RUNS for one in found) and not _SIMPLE.fullmatch(action.command):
        exact = None  # what stands for the files that it runs was told from plain words
    lasting = not any(one.effect in {"opaque", "download"} for one in found)
    return wider or exact, exact if lasting else None


def _is_told(action: Command, commands: Sequence[Simple], found: Sequence[Finding]) -> bool:
    """Whether the words tell what each program does: it acts on services or processes, runs nothing that
    lies in a folder, or only a file of which it is known what is in it. What git runs of a repository is the
    user's own: nothing else can change that.
    """
    told = {one.words.split()[0] for one in found if one.words and one.effect in _TOLD}
    return all(
        is_local(one)
        or one.program == "git"
        or one.program in told
        or (action.content and is_bound(one, commands, action))
        for one in commands
    )


def unbound(action: Command, reading: Reading, folders: Map) -> str:
    """The program, where a command asks for more than the sandbox gives and may run files that no yes is
    bound to; "" otherwise. One host alone is kept by the sandbox, whatever runs.
    """
    if ASKED.isdisjoint(one.effect for one in reading.found) or _host(reading.found):
        return ""
    return runs_unbound(reading.commands, action, folders)


def contested(action: Command, reading: Reading) -> bool:
    """Whether a yes would be bound to files that a process of the session may change meanwhile: what was
    looked at is then not what runs.
    """
    return action.beside and bool(action.content) and _runs_more(reading.found)


def _runs_more(found: Sequence[Finding]) -> bool:
    """Whether a yes is to what is in the files: it lets them do more than they could without."""
    return any(one.effect in _RUNS | ASKED for one in found)


def covering(scopes: Iterable[Scope], action: Action, reading: Reading, now: float) -> Scope | None:
    """The first scope that covers an action, read like this, at this time."""
    return next(
        (one for one in scopes if not (one.until and one.until <= now) and covers(one, action, reading)), None
    )


def covers(scope: Scope, action: Action, reading: Reading) -> bool:
    """Whether an action is what a scope says: no other words, place or kind of effect."""
    if isinstance(action, ToolUse):
        same = (scope.words, scope.content) == (action.tool, action.manifest.definition)
        return scope.kind == "tool" and same
    if isinstance(action, FileAccess):
        if scope.kind == "edits":
            return _are_edits(reading)
        return scope.kind == "path" and (scope.words, scope.path) == (action.operation, action.path)
    if scope.kind == "host":
        return _host(reading.found) == unlimited(scope)
    if not set(_needs(reading.found)) <= set(scope.needs):
        return False
    if scope.kind == "rules":
        told = not _is_unknown(reading) and _PATTERNLESS.isdisjoint(one.effect for one in reading.found)
        return told and {one.rule for one in reading.found} <= set(scope.rules)
    if scope.kind == "exact":
        same = scope.words == action.command.strip() and scope.directory in {"", action.cwd}
        return same and (not scope.content or (scope.content == action.content and not action.beside))
    own = _program(action, reading.commands, reading.found)
    return (
        scope.kind == "program"
        and own is not None
        and (own.words, own.directory) == (scope.words, scope.directory)
        and set(own.rules) <= set(scope.rules)
    )


def _are_edits(reading: Reading) -> bool:
    return all(one.rule == EDIT for one in reading.found)


def unlimited(scope: Scope) -> Scope:
    """What a scope covers, whatever its limits."""
    return replace(scope, uses=0, until=0.0)


def spend(scope: Scope) -> Scope | None:
    """A scope after one use; None when that was the last."""
    return scope if not scope.uses else replace(scope, uses=scope.uses - 1) if scope.uses > 1 else None


def lent(grants: Grants) -> Grants:
    """What of these answers a child has: all but those for a number of uses, which would count twice."""
    return replace(grants, session=tuple(one for one in grants.session if not one.uses))


def _plain(scope: Scope) -> Scope | None:
    """A scope that its own words give back: others could be read as something else later."""
    return scope if parse(write(scope)) == scope else None


def _only(commands: Sequence[Simple]) -> Simple | None:
    """The one plain command of a line, if that is all there is."""
    if len(commands) != 1:
        return None
    one = commands[0]
    return (
        None
        if one.writes
        or one.reads
        or one.assignments
        or one.sources
        or one.text is not None
        or len(one.argv) < 2
        else one
    )


def _program(action: Command, commands: Sequence[Simple], found: Sequence[Finding]) -> Scope | None:
    one = _only(commands)
    if (
        one is None
        or _runs_file(one)
        or not one.argv[1].isalnum()
        or one.argv[0] != one.program
        or any(each.effect not in _REPEATS for each in found)
    ):
        return None
    rules = tuple(sorted({each.rule for each in found}))
    return _plain(
        Scope(
            kind="program",
            words=f"{one.argv[0]} {one.argv[1]}",
            directory=action.cwd,
            rules=rules,
            needs=_needs(found),
        )
    )


def _runs_file(command: Simple) -> bool:
    """Whether a program's first word is a file that it runs."""
    return command.program in SHELLS or INTERPRETERS.fullmatch(command.program) is not None


def _rules(found: Sequence[Finding]) -> Scope | None:
    """Any command of which the same rules find nothing else."""
    if any(one.effect in _PATTERNLESS for one in found):
        return None
    rules = tuple(sorted({one.rule for one in found}))
    return _plain(Scope(kind="rules", words="any command", rules=rules, needs=_needs(found)))


def _is_unknown(reading: Reading) -> bool:
    """Whether a part of what happens is only known when it runs."""
    words = ("".join((*one.argv, *one.writes, one.cwd)) for one in reading.commands)
    return any(UNKNOWN in one for one in (*words, *(one.path for one in reading.found)))


def _needs(found: Sequence[Finding]) -> tuple[str, ...]:
    """What was declared and has to be asked, as a scope names it."""
    return tuple(sorted(one.words for one in found if one.effect in ASKED))


def _host(found: Sequence[Finding]) -> Scope | None:
    """One host, where that is all that has to be asked: the sandbox keeps the command to it."""
    if len(found) != 1 or not found[0].hosts or found[0].rule != "needs-host":
        return None
    return _plain(Scope(kind="host", words=found[0].hosts[0]))
