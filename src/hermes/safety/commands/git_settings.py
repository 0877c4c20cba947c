"""The settings that a git command writes, or takes for itself: whoever chooses them chooses what git runs and
where it goes, unless they are known to do neither.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from hermes.config.sensitive import is_loader
from hermes.lib.repository import is_plain_setting
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.options import after_options, has_option, operands, option_values
from hermes.safety.commands.rules import Finding, table
from hermes.safety.commands.script import Simple

_VALUES: Final = frozenset({"-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"})
_READING: Final = ("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color")
_READING_VERBS: Final = frozenset({"list", "get"})
_SECTION_VERBS: Final = frozenset({"rename-section", "remove-section", "edit"})
_ASIDE: Final = re.compile(
    r"--(?:local|global|system|worktree|type|bool|int|bool-or-int|bool-or-str|path|expiry-date|null|name-only"
    r"|(?:no-)?includes|show-origin|show-scope|show-names|default|file|blob|all|fixed-value|no-type)|-[zf]+"
)
"""Options that leave a lone name a question for its value."""
_FOR_CLONE: Final = ("-c", *("--config"[:length] for length in range(3, 9)))  # long names may be cut short
_STARTS_NOTHING: Final = re.compile(
    r"core\.hookspath=/dev/null|(?:core\.(?:pager|editor)|sequence\.editor)=(?:cat|true|:)"
    r"|(?:core\.fsmonitor|pager\.[\w-]+)=(?:false|0)|credential\.helper=",
    re.IGNORECASE,
)


_READ: Final = re.compile(r"GIT_\w+|HOME|XDG_CONFIG_HOME")
"""Variables by which git finds what it reads, runs and writes."""
_PLAIN_VARIABLES: Final = re.compile(
    r"GIT_(?:(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|TERMINAL_PROMPT|OPTIONAL_LOCKS|LFS_SKIP_SMUDGE|MERGE_AUTOEDIT"
    r"|CEILING_DIRECTORIES|FLUSH|ADVICE|NO_\w+|LITERAL_PATHSPECS|GLOB_PATHSPECS|ICASE_PATHSPECS|PAGER_IN_USE)"
)
_EXPORTS: Final = frozenset({"export", "declare", "typeset"})


def of_git_settings(command: Simple) -> Iterator[Finding]:
    """What a git command makes git run or reach by its settings, at once or later."""
    if command.program == "git" or command.program in _EXPORTS:
        yield from _variables(command)
    if command.program != "git":
        return
    words = command.argv[1:]
    given = after_options(words, table().values["git"])
    before = words[: len(words) - len(given)]
    for setting in (*option_values(before, "-c", "--config-env"), *_for_clone(given)):
        if not _is_plain(*setting.partition("=")[::2]):
            reason = f"it sets {_shown(setting)} for git, which may run or reach something else by it"
            yield Finding("git-setting", "opaque", reason)
    yield from (_elsewhere("--git-dir") for _ in option_values(before, "--git-dir"))
    if _writes(given):
        yield from _written(given[1:])


def _variables(command: Simple) -> Iterator[Finding]:
    """What variables tell git, unless they are known to choose nothing that it runs or writes."""
    for name, _ in command.assignments:
        if _READ.fullmatch(name) and not _PLAIN_VARIABLES.fullmatch(name) and not is_loader(name):
            yield _elsewhere(name)


def _elsewhere(name: str) -> Finding:
    reason = f"{name} tells git where its settings and files are, by which it may run or write something else"
    return Finding("git-setting", "opaque", reason)


def settings_files(words: Sequence[str]) -> Sequence[str]:
    """The files of settings that the words behind `git` name to be changed."""
    given = after_options(words, table().values["git"])
    return option_values(given[1:], "-f", "--file") if _writes(given) else ()


def _writes(given: Sequence[str]) -> bool:
    """Whether a subcommand with its words changes settings."""
    if given[:1] != ["config"]:
        return False
    options, named = _options(given[1:]), operands(given[1:], _VALUES)
    if named[:1] and named[0] in _READING_VERBS:
        return False
    if has_option(options, *_READING):
        return False
    asks = len(named) <= 1 and named[:1] != ["edit"]
    return not (asks and all(_ASIDE.fullmatch(word.partition("=")[0]) for word in options))


def _for_clone(given: Sequence[str]) -> Sequence[str]:
    """The settings that a clone begins with."""
    return option_values(given[1:], *_FOR_CLONE) if given[:1] == ["clone"] else ()


def _written(words: Sequence[str]) -> Iterator[Finding]:
    name, value = _named(words)
    if not _is_plain(name, value):
        reason = f"it changes {_shown(name)}, by which later git commands may run or reach something else"
        yield Finding("git-config-runs", "persistence", reason)
    if has_option(_options(words), "--global", "--system"):
        yield Finding("git-config-global", "persistence", "it changes git's settings for the whole account")


def _named(words: Sequence[str]) -> tuple[str, str]:
    """The setting that is written and its new value; that of a whole section has no name of its own."""
    named = operands(words, _VALUES)
    verb = named[0] if named else ""
    name, value = ([*(named[1:] if verb in {"set", "unset"} else named), "", ""])[:2]
    is_one = "." in name and not has_option(_options(words), "--rename-section", "--remove-section")
    return (name, value) if is_one and verb not in _SECTION_VERBS else ("settings", "")


def _options(words: Sequence[str]) -> list[str]:
    """The options among words, without their values."""
    found: list[str] = []
    before = ""
    for word in words:
        if word == "--":
            break
        if before not in _VALUES and word.startswith("-"):
            found.append(word)
        before = "" if before in _VALUES else word
    return found


def _is_plain(name: str, value: str) -> bool:
    return is_plain_setting(name) or _STARTS_NOTHING.fullmatch(f"{name}={value}") is not None


def _shown(setting: str) -> str:
    return setting.partition("=")[0].replace(UNKNOWN, "…")
