"""Globs and lines of ignore files, held against relative paths in time that grows with their length alone."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

# What pathspec makes of a star, of any other part of a name, and of two stars between folders.
_STAR: Final = r"\[\^/\]\*"
_OTHER: Final = r"(?:\\.|\[\^?\]?[^\]]*\](?!\*)|[^\\\[\]()*+?/])"
_STARS_IN_A_ROW: Final = re.compile(f"(?:{_STAR}){{2,}}")
_STAR_BEFORE_ANOTHER: Final = re.compile(f"{_STAR}({_OTHER}+)(?={_STAR})")
_FOLDERS: Final = "(?:/.+)?"
_MOST_FOLDERS: Final = 2
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_BRACES: Final = 20
_MOST_ALTERNATIVES: Final = 500


def glob_test(glob: str) -> Callable[[Path], bool]:
    """A test for relative paths: a glob without a slash is held against the name, `**` crosses folders,
    `{a,b}` is either; ValueError when it is not a glob.
    """
    spec = _spec([_pattern(_anchored(one)) for one in _alternatives(glob)])
    return lambda path: spec.match_file(path.as_posix())


def glob_below(glob: str, root: Path) -> Callable[[Path], bool]:
    """The test of a glob for absolute paths below a root; the root itself is a file, known by its name."""
    fits = glob_test(glob)
    return lambda path: fits(path.relative_to(root) if path != root else Path(path.name))


def spec_of(lines: Iterable[str]) -> "GitIgnoreSpec":
    """The rules of an ignore file; a line that is no rule counts for nothing."""
    return _spec(list(_patterns(lines)))


def _spec(patterns: "Sequence[GitIgnoreSpecPattern]") -> "GitIgnoreSpec":
    # Its other backends know no atomic groups.
    spec: GitIgnoreSpec = import_object("pathspec:GitIgnoreSpec")(patterns, backend="simple")
    return spec


def _patterns(lines: Iterable[str]) -> "Iterator[GitIgnoreSpecPattern]":
    for line in lines:
        with suppress(ValueError):
            yield _pattern(line)


def _pattern(line: str) -> "GitIgnoreSpecPattern":
    kind: type[GitIgnoreSpecPattern] = import_object("pathspec.patterns.gitignore.spec:GitIgnoreSpecPattern")
    regex, is_rule = kind.pattern_to_regex(line)
    try:
        return kind(re.compile(_without_retries(regex)) if regex else None, is_rule)
    except re.error as error:
        raise ValueError(f"{line!r} is not a glob: {error}") from error


def _without_retries(regex: str) -> str:
    """The same expression, in which a star that others follow takes the first fit and never tries another:
    what comes after it can only have more room. Otherwise each star multiplies the time.
    """
    if regex.count(_FOLDERS) > _MOST_FOLDERS:
        raise ValueError(f"a glob takes ** between folders {_MOST_FOLDERS} times at most")
    single = _STARS_IN_A_ROW.sub("[^/]*", regex)
    return _STAR_BEFORE_ANOTHER.sub(r"(?>[^/]*?\1)", single)


def _anchored(glob: str) -> str:
    glob = glob.removeprefix("./")
    glob = "\\" + glob if glob.startswith(("!", "#")) else glob
    return f"/{glob.removeprefix('/')}" if "/" in glob.rstrip("/") else glob


def _alternatives(glob: str) -> list[str]:
    """The globs that one with braces stands for; ValueError where they are too many."""
    found = [glob]
    for _ in range(_MOST_BRACES):
        if not any(_BRACES.search(one) for one in found):
            return found
        found = [made for one in found for made in _first_braces(one)]
        if len(found) > _MOST_ALTERNATIVES:
            break
    raise ValueError(f"a glob stands for {_MOST_ALTERNATIVES} others at most")


def _first_braces(glob: str) -> list[str]:
    braces = _BRACES.search(glob)
    if braces is None:
        return [glob]
    return [glob[: braces.start()] + part + glob[braces.end() :] for part in braces[1].split(",")]
