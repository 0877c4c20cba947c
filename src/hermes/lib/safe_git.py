"""git in a repository that may be anybody's: no hook, filter or other program that it names is run, nothing
is fetched, and the user's own settings are not read.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from hermes.lib.bounded_process import Bounds, Ended, OverBounds, run_bounded
from hermes.lib.programs import find_program, search_path

_SAFE: Final = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false",
    "-c", "submodule.recurse=false", "-c", "worktree.useRelativePaths=false",
    "-c", "pack.threads=2", "-c", "pack.windowMemory=64m", "-c", "core.bigFileThreshold=64m",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}
_UNSEEN: Final = b"could not open directory"
_BOUNDS: Final = Bounds()
_RUN_BY_FILTERS: Final = ("clean", "smudge", "process")


class GitError(Exception):
    """What git said when it could not do something."""


class SafeGit:
    """git in a folder; GitError when there is none, and for all that fails later.

    `more` is added to its environment; each command is held in `bounds`.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        more: Mapping[str, str] | None = None,
        bounds: Bounds = _BOUNDS,
    ) -> None:
        self._folder, self._bounds = folder, bounds
        program = find_program("git", environ, (folder,))
        if program is None:
            raise GitError("git is not installed")
        self._program = program
        self._environ = {**_ENVIRONMENT, "PATH": search_path(environ, (folder,)), **(more or {})}

    def text(self, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
        """What it prints, without the space around it."""
        return self.run(*arguments, extra=extra).decode("utf-8", "replace").strip()

    def run(self, *arguments: str, data: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
        """What it prints when it reads this; `extra` is added to its environment."""
        return self._done(arguments, data, extra=extra).output

    def look(self, *arguments: str) -> bytes:
        """What it prints; GitError also where it cannot look into a folder, of which it only warns."""
        done = self._done(arguments)
        if _UNSEEN in done.errors:
            raise GitError(f"git {_name(arguments)} cannot look into all folders")
        return done.output

    def write(self, file: Path, *arguments: str, data: bytes = b"") -> None:
        """Write what it prints to a new file."""
        try:
            with file.open("xb") as printed:
                self._done(arguments, data, target=printed)
        except OSError as error:
            raise GitError(f"git {_name(arguments)}: {error}") from error

    def read(self, file: Path, *arguments: str) -> str:
        """What it prints when it reads this file, without the space around it."""
        try:
            with file.open("rb") as given:
                done = self._done(arguments, given)
        except OSError as error:
            raise GitError(f"git {_name(arguments)}: {error}") from error
        return done.output.decode("utf-8", "replace").strip()

    def _done(
        self,
        arguments: Sequence[str],
        given: IO[bytes] | bytes = b"",
        *,
        extra: Mapping[str, str] | None = None,
        target: IO[bytes] | None = None,
    ) -> Ended:
        command = [self._program, "-C", str(self._folder), *_SAFE, *arguments]
        environ = {**self._environ, **(extra or {})}
        try:
            done = run_bounded(command, environ, self._bounds, given=given, target=target)
        except OverBounds as error:
            raise GitError(f"git {_name(arguments)} {error}") from error
        except OSError as error:
            raise GitError(f"git {_name(arguments)}: {error}") from error
        if done.code:
            said = done.errors.decode("utf-8", "replace").strip().splitlines()
            raise GitError(f"git {_name(arguments)}: {said[-1] if said else f'exit code {done.code}'}")
        return done

    def without_filters(self) -> dict[str, str]:
        """The environment in which no filter is run that settings name: files are as they are stored.

        It holds for this folder and the branch that it is on now: settings may depend on both.
        """
        # The name of a filter is bytes, in which all but the end of a line may stand
        names = os.fsdecode(self.run("config", "--list", "--name-only", "-z")).split("\0")
        names = [name for name in names if name.startswith("filter.")]
        drivers = dict.fromkeys(name.rpartition(".")[0] for name in names)
        settings = {f"{driver}.{one}": "" for driver in drivers for one in _RUN_BY_FILTERS}
        settings |= {f"{driver}.required": "false" for driver in drivers}
        numbered = list(enumerate(settings.items()))
        return {
            **({"GIT_CONFIG_COUNT": str(len(numbered))} if numbered else {}),
            **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered},
            **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
        }


def _name(arguments: Sequence[str]) -> str:
    """The command, which settings may stand before."""
    return arguments[2] if arguments[0] == "-c" else arguments[0]
