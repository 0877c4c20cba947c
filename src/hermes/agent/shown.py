"""What a person has seen of a running reply: no text is shown twice, whatever number of requests the reply takes (invariant 21)."""

from collections.abc import Callable


class Shown:
    """Passes text on as it comes. After a failed request the next one begins anew: what it repeats is not shown again.

    When it says something else, `restart` gets the text that is void, and the new text is shown from its beginning.
    """

    def __init__(self, show: Callable[[str], None], restart: Callable[[str], None]) -> None:
        self._show, self._restart = show, restart
        self._seen: list[str] = []
        self._repeated: str | None = None

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "".join(self._seen)

    def add(self, text: str) -> None:
        """More of the reply."""
        if self._repeated is None:
            self._seen.append(text)
            self._show(text)
            return
        self._repeated += text
        seen = self.text
        if not seen.startswith(self._repeated):
            self._catch_up(seen, self._repeated)

    def again(self) -> None:
        """The request failed; what comes now is another one's reply."""
        if self._seen or self._repeated is not None:
            self._repeated = ""

    def finish(self, text: str) -> None:
        """The reply is whole, and this is its text: what was held back is shown now."""
        seen = self.text
        if text != seen:
            self._catch_up(seen, text)
        self._seen.clear()
        self._repeated = None

    def _catch_up(self, seen: str, text: str) -> None:
        self._repeated = None
        self._seen = [text]
        if text.startswith(seen):
            self._show(text[len(seen) :])
            return
        if seen:
            self._restart(seen)
        if text:
            self._show(text)
