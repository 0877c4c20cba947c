"""Everything that a command line may do which needs a decision: the rules of the table, and what only code
can tell.
"""

import re
from collections.abc import Iterator
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from typing import Final

from msgspec import Struct

from hermes.config.sensitive import is_loader
from hermes.safety.commands.code import SHELLS, program_text, unreadable_reason
from hermes.safety.commands.dataflow import INTERPRETERS, runs_fetched, upstream, written_scripts
from hermes.safety.commands.exfiltration import CARRIERS, DOWNLOADERS, hosts_of, sent
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.file_findings import of_files, of_other_repositories
from hermes.safety.commands.git_settings import of_git_settings
from hermes.safety.commands.nested_commands import counted
from hermes.safety.commands.options import operands
from hermes.safety.commands.paths import (
    Map,
    place_of,
)
from hermes.safety.commands.rules import Finding, findings, findings_in_code
from hermes.safety.commands.script import ShellScript, Simple
from hermes.safety.commands.signals import signalled
from hermes.safety.commands.wrappers import see_through

_SOURCES: Final = re.compile(
    r"(?i)PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|TRUSTED_HOST|CONFIG_FILE)|NPM_CONFIG_(?:\w*REGISTRY|SCRIPT_SHELL|PREFIX|USERCONFIG)|GOPROXY|GONOSUM\w*|GOINSECURE"
    r"|UV_(?:\w*INDEX\w*)|CARGO_REGISTR\w+|YARN_(?:NPM_)?REGISTRY\w*|BUNDLE_\w*MIRROR\w*|CONDA_CHANNELS"
)
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u180e\U000e0000-\U000e007f]|\r(?!\n)"
)
_PLAIN_TOOLS: Final = re.compile(
    r"(?:/usr/bin/|/bin/)?(?:cat|less|more|true|vi|vim|nano|code --wait|:)|", re.IGNORECASE
)
_SAYING: Final = frozenset({"echo", "printf", "cat", "tee"})
_DATABASES: Final = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo", "redis-cli", "cqlsh", "duckdb", "sqlcmd"}
)


class Reading(Struct, frozen=True):
    """A command line as it was read: the commands that it would run, and what was found in them."""

    commands: tuple[Simple, ...]
    found: tuple[Finding, ...]


def inspect(source: str, *, cwd: str, folders: Map) -> tuple[Finding, ...]:
    """What a command line may do, each kind once, in the order found."""
    return read_command(source, cwd=cwd, folders=folders).found


def read_command(source: str, *, cwd: str, folders: Map, before: str = "") -> Reading:
    """A command line's commands and findings, each kind once, in the order found; `before` defined aliases
    and functions.
    """
    variables = {
        "SHELL": "/bin/sh",
        "BASH": "/bin/bash",
        "HOME": folders.home,
        "TMPDIR": folders.temp[0] if folders.temp else UNKNOWN,
        "HERMES_HOME": folders.hermes_home,
    }
    script = see_through(source, cwd=cwd, variables=variables, before=before)
    found = list(_of_script(script, source))
    for command in script.commands:
        words = command.line.replace(UNKNOWN, "…")
        hosts = tuple(hosts_of(command)) if command.program in CARRIERS or command.program == "git" else ()
        all_found = (counted(command, one) for one in (*findings(command), *_of_command(command, folders)))
        found += (replace(one, words=words, hosts=hosts) for one in all_found if one is not None)
    for command, text in written_scripts(script.commands):
        found += read_command(text, cwd=command.cwd, folders=folders).found
    return Reading(tuple(script.commands), tuple(dict.fromkeys(found)))


def _of_script(script: ShellScript, source: str) -> Iterator[Finding]:
    if script.bombs:
        yield Finding("fork-bomb", "halt", "it starts copies of itself without end")
    if script.loops:
        yield Finding("endless-loop", "persistence", "it goes on in the background without end")
    for fault in script.faults:
        yield Finding("unreadable", "opaque", fault)
    paths = [path for command in script.commands for path in (*command.writes, *command.reads)]
    if re.search(r"/dev/(?:tcp|udp)/", "\n".join([source, *paths])):
        yield Finding("network-shell", "listen", "it connects through the shell itself")
    if _HIDDEN.search(source):
        yield Finding("hidden-characters", "opaque", "it has characters that hide what it says")
    if re.search(r"://[^/\s]*[^\x00-\x7f]", source):
        yield Finding("look-alike-host", "upload", "the address has letters that look like others")
    if runs_fetched(script.commands):
        yield Finding("download-and-run", "download", "it runs what it downloads")


