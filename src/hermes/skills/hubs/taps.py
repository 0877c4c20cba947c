"""Taps: the repositories that are searched because the user added them."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from hermes.lib.files import write_atomic
from hermes.lib.small_files import OddFile, read_small
from hermes.skills.lock import lock
from hermes.skills.sources import is_repository
from hermes.types.error import SkillError

DEFAULT: Final = ("openai/skills", "anthropics/skills")
"""Those of a home whose user has changed none."""


class Taps:
    """The taps of a home, by its folder of skills."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / ".hub" / "taps.json"

    def every(self) -> list[str]:
        """All of them, in the order in which they were added; SkillError where the file is damaged."""
        with suppress(FileNotFoundError):
            try:
                return msgspec.json.decode(read_small(self._file), type=list[str])
            except (OddFile, msgspec.DecodeError, msgspec.ValidationError) as error:
                raise SkillError(f"{self._file} cannot be read: {error}. Move it away.") from error
        return list(DEFAULT)

    def add(self, words: str) -> None:
        """Search a repository too, `owner/repository` or an address; SkillError where that is none,
        or a tap already.
        """
        if not is_repository(words):
            raise SkillError(f"{words[:200]!r} is no repository: name owner/repository, or an https address.")
        with lock(self._folder):
            known = self.every()
            if words in known:
                raise SkillError(f"{words} is a tap already.")
            self._write([*known, words])

    def remove(self, words: str) -> None:
        """Search a repository no longer; SkillError where it is no tap."""
        with lock(self._folder):
            known = self.every()
            if words not in known:
                raise SkillError(f"{words[:200]!r} is no tap; hermes skills tap list has them.")
            self._write([one for one in known if one != words])

    def _write(self, every: list[str]) -> None:
        write_atomic(self._file, msgspec.json.format(msgspec.json.encode(every)) + b"\n")
