"""What one part of a command line makes and another part uses: links, copies of programs, scripts,
downloads.
"""

import json
import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from typing import Final

from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.exfiltration import DOWNLOADERS
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.options import CLONE_VALUES, has_option, operands, option_values
from hermes.safety.commands.paths import absolute, is_within
from hermes.safety.commands.script import Simple

INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|perl|ruby|php|node|nodejs|deno|bun|lua|osascript|rscript|julia|tclsh)[\d.]*|source|\.|iex|cmd"
)
_BUILDERS: Final = re.compile(
    r"g?make|ninja|meson|cmake|npm|pnpm|yarn|bun|npx|pip3?|pipx|poetry|pdm|uv|hatch|tox|nox|pytest|cargo|go|mvnw?|gradlew?|ant|sbt|bazel|just|task|rake"
    r"|bundle|composer|mix|dotnet|swift|stack|cabal|zig|scons|setup\.py|java|docker|docker-compose|podman|vagrant|ansible-playbook|terraform|conda|rebar3|dune"
)
_PROGRAM_FOLDERS: Final = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[\w.+-]+")
_CLONERS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "git": (("clone",), ("submodule", "add")),
    "gh": (("repo", "clone"),),
    "glab": (("repo", "clone"),),
    "hub": (("clone",),),
    "hg": (("clone",),),
    "svn": (("checkout",), ("co",), ("export",)),
    "jj": (("git", "clone"),),
    "degit": ((),),
    "tiged": ((),),
}
_COPIERS: Final = frozenset({"scp", "sftp", "rsync", "rclone", "aws", "gsutil", "s3cmd", "mc"})
_UNPACKERS: Final = frozenset({"tar", "gtar", "bsdtar", "unzip", "7z", "cpio", "gunzip", "patch", "git"})
_PATCHERS: Final = frozenset({"git", "patch"})
_LINK_ITSELF: Final = frozenset({"rm", "unlink", "ln", "readlink", "ls", "cp", "test", "[", "stat"})
_INLINE: Final[Mapping[str, str]] = {
    "perl": "-e",
    "ruby": "-e",
    "node": "-e",
    "nodejs": "-e",
    "php": "-r",
    "lua": "-e",
}
_ENDINGS: Final[Mapping[str, str]] = {
    "py": "python3",
    "js": "node",
    "pl": "perl",
    "rb": "ruby",
    "php": "php",
    "lua": "lua",
}


def rerouted(commands: Sequence[Simple]) -> Iterator[Simple]:
    """Commands once more, with what links and copies of programs stand for in place of the names they
    make.
    """
    links = {name: target for command in commands for name, target in _links(command) if name != target}
    moved = {name for command in commands if command.program == "mv" for name, _ in _links(command)}
    for command in commands if links else ():
        other = _renamed(command, links, moved)
        if (other.argv, other.cwd, other.writes, other.reads) != (
            command.argv,
            command.cwd,
            command.writes,
            command.reads,
        ):
            yield other


def runs_fetched(commands: Sequence[Simple]) -> bool:
    """Whether something runs that the line itself brings from elsewhere."""
    places = {place for command in commands for place in _fetched(command)}
    filled = [command for command in commands if _unpacks(command, places)]
    roots = {command.cwd for command in filled}
    places |= {command.cwd for command in filled if command.program in _PATCHERS}
    return any(_is_run(command, places, roots) for command in commands)


def written_scripts(commands: Sequence[Simple]) -> Iterator[tuple[Simple, str | None]]:
    """Pairs of a command and the shell text that it runs from a file which the line writes; None where that
    is not known.
    """
    texts = {path: text for command in commands for path, text in _texts(command)}
    for command in commands:
        for path in _runs(command):
            if path in texts:
                yield command, _as_shell(command, path, texts[path])
            elif path == "-":
                yield command, _as_shell(command, path, command.input)