def _of_command(command: Simple, folders: Map) -> Iterator[Finding]:
    yield from _name(command)
    yield from _input(command)
    yield from _assignments(command, folders)
    yield from of_files(command, folders)
    yield from signalled(command)
    yield from _statements(command)
    yield from sent(command)
    yield from of_other_repositories(command, folders)
    yield from of_git_settings(command)
    for language, text in program_text(command):
        yield from findings_in_code(language, text)
        if reason := unreadable_reason(language, text):
            yield Finding("inline-code", "opaque", f"it runs {reason}")


def _name(command: Simple) -> Iterator[Finding]:
    if command.argv and (
        UNKNOWN in command.argv[0]
        or (re.search(r"[*?\[]", command.argv[0]) and command.argv[0] not in {"[", "[["})
    ):
        yield Finding("unknown-program", "opaque", "the program's name is only known when it runs")


def _input(command: Simple) -> Iterator[Finding]:
    """Shells and interpreters that run what they are sent."""
    is_shell = command.program in SHELLS
    if not is_shell and not INTERPRETERS.fullmatch(command.program):
        return
    words = command.argv[1:]
    runs_unknown_file = any(UNKNOWN in word for word in words[:1]) and (is_shell or bool(command.sources))
    reads_input = (
        not operands(words, {"-o", "-O", "-c", "-m", "-W"})
        or "-s" in words
        or words[:1] in {("-",), ("/dev/stdin",)}
    )
    reads_input = reads_input and not any(re.fullmatch(r"-[a-z]*[cem]", word) for word in words)
    said = command.sources[0] if command.sources else command
    is_plain = said.program in _SAYING and command.input is not None and UNKNOWN not in command.input
    is_read = is_shell and is_plain  # what is decoded first is read as well, and asked about
    if not runs_unknown_file and not (reads_input and command.sources and not is_read):
        return
    if any(source.program in DOWNLOADERS for source in upstream(command)):
        yield Finding("download-and-run", "download", "it runs what it downloads")
    else:
        yield Finding(
            "unknown-script", "opaque", f"what {command.program} would run is only known when it runs"
        )


def _statements(command: Simple) -> Iterator[Finding]:
    """A database that is given statements which only another program knows."""
    if command.program in _DATABASES and any(one.program not in _SAYING | {""} for one in command.sources):
        yield Finding(
            "unknown-script", "opaque", f"what {command.program} would run is only known when it runs"
        )


def _assignments(command: Simple, folders: Map) -> Iterator[Finding]:
    for name, text in command.assignments:
        if _SOURCES.fullmatch(name):
            yield Finding("package-variable", "package", f"{name} says where packages come from")
        elif name.startswith("HERMES_") or re.search(r"(?i)yolo", name):
            yield Finding("own-switch", "own", "it changes a switch of this agent")
        elif is_loader(name) and not _PLAIN_TOOLS.fullmatch(text):
            yield Finding("loader-variable", "loader", f"{name} makes programs run or load something else")
        elif re.fullmatch(r"HIST(?:FILE|SIZE|FILESIZE)", name) and text in {"", "0", "/dev/null"}:
            yield Finding("clear-tracks", "delete", "it stops the record of what is done")
        elif name == "PATH" and any(
            _is_odd_folder(folder, command.cwd, folders) for folder in text.split(":")
        ):
            yield Finding(
                "search-path", "loader", "programs would be looked for in a folder that anybody may fill"
            )


def _is_odd_folder(folder: str, cwd: str, folders: Map) -> bool:
    if folder.startswith(UNKNOWN):
        return False
    return not folder.startswith("/") or folder in folders.temp or place_of(folder, cwd, folders) == "temp"
