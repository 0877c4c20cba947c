"""Search files by content and by name, with ignore files respected: ripgrep's work, or the same in Python."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from hermes.lib.lazy import import_object
from hermes.types.workspace import FileStat, Match

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LARGEST_FILE: Final = 20_000_000
_SNIFF: Final = 8_192
LONGEST_LINE: Final = 2_000
_SEARCHED: Final = 20_000  # characters of a line that are looked at
RIPGREP: Final = ("--no-config", "--json", "--sort", "path", "--max-filesize", str(LARGEST_FILE))
"""How ripgrep is called, before the expression and the path."""

_NESTED: Final = re.compile(r"\([^()]*(?:[+*]|\{\d*,)[^()]*\)(?:[+*]|\{\d*,)")


class Search(Struct, frozen=True, kw_only=True):
    """Where to look: below `root`, in files that fit `file_glob` and are not `concealed`; at most `limit`
    results.
    """

    root: Path
    file_glob: str = ""
    limit: int = 1_000
    concealed: Callable[[str], bool] = field(default=lambda _path: False)


def search_lines(pattern: str, search: Search, ripgrep: str | None = None) -> list[Match]:
    """Lines that match a regular expression, by path and line; ValueError when the expression is not one."""
    if ripgrep is not None and (found := _by_ripgrep(pattern, search, ripgrep)) is not None:
        return found
    return _by_python(pattern, search)


def find_files(glob: str, search: Search) -> list[FileStat]:
    """Files whose name (or path below the root, if the glob has a slash) fits, newest first."""
    fits = glob_test(glob)
    found = []
    for path in _files(search.root, search.concealed):
        if fits(path.relative_to(search.root) if path != search.root else Path(path.name)):
            try:
                info = path.stat()
            except OSError:
                continue
            found.append(FileStat(path=str(path), kind="file", size=info.st_size, mtime=info.st_mtime))
    return sorted(found, key=lambda item: (-item.mtime, item.path))[: search.limit]


def _by_python(pattern: str, search: Search) -> list[Match]:
    if _NESTED.search(re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)):
        # Python's matcher may need years for such a pattern, and nothing can stop it meanwhile.
        raise ValueError(
            f"{pattern!r} repeats a group that has a repetition in it; write it without the inner or the"
            " outer one"
        )
    expression = compiled(pattern)
    fits = glob_test(search.file_glob) if search.file_glob else None
    found: list[Match] = []
    for path in _files(search.root, search.concealed):
        if fits is None or path == search.root or fits(path.relative_to(search.root)):
            found.extend(_matches(path, expression, search.limit - len(found)))
        if len(found) >= search.limit:
            break
    return found


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression; ValueError with a sentence when it is not one."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def _matches(path: Path, expression: re.Pattern[str], room: int) -> Iterator[Match]:
    text = _text(path)
    if text is None:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if room <= 0:
            return
        if expression.search(line, 0, _SEARCHED):
            room -= 1
            yield Match(path=str(path), line=number, content=line[:LONGEST_LINE])


def _text(path: Path) -> str | None:
    """A file's text, or None for what is no regular text file of a sensible size."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data[:_SNIFF] else data.decode("utf-8", "replace")


def glob_test(glob: str) -> Callable[[Path], bool]:
    """A test for relative paths: a glob without a slash is held against the name, `**` crosses folders,
    `{a,b}` is either.
    """
    specs = spec_of([_anchored(one) for one in _alternatives(glob)])
    return lambda path: specs.match_file(path.as_posix())


def spec_of(lines: Sequence[str]) -> "GitIgnoreSpec":
    """The rules of an ignore file."""
    spec: GitIgnoreSpec = import_object("pathspec:GitIgnoreSpec").from_lines(lines)
    return spec


def _anchored(glob: str) -> str:
    glob = glob.removeprefix("./")
    glob = "\\" + glob if glob.startswith(("!", "#")) else glob
    return f"/{glob.removeprefix('/')}" if "/" in glob.rstrip("/") else glob


def _alternatives(glob: str) -> list[str]:
    braces = re.search(r"\{([^{}]*)\}", glob)
    if braces is None:
        return [glob]
    return [
        full
        for part in braces[1].split(",")
        for full in _alternatives(glob[: braces.start()] + part + glob[braces.end() :])
    ]


def _files(root: Path, concealed: Callable[[str], bool]) -> Iterator[Path]:
    """Regular files below `root` in order of path; ignored, hidden and concealed ones are left out, links are
    not followed.
    """
    if root.is_file():
        if not concealed(str(root)):
            yield root
        return
    yield from _walk(root, _inherited(root), concealed)


Rules = tuple[tuple[Path, "GitIgnoreSpec"], ...]


def _walk(folder: Path, rules: Rules, concealed: Callable[[str], bool]) -> Iterator[Path]:
    rules += _rules_of(folder)
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.is_symlink() or concealed(entry.path):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_ignored(path, rules, is_folder=is_folder):
            continue
        if is_folder:
            yield from _walk(path, rules, concealed)
        elif entry.is_file(follow_symlinks=False):
            yield path


def _inherited(root: Path) -> Rules:
    """Rules of the folders above, up to the repository's top."""
    above = []
    for folder in root.parents:
        above.append(folder)
        if (folder / ".git").exists():
            return tuple(rule for place in reversed(above) for rule in _rules_of(place))
    return ()


def _rules_of(folder: Path) -> Rules:
    found: Rules = ()
    for name in (".git/info/exclude", ".gitignore", ".ignore"):
        try:
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        found += ((folder, spec_of(lines)),)
    return found


def is_ignored(path: Path, rules: Rules, *, is_folder: bool) -> bool:
    """Whether the deepest rule that says something about the path leaves it out."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False


def _by_ripgrep(pattern: str, search: Search, ripgrep: str) -> list[Match] | None:
    """As `_by_python`; None when ripgrep cannot do it (it knows no look-around), so that Python tries."""
    with subprocess.Popen(
        [ripgrep, *RIPGREP, "--regexp", pattern, "--", str(search.root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
    ) as process:
        found = read_ripgrep(process.stdout or (), search)
        if len(found) >= search.limit:
            process.kill()
            return found
    return found if process.returncode in {0, 1} else None


def read_ripgrep(lines: Iterable[bytes], search: Search) -> list[Match]:
    """The matches in ripgrep's lines of JSON that the search wants."""
    # Its own --glob would bring ignored files back, so names are held against the glob here.
    fits = glob_test(search.file_glob) if search.file_glob else None
    found: list[Match] = []
    for record in map(json.loads, lines):
        path = record["data"].get("path", {}).get("text")
        if record["type"] != "match" or path is None or search.concealed(path):
            continue
        if fits is not None and Path(path) != search.root and not fits(Path(path).relative_to(search.root)):
            continue
        content = record["data"]["lines"].get("text", "").rstrip("\r\n")
        found.append(Match(path=path, line=record["data"]["line_number"], content=content[:LONGEST_LINE]))
        if len(found) >= search.limit:
            break
    return found