def _links(command: Simple) -> Iterator[tuple[str, str]]:
    """Pairs of a name that a command makes, and what it stands for."""
    if command.program not in {"ln", "cp", "install", "link", "mv"}:
        return
    given = operands(
        command.argv[1:], {"-S", "--suffix", "-m", "--mode", "-o", "-g", "-t", "--target-directory"}
    )
    folders = option_values(command.argv[1:], "-t", "--target-directory")
    if command.program == "ln" and len(given) == 1 and not folders:
        given.append(".")
    *sources, last = [*given, *folders] or [""]
    symbolic = command.program == "ln" and has_option(command.argv[1:], "-s", "--symbolic")
    name = absolute(last, command.cwd)
    for source in sources:
        start = posixpath.dirname(name) if symbolic and UNKNOWN not in name else command.cwd
        target = absolute(source, start)
        if UNKNOWN not in name and (
            command.program in {"ln", "link", "mv"} or _PROGRAM_FOLDERS.fullmatch(target) or target == UNKNOWN
        ):
            yield name, target
            yield f"{name}/{posixpath.basename(target)}", target


def _renamed(command: Simple, links: Mapping[str, str], moved: Collection[str]) -> Simple:
    kept = links.keys() - moved if command.program in _LINK_ITSELF else frozenset()
    first = tuple(_led(word, command.cwd, links) if "/" in word else word for word in command.argv[:1])
    rest = tuple(
        word if absolute(word, command.cwd) in kept else _led(word, command.cwd, links)
        for word in command.argv[1:]
    )
    return replace(
        command,
        argv=first + rest,
        cwd=_led(command.cwd, "/", links),
        writes=tuple(_led(path, command.cwd, links) for path in command.writes),
        reads=tuple(_led(path, command.cwd, links) for path in command.reads),
    )


def _led(word: str, cwd: str, links: Mapping[str, str]) -> str:
    """Where a path leads; the word as it is when it goes through no link."""
    option, equals, path = word.rpartition("=") if re.match(r"-*\w[\w-]*=", word) else ("", "", word)
    if not path or path.startswith("-") or "://" in path:
        return word
    full = absolute(path, cwd)
    for name, target in links.items():
        if is_within(full, name):
            return f"{option}{equals}{target}{full[len(name) :]}"
    return word


def _fetched(command: Simple) -> Iterator[str]:
    """The places that a command fills from elsewhere."""
    if command.program in DOWNLOADERS:
        names = option_values(command.argv[1:], "-o", "--output", "-O", "--output-document", "-d", "--dir")
        last = [word.rstrip("/").rpartition("/")[2] for word in command.argv[1:] if "://" in word]
        yield from (
            absolute(path, command.cwd) for path in (*names, *command.writes, *last) if path and path != "-"
        )
    elif command.program in _COPIERS:
        *sources, target = operands(command.argv[1:]) or [""]
        for source in sources:
            if re.match(r"(?:[\w.-]+@)?[\w.-]+:", source):
                yield absolute(target, command.cwd)
                yield absolute(
                    posixpath.join(target, posixpath.basename(source.rpartition(":")[2])), command.cwd
                )
    for words in _CLONERS.get(command.program, ()):
        given = operands(command.argv[1:], CLONE_VALUES | {"-C", "-R", "--repo"})
        if (
            command.program == "git"
            and given[:1] in (["fetch"], ["pull"])
            and any("://" in word for word in given[1:])
        ):
            yield command.cwd
        if tuple(given[: len(words)]) == words:
            yield from _cloned(command, given[len(words) :])


def _cloned(command: Simple, given: Sequence[str]) -> Iterator[str]:
    source = given[0] if given else ""
    is_remote = command.program != "git" or re.search(r"^(?!file:)\w+://|@|^[\w.-]+:|\0", source)
    if source and is_remote:
        name = (
            given[1]
            if len(given) > 1 and given[1] != UNKNOWN
            else re.sub(r"\.git$|#.*", "", re.split(r"[/:]", source.rstrip("/"))[-1])
        )
        yield absolute(name, command.cwd)


def _unpacks(command: Simple, places: set[str]) -> bool:
    """Whether a command fills its folder from what was downloaded."""
    if command.program not in _UNPACKERS or (
        command.program == "git" and command.argv[1:2] not in {("apply",), ("am",)}
    ):
        return False
    return any(up.program in DOWNLOADERS for up in upstream(command)) or any(
        absolute(word, command.cwd) in places for word in command.argv[1:]
    )


