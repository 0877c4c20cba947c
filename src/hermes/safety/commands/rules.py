"""The rules of `danger.toml` and how a command is held against them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final

from hermes.lib.data_files import data_table
from hermes.safety.commands.code import SHELLS, unreadable_reason
from hermes.safety.commands.options import has_option, operands, option_values
from hermes.safety.commands.prefixes import only_runs, prefixes
from hermes.safety.commands.script import Simple

MESSAGES: Final = frozenset({"-m", "--message", "--grep", "-S", "-G", "--author", "--trailer"})
"""Options of git whose value is text."""

_CONDITION: Final = re.compile(
    r"(?i)\bwhere\b(?!\s*\(?\s*(?:'?(\w+)'?\s*(?:=|is)\s*'?\1\b|true\b|not\s+false|\d+\s*(?:[;)'\"\x00]|$)|\d+\s*[<>]))"
)
_LITERAL: Final = re.compile(r"(?<=[(,=\s])'[^';\n]* [^';\n]*'(?=[),;\s]|$)")  # text in a statement
_INLINE: Final = frozenset({"-c", "-e", "-r", "-E"})
_VERB: Final = re.compile(r"[a-z][a-z0-9-]*")
_MOST_VERBS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a finding means: see the head of `danger.toml`; `kind` is its class."""

    text: str
    kind: str
    hard: bool = False
    free: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing in a command that a rule is about; `reason` goes after "because".

    `path`: the place it touches, where there is one. `words`: the part of the command that caused it, `hosts`
    those that it names.
    """

    rule: str
    effect: str
    reason: str
    path: str = ""
    words: str = field(default="", compare=False)
    hosts: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry of the table. All its conditions must hold."""

    id: str
    effect: str
    reason: str
    programs: re.Pattern[str]
    exempt: frozenset[str] = frozenset()
    first: tuple[re.Pattern[str], ...] = ()
    options: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    text: re.Pattern[str] | None = None
    verbs: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = ()
    code: re.Pattern[str] | None = None
    conditions: frozenset[str] = frozenset()
    match: tuple[str, ...] = field(default=(), repr=False)
    passes: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUse:
    """Which words of some programs are files, and what becomes of them: delete, write or move."""

    does: str
    takes: str
    programs: frozenset[str]
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All of `danger.toml`."""

    effects: Mapping[str, Effect]
    values: Mapping[str, frozenset[str]]
    patterns: Mapping[str, frozenset[str]]
    groups: Mapping[str, frozenset[str]]
    files: tuple[FileUse, ...]
    rules: tuple[Rule, ...]


@cache
def table() -> Table:
    """The table, read once; a fault in the file is raised as it is."""
    tree = data_table("danger.toml")
    groups = {name: frozenset(_members(name, tree["groups"])) for name in tree["groups"]}
    return Table(
        effects={name: _effect(entry) for name, entry in tree["effects"].items()},
        values={name: frozenset(text.split()) for name, text in tree["values"].items()},
        patterns={name: frozenset(text.split()) for name, text in tree["patterns"].items()},
        groups=groups,
        files=tuple(_file_use(entry) for entry in tree["files"]),
        rules=tuple(_rule(entry, groups) for entry in tree["rule"]),
    )


def findings(command: Simple) -> Iterator[Finding]:
    """What the rules say about one command."""
    if not command.argv or _asks_for_help(command):
        return
    named = (
        command.argv[0] in command.scope.aliases
        or command.argv[0] in command.scope.functions
        or only_runs(command.program)
    )
    for rule in _rules_for(command.program):
        if named and rule.exempt:
            continue  # what it stands for or runs is looked at by itself
        if _holds(rule, command):
            yield Finding(
                rule.id, rule.effect, rule.reason, command.cwd if rule.effect in {"delete", "history"} else ""
            )


def findings_in_code(language: str, code: str) -> Iterator[Finding]:
    """What the rules say about a piece of program text that does more than compute and print."""
    if unreadable_reason(language, code):
        for rule in table().rules:
            if rule.code is not None and rule.code.search(code):
                yield Finding(rule.id, rule.effect, rule.reason)


def _asks_for_help(command: Simple) -> bool:
    """Whether a program is told nothing but a verb or two, and to explain it; what a script makes of that is
    not known.
    """
    *verbs, last = command.argv[1:] or [""]
    return (
        last == "--help"
        and len(verbs) <= _MOST_VERBS
        and all(map(_VERB.fullmatch, verbs))
        and (not verbs or command.program not in {*SHELLS, *prefixes(), "ssh"})
    )


@lru_cache(maxsize=512)
def _rules_for(program: str) -> tuple[Rule, ...]:
    return tuple(
        rule for rule in table().rules if program not in rule.exempt and rule.programs.fullmatch(program)
    )


def is_ruled(program: str, aside: frozenset[str] = frozenset()) -> bool:
    """Whether the table has something to say about a program by its name, effects of `aside` not counted."""
    named = any(rule.effect not in aside and not rule.exempt for rule in _rules_for(program))
    return named or any(program in use.programs for use in table().files)


def file_uses(command: Simple) -> Iterator[tuple[str, str]]:
    """Pairs (what is done, path) for the files among a command's words."""
    words, program = command.argv[1:], command.program
    for use in table().files:
        if program not in (use.programs or {program}) or (use.needs and not has_option(words, *use.needs)):
            continue
        for path in _taken(use, words):
            yield use.does, path


