"""Texts as `agent.lock` has them."""

import json
from pathlib import Path
from typing import Any

import msgspec

from hermes.apps.cli.agent_lock import LockedItem, locked_text
from hermes.runtime import Runtime


class PortableWords:
    """Texts as they are locked: without credentials, and the same on every machine and in every folder."""

    def __init__(self, runtime: Runtime) -> None:
        self._redact = runtime.services.redactor.redact
        root, user = str(runtime.home.root), runtime.environ.get("HOME") or str(Path.home())
        self._places = {root: "<home of Hermes>", str(Path.cwd()): "<folder>", user: "~"}

    def item(self, text: str, *, by: str = "") -> LockedItem:
        """A text as an item of the lock."""
        return locked_text(self.portable(text), by=by)

    def portable(self, text: str) -> str:
        """A text without credentials and places."""
        for place, name in self._places.items():
            text = text.replace(place, name)
        return self._redact(text)


def written(value: Any) -> str:
    """A value as lines of JSON, which show what differs."""
    return json.dumps(msgspec.to_builtins(value), indent=1, sort_keys=True, ensure_ascii=False)
