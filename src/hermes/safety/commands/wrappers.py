"""See through programs that run other programs: sudo, env, xargs, sh -c, find -exec, ssh and their like."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from typing import Final

from hermes.config.sensitive import is_loader
from hermes.safety.commands.code import SHELLS, imports, program_text, shell_texts, texts
from hermes.safety.commands.command import carried, read
from hermes.safety.commands.containers import in_container, starts_container
from hermes.safety.commands.dataflow import INTERPRETERS
from hermes.safety.commands.expansion import UNKNOWN, substituted
from hermes.safety.commands.found_files import found_paths, listed_folders
from hermes.safety.commands.inline_scripts import inline_scripts
from hermes.safety.commands.nested_commands import (
    GUESSED,
    QUOTED,
    embedded_texts,
    embedded_words,
    is_plain,
)
from hermes.safety.commands.options import after_options, has_option, operands, option_values
from hermes.safety.commands.prefixes import prefixes
from hermes.safety.commands.script import ShellScript, Simple
from hermes.types.error import BeyondReading

_DEEPEST: Final = 8

_SPLITS: Final = re.compile(
    r"-[0iv]*S(.*)|--s[a-z-]*(?:=(.*))?", re.DOTALL
)  # env's option for a command line in one word
_JOINS: Final = frozenset({"watch", "parallel"})  # these give their words to a shell
_TAKES_ASSIGNMENTS: Final = frozenset({"sudo", "doas", "systemd-run", "time", "coproc", "cross-env"})
_MODULES: Final = re.compile(r"(?:python|pypy)[\d.]*")
_READS_CODE: Final = re.compile(r"\w*sh|g?make|(?:python|pypy|node|perl|ruby|php|lua)[\d.]*")
_SET_UP: Final = re.compile(
    r"eval +[\"']?(?:\$\(|`)(?:ssh-agent(?: -s)?|dircolors(?: -b)?"
    r"|(?:direnv hook|starship init|zoxide init|mise activate|rtx activate|atuin init|fnm env|thefuck --alias"
    r"|(?:/\S+/)?brew shellenv|pyenv init"
    r"|pyenv virtualenv-init|rbenv init|nodenv init|jenv init|goenv init|opam env|conda shell\.\w+"
    r" hook|lesspipe|luarocks path"
    r"|docker-machine env"
    r"|minikube(?: -p \w+)? docker-env)(?: (?:-|[\w-]+))*)(?:\)|`)[\"']?"
)
_PROMPT: Final = re.compile(r"PS[0-4]")
_ADDS_WORDS: Final = frozenset({"xargs", "parallel", "entr"})


def see_through(source: str, *, cwd: str, variables: Mapping[str, str], before: str = "") -> ShellScript:
    """All simple commands that a command line would run, those inside others included, each known wrapper in
    `through`.

    `before` is shell text that defined aliases and functions earlier.
    """
    script = read(
        source,
        cwd=cwd,
        variables=variables,
        scope=carried(before, cwd=cwd, variables=variables) if before.strip() else None,
    )
    found: list[Simple] = []
    inside: dict[tuple[object, ...], list[Simple]] = {}
    level = list(script.commands)
    for _ in range(_DEEPEST):
        found += level
        below = [(command, list(_inner(command, script)) or list(_guessed(command))) for command in level]
        for command, inner in below:
            inside.setdefault((command.argv, command.line, command.cwd), []).extend(inner)
        level = [one for _, inner in below for one in inner]
        if not level:
            break
    else:
        raise BeyondReading("programs are nested too deep in one another")
    script.commands = [_fed(command, inside) for command in found]
    return script


def _fed(command: Simple, inside: Mapping[tuple[object, ...], Sequence[Simple]]) -> Simple:
    """A command whose sources include the programs inside of them."""
    inner = tuple(
        one for source in command.sources for one in inside.get((source.argv, source.line, source.cwd), ())
    )
    return replace(command, sources=(*command.sources, *inner)) if inner else command


def _inner(command: Simple, script: ShellScript) -> Iterator[Simple]:
    for name, text in command.assignments:
        yield from _set_to_run(command, name, text)
    if command.argv:
        yield from _started(command, script)


def _set_to_run(command: Simple, name: str, text: str) -> Iterator[Simple]:
    """What a variable makes programs run: a command line, or a prompt that substitutes."""
    if is_loader(name) or _PROMPT.fullmatch(name):
        for line in (text, *substituted([text])):
            yield from _parsed(command, line, ShellScript(), name)  # text that is no command is no fault


def _started(command: Simple, script: ShellScript) -> Iterator[Simple]:
    """What the program of a command starts."""
    if (
        UNKNOWN not in command.argv[0]
        and command.argv[0] in command.scope.aliases
        and "alias" not in command.through
    ):
        text = " ".join([command.scope.aliases[command.argv[0]], *_quote(command.argv[1:])])
        for one in _parsed(command, text, script, "alias"):
            text_of_both = one.text if one.text is not None else command.text
            reads, writes = one.reads + command.reads, one.writes + command.writes
            yield replace(
                one, line=f"{one.line} {command.line}", text=text_of_both, reads=reads, writes=writes
            )
    name = command.program
    if name in prefixes():
        yield from _behind(command, script)
    for text in [] if _sets_up_shell(command) else inline_scripts(command):
        yield from _parsed(command, text, script, name)
    if name == "env":
        yield from _environment(command, script)
    if name in SHELLS or INTERPRETERS.fullmatch(name):
        yield from _own_program(command)
    if name in {"find", "fd", "fdfind"}:
        yield from _executed(command)
    yield from in_container(command)
    yield from _started_by_code(command)


def _guessed(command: Simple) -> Iterator[Simple]:
    """What a program would run if it ran those of its words that read as commands."""
    if is_plain(command) or starts_container(command):
        return
    yield from embedded_words(command)
    for text in embedded_texts(command):
        yield from _parsed(command, text, ShellScript(), QUOTED)  # text that is no command is no fault


def _sets_up_shell(command: Simple) -> bool:
    """Whether it evaluates the lines that a well-known program prints for shells to set themselves up."""
    return (
        command.program == "eval"
        and _SET_UP.fullmatch(command.line) is not None
        and not command.scope.functions
    )


def _started_by_code(command: Simple) -> Iterator[Simple]:
    """What an interpreter would start: a module of Python, or plain command lines in the program text it is
    given.
    """
    if _MODULES.fullmatch(command.program):
        yield from _module(command)
    for _, code in program_text(command):
        if imports(code, "hermes"):
            said = ("hermes", *texts(code))
            yield replace(command, argv=said, text=None, through=(*command.through, GUESSED))
        for text in shell_texts(code):
            yield from _parsed(
                command, text, ShellScript(), command.program
            )  # text that is no command is no fault


def _own_program(command: Simple) -> Iterator[Simple]:
    """Our own program, where a shell or an interpreter is given its file: `bash scripts/hermes …`."""
    words = operands(command.argv[1:], {"-o", "-O", "-c"})
    if words and words[0].rpartition("/")[2] == "hermes":
        at = command.argv.index(words[0])
        yield replace(
            command, argv=("hermes", *command.argv[at + 1 :]), through=(*command.through, command.program)
        )


def _quote(words: Sequence[str]) -> list[str]:
    return ['"$UNKNOWN_PART"' if UNKNOWN in word else shlex.quote(word) for word in words]


def _parsed(command: Simple, text: str, script: ShellScript, wrapper: str) -> Iterator[Simple]:
    """The commands of a script that a command would give to a shell; an unknown part of it may be
    anything.
    """
    if text.strip(" \t\n\0") == "" and UNKNOWN in text:
        script.faults.append(f"what {wrapper} would run is only known when it runs")
        return
    scope = command.scope.copy()
    scope.variables |= dict(command.assignments)
    inner = read(text.replace(UNKNOWN, "$UNKNOWN_PART"), cwd=command.cwd, variables={}, scope=scope)
    script.faults += [fault for fault in inner.faults if fault not in script.faults]
    script.bombs += inner.bombs
    script.loops += inner.loops
    for one in inner.commands:
        yield replace(one, through=(*command.through, wrapper), sources=one.sources or command.sources)


def _behind(command: Simple, script: ShellScript) -> Iterator[Simple]:
    """The program behind a prefix such as `sudo -u me` or `timeout 5`."""
    name = command.program
    prefix = prefixes()[name]
    rest = after_options(command.argv[1:], prefix.values)
    if prefix.behind:
        rest = rest[1:] if rest[:1] == ["compose"] else rest
        if not prefix.behind.intersection(rest[:1]):
            return
        rest = after_options(rest[2:] if rest[:2] == ["tool", "run"] else rest[1:], prefix.values)
    if name == "command" and command.argv[1:2] and re.fullmatch(r"-[pvV]*[vV][pvV]*", command.argv[1]):
        return
    rest, assigned = rest[prefix.skip :], []
    rest = rest[1:] if rest[:1] == ["--"] else rest
    while rest and name in _TAKES_ASSIGNMENTS and re.match(r"\w+=", rest[0]):
        assigned.append((rest[0].partition("=")[0], rest[0].partition("=")[2]))
        rest = rest[1:]
    if not rest:
        return
    if name in _JOINS or (len(rest) == 1 and " " in rest[0]):
        words = [word.replace(UNKNOWN, "$UNKNOWN_PART") for word in rest]
        if name == "parallel" and not {":::", "::::", "-a"} & set(command.argv) and "{" not in " ".join(rest):
            words += _quote(_given(command))
        yield from _parsed(command, " ".join(words), script, name)
        return
    if prefix.behind and "--" in rest:  # what stands before it says what is run with
        yield replace(
            command,
            argv=tuple(rest[rest.index("--") + 1 :]),
            through=(*command.through, name),
            assignments=(),
        )
    marks = (
        option_values(command.argv[1 : len(command.argv) - len(rest)], "-I", "--replace")
        if name == "xargs"
        else []
    )
    added = (
        [] if name not in _ADDS_WORDS else [UNKNOWN] if _READS_CODE.fullmatch(rest[0]) else _given(command)
    )
    for mark in filter(None, marks):
        rest, added = [word.replace(mark, " ".join(added)) for word in rest], []
    yield replace(
        command, argv=(*rest, *added), through=(*command.through, name), assignments=tuple(assigned)
    )


def _module(command: Simple) -> Iterator[Simple]:
    """The program that `python -m` runs, by its own name."""
    words = command.argv[1:]
    at = next(
        (position for position, word in enumerate(words) if word == "-m" or not word.startswith("-")),
        len(words),
    )
    if words[at : at + 1] == ("-m",) and len(words) > at + 1:
        yield replace(
            command,
            argv=(words[at + 1].removesuffix("cli") or "cli", *words[at + 2 :]),
            through=(*command.through, "python"),
        )


def _given(command: Simple) -> list[str]:
    """The words that xargs reads, where they are known, or where they lie."""
    if has_option(command.argv[1:2], "-a", "--arg-file"):
        return [] if "/dev/null" in command.argv[1:3] else [UNKNOWN]
    if command.reads:
        return [UNKNOWN]
    if command.input is not None:
        return command.input.split()
    folders = listed_folders(command.sources[-1]) if command.sources else []
    return [f"{folder.rstrip('/')}/{UNKNOWN}" for folder in folders] or [UNKNOWN]


def _environment(command: Simple, script: ShellScript) -> Iterator[Simple]:
    """The program behind `env`, its assignments taken over."""
    words = tuple(word for word in command.argv[1:2] if word != "-") + command.argv[2:]
    rest = after_options(words, frozenset({"-u", "--unset", "-C", "--chdir"}))
    own = words[: len(words) - len(rest)]  # what stands behind the program is the program's
    for position, given in enumerate(map(_SPLITS.fullmatch, own)):
        if given is None:
            continue
        joined, after = given[1] or given[2], words[position + 1 :]
        first, more = (joined, after) if joined else ("".join(after[:1]), after[1:])
        yield from _parsed(command, " ".join(["env", first, *_quote(more)]), script, "env")
        return
    assignments = []
    while rest and re.match(r"\w+=", rest[0]):
        name, _, text = rest[0].partition("=")
        assignments.append((name, text))
        rest = rest[1:]
    if rest or assignments:
        yield replace(
            command, argv=tuple(rest), assignments=tuple(assignments), through=(*command.through, "env")
        )


def _executed(command: Simple) -> Iterator[Simple]:
    """The programs that find would run on what it finds."""
    words = command.argv
    found = found_paths(words) if command.program == "find" else [UNKNOWN]
    for position, word in enumerate(words):
        if word not in {"-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"}:
            continue
        rest = list(words[position + 1 :])
        end = next((at for at, one in enumerate(rest) if one in {";", "+"}), len(rest))
        argv: list[str] = []
        given = [UNKNOWN] if rest and _READS_CODE.fullmatch(rest[0]) else found
        for one in rest[:end]:
            argv += given if one == "{}" else [UNKNOWN if "{" in one else one]
        has_place = any("{" in one for one in rest[:end])
        yield replace(
            command,
            argv=tuple(argv if has_place else [*argv, UNKNOWN]),
            through=(*command.through, "find"),
            sources=(),
        )
