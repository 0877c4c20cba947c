"""Phrases that a user holds for orders: regular expressions of the settings, whose matches are found as forms
are.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hermes.safety.text.spans import TextSpan

WHY: Final = "a phrase of context_files.phrases stands in it"


def phrases_in(text: str, phrases: Iterable[str]) -> Iterator[TextSpan]:
    """The stretches of a text that match one of the expressions, whatever the case of their letters."""
    for phrase in phrases:
        for found in re.finditer(phrase, text, re.IGNORECASE):
            if found[0]:
                yield TextSpan(start=found.start(), end=found.end(), kind="phrase", rule=phrase, why=WHY)


def check_phrases(name: str, phrases: Iterable[str]) -> None:
    """ValueError, which begins with the `name` of a list, where a line of it is no use as an expression."""
    for phrase in phrases:
        try:
            matches_nothing = re.search(phrase, "")
        except re.error as error:
            raise ValueError(f"{name}: {phrase!r} is no regular expression ({error})") from error
        if matches_nothing:
            raise ValueError(f"{name}: {phrase!r} matches where nothing stands, and so in every file")