def _taken(use: FileUse, words: Sequence[str]) -> Sequence[str]:
    if use.takes.startswith("options"):
        found = option_values(words, *use.options)
        return (
            [path for path in found if path.startswith(("/", "~", ".."))]
            if use.takes == "options that lead away"
            else found
        )
    found = operands(words, use.values)
    if use.takes == "behind script":  # which comes first, unless an option gives it
        return found if has_option(words, "-e", "-f", "--expression", "--file", "-E") else found[1:]
    if use.takes == "last":
        return found[-1:] if len(found) > 1 else []
    return found[1:] if use.takes == "rest" else found


def _holds(rule: Rule, command: Simple) -> bool:
    words = _counted(rule, command)
    if rule.verbs and not _is_verb(rule, command):
        return False
    if "not_own_script" in rule.conditions and "/" in command.argv[0] and not command.argv[0].startswith("/"):
        return False
    return (
        _text_fits(rule, command, words)
        and _subcommand_fits(rule, command.program, words)
        and not (rule.unless and has_option(words, *rule.unless))
        and (not rule.options or has_option(words, *rule.options))
    )


def _is_verb(rule: Rule, command: Simple) -> bool:
    text = " ".join([command.program, *command.argv[1:]])
    return any(program.fullmatch(command.program) and verb.search(text) for program, verb in rule.verbs)


def _counted(rule: Rule, command: Simple) -> Sequence[str]:
    """The words that a rule looks at: messages and inline code are not options, whatever they contain."""
    return (
        _without(rule.conditions & _KINDS_OF_TEXT, command.argv[1:])
        if rule.conditions & _KINDS_OF_TEXT
        else command.argv[1:]
    )


@lru_cache(maxsize=256)
def _without(kinds: frozenset[str], words: tuple[str, ...]) -> Sequence[str]:
    """Words without those that are text, and without the options that say so."""
    skipped = frozenset().union(*(_TEXT_OPTIONS.get(kind) or _long_options() for kind in kinds))
    kept = [word for word in _unquoted(words) if " " not in word] if "not_text" in kinds else words
    kept = [word for word, before in zip(kept, ["", *kept], strict=False) if before not in skipped]
    joined = tuple(f"{name}=" for name in skipped if name.startswith("--"))
    return [word for word in kept if not word.startswith(joined)]


def _long_options() -> frozenset[str]:
    return frozenset(name for name in table().groups["says"] if name.startswith("--"))


