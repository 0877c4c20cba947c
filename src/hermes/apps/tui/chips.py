"""Long pastes as one short chip in the input line."""

from collections.abc import Iterator

_LINES = 5
_CHARACTERS = 500


class Chips:
    """The pastes of one draft: text by its chip."""

    def __init__(self) -> None:
        self._pastes: dict[str, str] = {}

    def shorten(self, text: str) -> str:
        """What to insert for a paste: itself when it is short, a chip such as `[paste 1: 200 lines]` when it
        is long.
        """
        lines = text.count("\n") + 1
        if lines <= _LINES and len(text) <= _CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        chip = f"[paste {len(self._pastes) + 1}: {size}]"
        self._pastes[chip] = text
        return chip

    def chip_of(self, text: str) -> str:
        """The chip that already stands for `text`, or empty."""
        return next((chip for chip, paste in self._pastes.items() if paste == text), "")

    def expand(self, draft: str) -> str:
        """The draft as it will be sent, every chip replaced by its text."""
        for chip, text in self._pastes.items():
            draft = draft.replace(chip, text)
        return draft

    def ending(self, draft: str) -> str:
        """The chip that `draft` ends with, or empty."""
        return next((chip for chip in self._pastes if draft.endswith(chip)), "")

    def parts(self, row: str) -> Iterator[tuple[str, bool]]:
        """The row in pieces, each with whether it is a chip."""
        while row:
            start, chip = min(
                ((row.find(chip), chip) for chip in self._pastes if chip in row), default=(len(row), "")
            )
            if start:
                yield row[:start], False
            if chip:
                yield chip, True
            row = row[start + len(chip) :]

    def clear(self) -> None:
        """Forget all pastes."""
        self._pastes.clear()


def pasted(data: str) -> str:
    """Pasted text with plain newlines and without the ones at its end, which must never send it."""
    return data.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
