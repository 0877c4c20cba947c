"""Results that are too long for the model: kept whole on disk, shown as head and tail with a path to page
through.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hermes.lib.files import write_atomic
from hermes.lib.text import clip
from hermes.tools.registry import tool_result


class Results(Struct, frozen=True, kw_only=True):
    """Where whole results are kept; `name()` gives a fresh file name, `redact` takes out what must not be
    kept.
    """

    folder: Path
    name: Callable[[], str]
    redact: Callable[[str], str] = str

    def fit(self, text: str, limit: int) -> tuple[str, str]:
        """What the model gets, at most about `limit` characters, and the path of the whole; empty when
        nothing was cut, or the whole could not be kept.
        """
        if len(text) <= limit:
            return text, ""
        text = self.redact(text)
        path = self.folder / f"{self.name()}.txt"
        shown, length = clip(text, max(200, limit - 400)), f"The result has {len(text)} characters; this is"
        try:
            write_atomic(path, text.encode("utf-8", "replace"), mode=0o600)
        except OSError as error:
            hint = (
                f"{length} its head and tail. The whole of it could not be kept: {error.strerror or error}."
            )
            return tool_result(result=shown, size=len(text), hint=hint), ""
        hint = f"{length} its head and tail. read_file pages through the whole of it."
        return tool_result(result=shown, size=len(text), path=str(path), hint=hint), str(path)
