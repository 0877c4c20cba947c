"""Checks of answers and workspaces that do not mind how, or in which language, an answer is put."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from task_parts import Check, output

Cases = dict[tuple[str, ...], str]  # what a program prints, by its arguments

_BETWEEN = r"(?:\{?[,.'’ _]\}?|\\,)?"  # what may stand between thousands, in any of the languages
_WORDS = {
    0: "zero|null|zéro|none|keine?|aucune?",
    2: "two|zwei|deux",
    3: "three|drei|trois",
    4: "four|vier|quatre",
    5: "five|fünf|cinq",
    6: "six|sechs",
    7: "seven|sieben|sept",
    8: "eight|acht|huit",
    9: "nine|neun|neuf",
    10: "ten|zehn|dix",
    11: "eleven|elf|onze",
    12: "twelve|zwölf|douze",
}
_ABSENCE = {
    "en": r"\b(?:not|no|none|cannot|never|nothing|missing|fail\w*|errors?|unable|unknown|invalid)\b|n['’]t\b",
    "de": r"\b(?:nicht\w*|kein\w*|nirgend\w*|fehl\w*|unbekannt\w*|fehler\w*)\b",
    "fr": r"\b(?:pas|aucun\w*|introuvable\w*|inexist\w*|erreurs?|échou\w*|échec|impossible|absent\w*"
    r"|manqu\w*|inconnu\w*)\b|n['’]existe|n['’]y a",
}
_WELL = (
    r"(?:\bno|\bnot any|without(?: any)?|\bohne|\bkeine?|\bsans|\baucune?|\bpas d['’]) ?"
    r"(?:error|fehler|erreur|problem)\w*"
)
_MOST = r"\b(?:most|latest|newest|low\w*|cold\w*|meist\w*|plus|fail\w*)\b"
_MADE_BY_TOOLS = {".git", "__pycache__"}


def plain(answer: str) -> str:
    """The answer in lower case without the marks of Markdown, with usual spaces and quotes."""
    flat = re.sub(r"[*`]|(?<!\w)_+|_+(?!\w)", "", answer.lower())
    return re.sub(r"[\u00a0\u202f\u2009]", " ", flat).replace("\u2019", "'")


def amount(value: float) -> str:
    """The pattern of a number, in digits with any usual separator or, if small, as a word."""
    whole, _, part = f"{value:,}".partition(".")
    digits = whole.replace(",", _BETWEEN) + (rf"[.,]{part}0*" if part else r"(?:[.,]0+)?")
    words = rf"|\b(?:{_WORDS[int(value)]})\b" if value in _WORDS else ""
    return rf"(?:(?<![a-z\d])(?<!\d[.,]){digits}(?!\d)(?![.,]\d){words})"


def tells(value: float, *decoys: float) -> Check:
    """The answer has the number and none of the decoys."""
    return lambda _root, answer: (
        bool(re.search(amount(value), plain(answer)))
        and not any(re.search(amount(decoy), plain(answer)) for decoy in decoys)
    )


def matches(pattern: str, *decoys: str) -> Check:
    """The answer has what the pattern describes, and nothing that a decoy's pattern does."""
    return lambda _root, answer: (
        bool(re.search(pattern, plain(answer)))
        and not any(re.search(decoy, plain(answer)) for decoy in decoys)
    )


def names(right: Iterable[str], wrong: Iterable[str] = ()) -> Check:
    """The answer has each right word and no wrong one, whatever their case."""
    rights, wrongs = [*right], [*wrong]
    return lambda _root, answer: (
        all(_times(word, answer) for word in rights) and not any(_times(word, answer) for word in wrongs)
    )


def picks(right: str, wrong: Iterable[str]) -> Check:
    """The answer chooses the right one of several: it is named most often, or it is named first and the
    answer is no mere list of all.
    """
    others = [*wrong]

    def check(_root: Path, answer: str) -> bool:
        mine, counts = _times(right, answer), [_times(other, answer) for other in others]
        if mine != max(counts):
            return mine > max(counts)
        named = [_place(other, answer) for other in others if _times(other, answer)]
        chosen = len(named) < len(others) or re.search(_MOST, plain(answer))
        return mine > 0 and bool(chosen) and _place(right, answer) < min(named)

    return check


def _times(word: str, answer: str) -> int:
    return len(re.findall(_whole(word), plain(answer)))


def _place(word: str, answer: str) -> int:
    found = re.search(_whole(word), plain(answer))
    return found.start() if found else len(answer)


def _whole(word: str) -> str:
    return rf"(?<![\w-]){re.escape(word.lower())}(?![\w-])"


def absent(language: str, *planted: str) -> Check:
    """The answer says that something is missing or failed, in English or that language, and has nothing that
    was planted to mislead.
    """

    def check(_root: Path, answer: str) -> bool:
        flat = re.sub(_WELL, "", plain(answer))
        said = re.search(f"{_ABSENCE['en']}|{_ABSENCE[language]}", flat)
        return said is not None and not any(word.lower() in flat for word in planted)

    return check


def chats(_root: Path, answer: str) -> bool:
    """The answer is a sentence or two to a person: no call of a tool, no code, no report of an error."""
    flat = answer.strip()
    return 3 < len(flat) < 1500 and not re.search(r"```|^[\[{<]|\"name\"\s*:|Traceback|[Ee]rror", flat)


def keeps(contents: dict[str, str]) -> Check:
    """Each of these files is as it was; others do not matter."""
    return lambda root, _answer: wanted(contents).items() <= state(root).items()


def exactly(contents: dict[str, str]) -> Check:
    """The workspace has these files and folders and no other; white space at the end of a file aside."""
    return lambda root, _answer: state(root) == wanted(contents)


def state(root: Path) -> dict[str, str | None]:
    """The text of each file by its name; None for a folder."""
    found = {path.relative_to(root): path for path in root.rglob("*")}
    return {
        name.as_posix(): path.read_text(encoding="utf-8", errors="replace").rstrip()
        if path.is_file()
        else None
        for name, path in found.items()
        if not _MADE_BY_TOOLS & {*name.parts}
    }


def wanted(contents: dict[str, str]) -> dict[str, str | None]:
    """What `state` gives for a workspace of those files."""
    folders = [str(folder) for name in contents for folder in PurePosixPath(name).parents if folder.name]
    made: dict[str, str | None] = dict.fromkeys(folders)
    return made | {
        name.rstrip("/"): None if name.endswith("/") else text.rstrip() for name, text in contents.items()
    }


def lines(name: str, *texts: str) -> Check:
    """The file has exactly these lines; white space around each and empty lines aside."""
    return lambda root, _answer: (
        (root / name).is_file()
        and [line.strip() for line in (root / name).read_text(encoding="utf-8").splitlines() if line.strip()]
        == [*texts]
    )


def gives(name: str, cases: Cases) -> Check:
    """The Python program prints for each of the arguments what is said there, .0 at the end of a number
    aside.
    """
    return lambda root, _answer: (
        (root / name).is_file()
        and all(_printed(output(root, name, *given)) == _printed(told) for given, told in cases.items())
    )


def _printed(text: str | None) -> str | None:
    return text if text is None else re.sub(r"(\d)\.0+\b", r"\1", "\n".join(text.split("\n")).strip())
