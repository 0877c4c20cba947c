"""Which words tell a fact that fits a message from one that does not, by how many facts hold them.

No list of common words is needed, and so no language is preferred: what many facts hold is common, and the
shortest words are taken for common until enough facts speak for them.
"""

from collections.abc import Collection, Iterable, Mapping
from math import log
from typing import Final

MOST: Final = 200
"""Facts that hold a word which still tells something."""
FEW: Final = 3
"""Facts that hold a longer word which tells something, however few facts there are."""
NEAR: Final = 0.3
"""What shares less than this part of what the best shares has to do with something else."""
_LEAST: Final = 0.01
"""What a word is worth that all facts hold: it tells nothing where another word does."""


def telling(word: str, facts: int) -> int:
    """How many of so many facts may hold a word at most that tells something of them: a third; of words of
    three letters a tenth, of shorter ones a fiftieth, as most of those are particles in any language.
    """
    is_word = word.isalpha() and not (len(word) > 1 and word.isupper())  # and neither number nor acronym
    match len(word) if is_word else 0:
        case 1 | 2:
            most = facts // 50
        case 3:
            most = max(1, facts // 10)
        case _:
            most = max(FEW, facts // 3)
    return min(MOST, most)


def relevances(holding: Iterable[Collection[int]], facts: int) -> Mapping[int, float]:
    """What each fact is worth that holds one of the words at least, from the facts that hold each of them:
    a word counts for more the fewer facts hold it.
    """
    found: dict[int, float] = {}
    for numbers in holding:
        weight = log(facts / len(numbers)) + _LEAST if numbers else 0.0
        for number in numbers:
            found[number] = found.get(number, 0.0) + weight
    return found