def _is_run(command: Simple, places: set[str], roots: set[str]) -> bool:
    ran = run_by(command)
    if any(word.startswith(("http://", "https://")) for word in ran):
        return True
    if any(
        _is_below(absolute(word, command.cwd), places)
        for word in ran
        if "/" in word or command.argv[:1] != (word,)
    ):
        return True
    if roots and any("/" in word and not word.startswith("/") for word in ran):
        return True
    if any(path in places for path in _runs(command)):
        return True
    acts = bool(_BUILDERS.fullmatch(command.program)) or any(
        "/" in word and not _PROGRAM_FOLDERS.fullmatch(word) for word in command.argv[:1]
    )
    acts = acts or (bool(ran) and command.argv[:1] != tuple(ran))
    if acts and (
        _is_below(command.cwd, places)
        or any(is_within(command.cwd, root) and command.cwd != root for root in roots)
    ):
        return True
    return bool(_BUILDERS.fullmatch(command.program)) and any(
        _is_below(_operand(word, command.cwd), places) for word in command.argv[1:]
    )


def _operand(word: str, cwd: str) -> str:
    return absolute(word.rpartition("=")[2], cwd) if not word.startswith("-") or "=" in word else ""


def _is_below(path: str, places: set[str]) -> bool:
    return path in places if UNKNOWN in path else any(is_within(path, place) for place in places)


def run_by(command: Simple) -> Sequence[str]:
    """The words that name what a command runs."""
    if command.program == "deno":
        return operands(command.argv[1:])[1:2]
    if command.program in SHELLS or INTERPRETERS.fullmatch(command.program):
        return operands(command.argv[1:], {"-o", "-O", "-c", "-e", "-m", "-W", "-X"})[:1]
    return command.argv[:1]


def upstream(command: Simple) -> Iterator[Simple]:
    """The commands whose output a command reads, near ones first."""
    for source in command.sources:
        yield source
        yield from upstream(source)


def _texts(command: Simple) -> Iterator[tuple[str, str | None]]:
    """Pairs of a file that a command writes, and its text."""
    paths = list(command.writes)
    if command.program == "tee":
        paths += operands(command.argv[1:])
    if not paths or command.program in DOWNLOADERS:
        return
    text = command.output if command.program != "tee" else command.input
    yield from ((absolute(path, command.cwd), text) for path in paths)


def _runs(command: Simple) -> Iterator[str]:
    """The files that a command runs, as far as a line may have written them."""
    names = [word for word in run_by(command) if "/" in word or command.argv[:1] != (word,)]
    if command.program in {"make", "gmake"}:
        names += option_values(command.argv[1:], "-f", "--file", "--makefile") or [
            "Makefile",
            "makefile",
            "GNUmakefile",
        ]
    elif command.program in {"npm", "pnpm", "yarn", "bun"}:
        names.append("package.json")
    yield from (name if name == "-" else absolute(name, command.cwd) for name in names)


def _as_shell(command: Simple, path: str, text: str | None) -> str | None:
    """The shell text that running a file means."""
    if text is None:
        return None
    if command.program in {"make", "gmake"}:
        return "\n".join(line.lstrip("\t@-+ ") for line in text.split("\n") if line.startswith("\t"))
    if path.endswith("/package.json"):
        return _package_scripts(text)
    shebang = re.match(r"#!\S*/(?:env )?(\w+)", text)
    name = re.sub(r"[\d.]+$", "", command.program)
    if command.program in SHELLS or command.program in {".", "source"}:
        return text
    if name in {"python", "pypy"} or (shebang and shebang[1].startswith("python")) or path.endswith(".py"):
        return f"python3 -c {shlex.quote(text)}"
    language = (
        name if name in _INLINE else shebang[1] if shebang else _ENDINGS.get(path.rpartition(".")[2], "")
    )
    return f"{language} {_INLINE[language]} {shlex.quote(text)}" if language in _INLINE else text


def _package_scripts(text: str) -> str | None:
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError):
        return None
    return "\n".join(str(line) for line in scripts.values())