def _unquoted(words: Sequence[str]) -> Sequence[str]:
    """The words before a lone `--`, and before a program that only says what stands behind it."""
    return words[
        : next(
            (at for at, word in enumerate(words) if word == "--" or word in table().groups["quoting"]),
            len(words),
        )
    ]


def _text_fits(rule: Rule, command: Simple, words: Sequence[str]) -> bool:
    if rule.text is None:
        return True
    texts = [" ".join([command.program, *words])]
    is_read = "not_inline" not in rule.conditions  # a script on the input is inline code, too
    if is_read and command.text is not None:
        texts.append(command.text)
    if rule.effect == "database" and is_read:
        texts += [source.output for source in command.sources if source.output is not None]
    if rule.effect == "database":
        texts = [_LITERAL.sub("''", text) for text in texts]
    if "sql_without_condition" not in rule.conditions:
        return any(rule.text.search(text) for text in texts)
    return any(_takes_all_rows(found[0]) for text in texts for found in rule.text.finditer(text))


def _takes_all_rows(statement: str) -> bool:
    """Whether a statement has no condition that says which rows it is about."""
    if not re.match(r"(?i)(?:delete|update)\b", statement):
        return True
    return not _CONDITION.search(statement)


def _subcommand_fits(rule: Rule, program: str, words: Sequence[str]) -> bool:
    given = operands(words, table().values.get(program, frozenset()))
    return len(given) >= len(rule.first) and all(
        wanted.fullmatch(word) for wanted, word in zip(rule.first, given, strict=False)
    )


_TEXT_OPTIONS: Final[Mapping[str, frozenset[str]]] = {"not_message": MESSAGES, "not_inline": _INLINE}
_KINDS_OF_TEXT: Final = frozenset({*_TEXT_OPTIONS, "not_text"})
_FLAGS: Final = (
    "not_message",
    "not_inline",
    "not_own_script",
    "not_text",
    "sql_without_condition",
)


def _effect(entry: Mapping[str, Any]) -> Effect:
    return Effect(
        text=entry["text"],
        kind=entry["class"],
        hard=entry.get("hard", False),
        free=frozenset(entry.get("free", "").split()),
    )


def _as_pattern(name: str) -> str:
    return name if "\\" in name or "*" in name else re.escape(name)


def _members(name: str, groups: Mapping[str, str]) -> Iterator[str]:
    """The programs of a kind, with those of the kinds that it takes in."""
    for word in groups[name].split():
        if word.startswith("@"):
            yield from _members(word[1:], groups)
        else:
            yield word


def _rule(entry: Mapping[str, Any], groups: Mapping[str, frozenset[str]]) -> Rule:
    verbs = entry.get("verbs", {})
    programs = [*verbs, *map(_as_pattern, entry.get("programs", ()))]
    return Rule(
        id=entry["id"],
        effect=entry["effect"],
        reason=entry["reason"],
        programs=re.compile("|".join(programs) or "(?!)"),
        exempt=frozenset().union(*(groups[name] for name in entry.get("except", ()))),
        first=tuple(re.compile(text) for text in entry.get("first", ())),
        options=tuple(entry.get("options", ())),
        unless=tuple(entry.get("unless", ())),
        text=re.compile(entry["text"]) if "text" in entry else None,
        verbs=tuple((re.compile(name), re.compile(verb)) for name, verb in verbs.items()),
        code=re.compile(entry["code"]) if "code" in entry else None,
        conditions=frozenset(name for name in _FLAGS if entry.get(name)),
        match=tuple(entry["match"]),
        passes=tuple(entry["pass"]),
    )


def _file_use(entry: Mapping[str, Any]) -> FileUse:
    return FileUse(
        does=entry["does"],
        takes=entry["takes"],
        programs=frozenset(entry["programs"]),
        options=tuple(entry.get("options", ())),
        needs=tuple(entry.get("needs", ())),
        values=frozenset(entry.get("values", "").split()),
    )
