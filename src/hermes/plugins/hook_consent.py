"""Which commands of `hooks` a person has said yes to: each by a hash of its words and of the files that they
name, so that another script under the same name is asked about again.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import has_magic
from pathlib import Path
from typing import Final

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct

from hermes.environments.named_files import paths_named
from hermes.environments.worktree_records import WorktreeRecords
from hermes.lib.files import make_private, write_atomic
from hermes.lib.small_files import read_small
from hermes.plugins.hook_data import data_of
from hermes.plugins.settings import ShellHook
from hermes.types.error import ConfigError

FILE: Final = "shell-hooks-allowlist.json"
_WAIT: Final = 10
_HOME: Final = re.compile(r"(?<![\w/~.-])~(?=/)|\$HOME\b|\$\{HOME\}")
_WRITTEN: Final = re.compile(r">[>|]?\s*[^\s'\"();|&<>`]+")
_PROJECT: Final = re.compile(r"\$CLAUDE_PROJECT_DIR\b|\$\{CLAUDE_PROJECT_DIR[^}]*\}")
_LOOSE: Final = re.compile(r"[^\s'\"();|&<>`={}]+")
_BEHIND: Final = re.compile(r"(?:\$\w+|\$\{[^{}]*\}|[)`])['\"]*/+([^\s'\"();|&<>`={}$]+)")
_BRACES: Final = re.compile(r"(?<!\$)\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_QUOTED: Final = re.compile(r"['\"\s]")
_LOADED: Final = ("{}", "{}.js", "{}.mjs", "{}.cjs", "{}/__main__.py")
"""What a program may load where it is given a path: a file, one without its ending, that of a folder."""
_ENDS: Final = ";&|()"
_FOLDERS: Final = 32
_NAMES: Final = 200
_LARGEST: Final = 268_435_456
"""Bytes of a program that a command names."""


class AcceptedHook(Struct, frozen=True, kw_only=True):
    """A command that was accepted, with its files by hash, for people to read; `project` is the folder that
    the yes is for, "" where it is for none. A worktree for sessions counts as the repository that it was made
    for: what differs there are files.
    """

    event: str
    command: str
    files: dict[str, str] = {}
    project: str = ""


class HookConsent:
    """The accepted commands of a home, by their hashes."""

    def __init__(self, root: Path) -> None:
        self._file = root / FILE
        self._worktrees = WorktreeRecords(root)

    def every(self) -> dict[str, AcceptedHook]:
        """All of them; ConfigError where the file cannot be read."""
        try:
            return msgspec.json.decode(read_small(self._file), type=dict[str, AcceptedHook])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{self._file} cannot be read ({error}); mend it, or remove it.") from error

    def covers(self, event: str, hook: ShellHook, project: Path | None = None) -> bool:
        """Whether this very command was accepted, with its files as they are now."""
        return _digest(self._as_now(event, hook, project), hook) in self.every()

    def has_changed(self, event: str, hook: ShellHook, project: Path | None = None) -> bool:
        """Whether a command was accepted as it is no longer."""
        wanted = (event, hook.command, self._place(project))
        known = any((one.event, one.command, one.project) == wanted for one in self.every().values())
        return known and not self.covers(event, hook, project)

    def news(self, event: str, hook: ShellHook, project: Path | None = None) -> str:
        """What a person is told of a command without a yes: that it is new, or what was changed."""
        now = self._as_now(event, hook, project)
        same = [one for one in self.every().values() if (one.event, one.command) == (event, hook.command)]
        if not same:
            return "It is new."
        here = [one for one in same if one.project == now.project]
        if not here:
            return "Your yes was for another project."
        differs = (now.files.items() ^ one.files.items() for one in here)
        changed = min(({Path(path).name for path, _ in some} for some in differs), key=len)
        names = ", ".join(sorted(changed)) or "its matcher, or who reads it,"
        return f"Since your yes {names} was changed."

    def accept(self, event: str, hook: ShellHook, project: Path | None = None) -> None:
        """Keep a yes."""
        now = self._as_now(event, hook, project)
        with self._alone():
            self._write(self.every() | {_digest(now, hook): now})

    def revoke(self, command: str) -> int:
        """Take back every yes to a command, or to all of them where it is empty; how many there were."""
        with self._alone():
            every = self.every()
            kept = {key: one for key, one in every.items() if command and one.command != command}
            self._write(kept)
        return len(every) - len(kept)

    def _as_now(self, event: str, hook: ShellHook, project: Path | None) -> AcceptedHook:
        """A command as it would be accepted."""
        place, found = self._place(project), named_contents(hook, project)
        files = {_name_for(place, project, Path(path)): content for path, content in found.items()}
        return AcceptedHook(event=event, command=hook.command, files=files, project=place)

    def _place(self, project: Path | None) -> str:
        """The folder that a yes in a project is for."""
        worktree = self._worktrees.around(project) if project is not None else None
        return str(worktree.main.resolve() if worktree is not None else project or "")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only process that changes what was accepted."""
        make_private(self._file.parent)
        try:
            with FileLock(f"{self._file}.lock", timeout=_WAIT):
                yield
        except Timeout as error:
            raise ConfigError(f"Another process has held {self._file} for {_WAIT} seconds.") from error

    def _write(self, every: dict[str, AcceptedHook]) -> None:
        words = msgspec.json.format(msgspec.json.encode(every, order="sorted")) + b"\n"
        write_atomic(self._file, words, mode=0o600)


