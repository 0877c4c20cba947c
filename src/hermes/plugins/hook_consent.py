"""Which commands of `hooks` a person has said yes to: each by a hash of its words and of the files that they
name, so that another script under the same name is asked about again.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.environments.named_files import paths_named
from hermes.lib.files import make_private, write_atomic
from hermes.lib.small_files import read_small
from hermes.plugins.settings import ShellHook
from hermes.types.error import ConfigError

FILE: Final = "shell-hooks-allowlist.json"
_HOME: Final = re.compile(r"(?<![\w/~.-])~(?=/)|\$HOME\b|\$\{HOME\}")
_WRITTEN: Final = re.compile(r">[>|]?\s*[^\s'\"();|&<>`]+")
_LARGEST: Final = 268_435_456
"""Bytes of a program that a command names."""


class AcceptedHook(Struct, frozen=True, kw_only=True):
    """A command that was accepted, with its files by hash, for people to read."""

    event: str
    command: str
    files: dict[str, str] = {}


class HookConsent:
    """The accepted commands of a home, by their hashes."""

    def __init__(self, root: Path) -> None:
        self._file = root / FILE

    def every(self) -> dict[str, AcceptedHook]:
        """All of them; ConfigError where the file cannot be read."""
        try:
            return msgspec.json.decode(read_small(self._file), type=dict[str, AcceptedHook])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{self._file} cannot be read ({error}); mend it, or remove it.") from error

    def covers(self, event: str, hook: ShellHook) -> bool:
        """Whether this very command was accepted, with its files as they are now."""
        return hook_digest(event, hook) in self.every()

    def news(self, event: str, hook: ShellHook) -> str:
        """What a person is told of a command without a yes: that it is new, or what was changed."""
        now = named_contents(hook).items()
        same = [one for one in self.every().values() if (one.event, one.command) == (event, hook.command)]
        if not same:
            return "It is new."
        changed = min(({Path(path).name for path, _ in now ^ one.files.items()} for one in same), key=len)
        names = ", ".join(sorted(changed)) or "its matcher, or who reads it,"
        return f"Since your yes {names} was changed."

    def accept(self, event: str, hook: ShellHook) -> None:
        """Keep a yes."""
        accepted = AcceptedHook(event=event, command=hook.command, files=named_contents(hook))
        self._write(self.every() | {hook_digest(event, hook): accepted})

    def revoke(self, command: str) -> int:
        """Take back every yes to a command, or to all of them where it is empty; how many there were."""
        every = self.every()
        kept = {key: one for key, one in every.items() if command and one.command != command}
        self._write(kept)
        return len(every) - len(kept)

    def _write(self, every: dict[str, AcceptedHook]) -> None:
        make_private(self._file.parent)
        write_atomic(self._file, msgspec.json.format(msgspec.json.encode(every, order="sorted")) + b"\n")


def hook_digest(event: str, hook: ShellHook) -> str:
    """What names a command at a hook point, with the content of the files that its words name."""
    files = [*named_contents(hook).items()]
    text = json.dumps([event, hook.command, hook.shell, hook.matcher, files])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def named_contents(hook: ShellHook) -> dict[str, str]:
    """The files that a command names, each with a hash of what it holds."""
    return {str(path): hashlib.sha256(_content(path)).hexdigest() for path in files_named(hook)}


def files_named(hook: ShellHook) -> Iterator[Path]:
    """The files that a command names, inside the texts of programs that it quotes, below folders and by
    patterns, too. What it only writes or adds to is none.
    """
    text = _HOME.sub(lambda _: str(Path.home()), _WRITTEN.sub(" ", hook.command))
    words = (part for word in words_of(text) for part in (word, *word.split()))
    for path in paths_named(text, str(Path.cwd()), [str(Path(one).absolute()) for one in words]):
        with suppress(OSError, ValueError):
            if Path(path).is_file():
                yield Path(path)


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
