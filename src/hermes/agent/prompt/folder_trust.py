"""In which folders the notes of a project count: a person is asked once for each, and answers are kept."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.agent.prompt.context_files import NAMES, notes_of, repository_top
from hermes.lib.files import make_private, write_atomic
from hermes.lib.lazy import import_object
from hermes.lib.small_files import read_small
from hermes.types.error import ConfigError

_LOOKED_AT: Final = 20_000
"""Files and folders below a top that are looked at for notes, some 50 ms."""
_NAMED: Final = 3


class NotesInQuestion(Struct, frozen=True, kw_only=True):
    """Notes that nobody was asked about yet: those of a folder, by the paths of their files."""

    folder: Path
    files: tuple[Path, ...]


class FolderTrust(Struct, frozen=True, kw_only=True):
    """The answers, by the real path of a repository's top, in `file`; `rule` is `context_files.trust`.

    What lies in the user's home folder itself is the user's own.
    """

    file: Path
    rule: Literal["ask", "all", "known"]
    user_home: Path

    def counts(self, cwd: Path) -> bool:
        """Whether the notes of a project count for work in a folder."""
        top = self.top(cwd)
        answer = self._answers().get(str(top))
        return (self.rule != "known" or self._is_own(top)) if answer is None else answer

    def is_trusted(self, cwd: Path) -> bool:
        """Whether a person said yes to a folder, or it is the user's own: what may run its code asks that."""
        top = self.top(cwd)
        return self._is_own(top) or self._answers().get(str(top)) is True

    def is_refused(self, folder: Path) -> bool:
        """Whether a person said no to the notes of the repository that a folder is in."""
        return self._answers().get(str(self.top(folder))) is False

    def in_question(self, cwd: Path) -> NotesInQuestion | None:
        """The notes to ask about before work in a folder begins, where somebody can be asked."""
        top = self.top(cwd)
        if self.rule == "all" or self._is_own(top) or str(top) in self._answers():
            return None
        files = tuple(notes_of(cwd)) or tuple(islice(_below(top), _NAMED))
        return NotesInQuestion(folder=top, files=files) if files else None

    def has_notes(self, cwd: Path) -> bool:
        """Whether there are notes for work in a folder."""
        return any(notes_of(cwd))

    def keep(self, cwd: Path, *, counts: bool) -> None:
        """Keep an answer."""
        make_private(self.file.parent)
        lock = import_object("filelock:FileLock")  # answers are rare
        with lock(self.file.with_name(f".{self.file.name}.lock"), timeout=10):
            found = self._answers() | {str(self.top(cwd)): counts}
            write_atomic(self.file, json.dumps(found, indent=1, sort_keys=True).encode(), mode=0o600)

    def top(self, cwd: Path) -> Path:
        """The folder that an answer is for."""
        return repository_top(cwd.resolve())

    def _is_own(self, top: Path) -> bool:
        return top == self.user_home.resolve()

    def _answers(self) -> dict[str, bool]:
        try:
            found = json.loads(read_small(self.file))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{self.file} cannot be read ({error}); mend it, or remove it.") from error
        if not isinstance(found, dict):
            raise ConfigError(f"{self.file} holds no answers; mend it, or remove it.")
        return {str(name): answer is True for name, answer in found.items()}


def _below(top: Path) -> Iterator[Path]:
    """Notes in the folders below a top, which a model is told of when it works there."""
    seen = 0
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(folder, name) for name in files if name in NAMES)
        seen += len(folders) + len(files)
        if seen > _LOOKED_AT:
            return
