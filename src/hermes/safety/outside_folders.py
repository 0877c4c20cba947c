"""The folders at home whose files other people wrote, and which of them a command names."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from hermes.safety.commands.paths import is_within

NAMES: Final = ("Downloads", "Mail", "Maildir")


class OutsideFolder(Struct, frozen=True):
    """One such folder: its absolute path at home, and where that leads."""

    path: str
    real: str

    def holds(self, path: str) -> bool:
        """Whether an absolute path is this folder, or lies in it."""
        return is_within(path, self.path) or is_within(path, self.real)

    def is_named_by(self, text: str, paths: Iterable[str]) -> bool:
        """Whether a command does that: one of the absolute paths that it has lies there, or its text, code
        for other programs included, has the folder as a literal: `~/Downloads`, `home / "Downloads"`.
        """
        name = self.path.rpartition("/")[2]
        if (name in text or self.real in text) and self._literal().search(text):
            return True
        return any(map(self.holds, paths))

    def _literal(self) -> re.Pattern[str]:
        home, _, name = (re.escape(one) for one in self.path.rpartition("/"))
        whole = "|".join(map(re.escape, dict.fromkeys((self.path, self.real))))
        above = rf"(?:~\w*|\$\{{?HOME\}}?|{home}|\.\.|[}})])/"
        quoted = rf"[\"'`]/?{name}(?=[\"'`/])"
        return re.compile(rf"(?:{whole}|{above}{name})(?![\w.-])|{quoted}")
