"""Read the options of a program's words without knowing the program: clusters, `--name=value`, shortened long
names.
"""

from collections.abc import Collection, Sequence
from typing import Final

CLONE_VALUES: Final = frozenset(
    {"-b", "--branch", "--depth", "-o", "--origin", "-c"}
    | {"--config", "-j", "--jobs", "--reference", "--filter"}
)
"""Options of `git clone` that take a value."""


def has_option(words: Sequence[str], *names: str) -> bool:
    """Whether one of the options is among the words, also inside a cluster (`-rf`), with a value, or
    shortened (`--recurs`).
    """
    return any(_is(word, name) for word in before_dashes(words) for name in names)


def before_dashes(words: Sequence[str]) -> Sequence[str]:
    """The words up to a lone `--`."""
    return words[: words.index("--")] if "--" in words else words


def operands(words: Sequence[str], with_value: Collection[str] = ()) -> list[str]:
    """The words that are no options; the word behind an option of `with_value` is its value."""
    found: list[str] = []
    skip = False
    for position, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            return found + list(words[position + 1 :])
        elif word.startswith("-") and word != "-":
            skip = word in with_value or (word[1:].isalpha() and f"-{word[-1]}" in with_value)
        else:
            found.append(word)
    return found


def after_options(words: Sequence[str], with_value: frozenset[str]) -> list[str]:
    """The words from the first operand on."""
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "-":
        if words[position] == "--":
            return list(words[position + 1 :])
        position += 2 if words[position] in with_value else 1
    return list(words[position:])


def option_values(words: Sequence[str], *names: str) -> list[str]:
    """The values given to an option: behind it, behind `=`, or (one letter) joined to it or behind its
    cluster.
    """
    found = []
    for position, word in enumerate(words):
        for name in names:
            if word == name and position + 1 < len(words):
                found.append(words[position + 1])
            elif word.startswith(f"{name}="):
                found.append(word[len(name) + 1 :])
            elif len(name) == 2 and name.startswith("-") and not word.startswith("--"):
                found += _joined(name, word, words[position + 1 : position + 2])
    return found


def _joined(name: str, word: str, following: Sequence[str]) -> Sequence[str]:
    """The value of a one-letter option that is joined to it, or stands behind a cluster that ends with it."""
    if word.startswith(name) and len(word) > 2:
        return [word[2:]]
    return following if word.startswith("-") and word.endswith(name[1]) and word[1:].isalpha() else ()


def _is(word: str, name: str) -> bool:
    if word == name or word.startswith(f"{name}="):
        return True
    if name.startswith("--"):
        given = word.split("=", 1)[0]
        return len(given) >= 5 and name.startswith(given)
    is_letter = len(name) == 2 and name.startswith("-")
    if is_letter and word.startswith(name) and not word[2:].isalnum():
        return True  # a value is joined to it
    return (
        is_letter
        and word.startswith("-")
        and not word.startswith("--")
        and name[1] in word[1:]
        and word[1:].isalnum()
    )