def _name_for(place: str, project: Path | None, file: Path) -> str:
    """What a file of a project is called in the folder that a yes is for."""
    if project is None or not file.is_relative_to(project):
        return str(file)
    return str(Path(place) / file.relative_to(project))


def _digest(one: AcceptedHook, hook: ShellHook) -> str:
    """What names a command at a hook point, with the content of the files that its words name, and the
    project in whose folder it is run: there the same words may run something else.
    """
    place = [one.project] if one.project else []
    text = json.dumps([one.event, hook.command, hook.shell, hook.matcher, [*one.files.items()], *place])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def named_contents(hook: ShellHook, project: Path | None = None) -> dict[str, str]:
    """The files that a command names, each with a hash of what it holds."""
    return {str(path): hashlib.sha256(_content(path)).hexdigest() for path in files_named(hook, project)}


def bound_files(hook: ShellHook, project: Path | None = None) -> list[str]:
    """What people call the files that a command names: those of its project by their path there."""
    every = (path.resolve() for path in files_named(hook, project))
    top = project.resolve() if project else Path.home()
    shown = (one.relative_to(top) if project and one.is_relative_to(top) else one for one in every)
    return list(dict.fromkeys(map(str, shown)))


def files_named(hook: ShellHook, project: Path | None = None) -> Iterator[Path]:
    """The files that a command names, inside the texts of programs that it quotes, below folders and by
    patterns, too; in a `project` also by its variable. What is data of it is none.
    """
    variables = {"CLAUDE_PROJECT_DIR": str(project)} if project else {}
    data = data_of(hook.command, project or Path.cwd(), variables)
    text = _HOME.sub(lambda _: str(Path.home()), _WRITTEN.sub(" ", hook.command))
    if project is None:
        words = [part for word in words_of(text) for part in (word, *word.split())]
        paths = paths_named(text, str(Path.cwd()), [str(Path(one).absolute()) for one in words])
    else:
        paths = _named_in(project, _BRACES.sub("*", text))
    for path in dict.fromkeys(form.format(path) for path in paths for form in _LOADED):
        with suppress(OSError, ValueError):
            if Path(path).is_file() and os.path.normpath(path) not in data:
                yield Path(path)


def _named_in(project: Path, command: str) -> Iterator[str]:
    """The paths that a command in a project may name; those behind what a shell puts in (`$(pwd)/a`) are
    looked for there, too. Names and patterns without a folder in the text of a program are none: those are of
    files that it looks at, and that the session changes.
    """
    text = _PROJECT.sub(lambda _: str(project), command)
    try:
        words = [*_inner_words(text)]
    except ConfigError:  # a shell may read it all the same
        words = _LOOSE.findall(text)
    parts = [
        *(one for one in _LOOSE.findall(text) if "/" in one),
        *(one for one in words if one.split() == [one]),
        *_BEHIND.findall(command),
    ]
    read = (one for one in (*words, *parts) if "/" in one or not has_magic(one))
    yield from paths_named(" ".join(parts), str(project), [str(project / one) for one in read])
    names = list(dict.fromkeys(one.strip(_ENDS) for one in (*words, *parts)))[:_NAMES]
    yield from (str(folder / one) for folder in _folders(project, names) for one in names)


def _folders(project: Path, words: Sequence[str]) -> list[Path]:
    """The folders that words lead to from the project's, one after another (`cd a && cd b`)."""
    found = [project]
    for folder in found:  # which grows
        for word in words:
            with suppress(OSError, ValueError):
                inside = Path(os.path.normpath(folder / word))
                if len(found) < _FOLDERS and inside not in found and inside.is_dir():
                    found.append(inside)
    return found


def _inner_words(text: str) -> Iterator[str]:
    """The words of a command, and those of the programs that it quotes."""
    for word in words_of(text):
        yield word
        if word != text and _QUOTED.search(word):
            with suppress(ConfigError):
                yield from _inner_words(word)


def words_of(command: str) -> list[str]:
    """A command as a list of arguments; ConfigError where its quotes do not match."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"The command {command[:200]!r} of hooks cannot be read: {error}.") from error


def _content(path: Path) -> bytes:
    try:
        return read_small(path, _LARGEST)
    except OSError as error:
        return str(error).encode()
