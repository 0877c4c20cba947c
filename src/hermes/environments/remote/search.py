"""Search the files of a machine elsewhere: with its ripgrep where it has one, with find and grep where
not.
"""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from hermes.environments.globs import glob_test, spec_of
from hermes.environments.ignore_rules import is_ignored
from hermes.environments.line_matcher import LONGEST_LINE
from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.ripgrep import RIPGREP, read_ripgrep
from hermes.environments.search import compiled
from hermes.environments.searched_files import LARGEST_FILE, Search
from hermes.types.workspace import FileStat, Match

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Ripgrep may find far more than is wanted: what it writes is cut, and a line that was cut in two is not read.
_BY_RIPGREP: Final = (
    f'{" ".join(["rg", *RIPGREP])} --regexp "$1" -- "$2" | head -c 8000000; exit "${{PIPESTATUS[0]}}"'
)
_NAMES_BY_RIPGREP: Final = (
    'rg --no-config --files --null -- "$1" | xargs -0 -r stat --printf "%n\\0%s\\0%Y\\0" -- 2>/dev/null;'
    " exit 0"
)
_NAMES: Final = (
    f'find "$1" -name \'.?*\' ! -path "$1" -prune -o -type f -size -{LARGEST_FILE}c -printf'
    " '%p\\0%s\\0%T@\\0' 2>/dev/null; exit 0"
)
_RULES: Final = r"""
shopt -s nullglob
show() {
  for file in "$1/.git/info/exclude" "$1/.gitignore" "$1/.ignore"; do
    [ -f "$file" ] && printf '%s\0%s\0' "$1" "$(cat "$file")"
  done
}
above=() folder=$1
while [ "$folder" != / ] && [ -n "$folder" ] && [ ! -e "$folder/.git" ]; do
  folder=${folder%/*}; above=("$folder" "${above[@]}"); done
[ -n "$folder" ] && [ -e "$folder/.git" ] && [ "$folder" != "$1" ] &&
  for folder in "${above[@]}"; do show "$folder"; done
find "$1" -name .git -prune -o \( -name .gitignore -o -name .ignore \) -type f -printf '%h\0' 2>/dev/null |
  sort -zu |
  while IFS= read -r -d '' folder; do show "$folder"; done
exit 0
"""
_GREP: Final = """
grep -qP '(?=a)a' <<<a 2>/dev/null && flavour=-P || flavour=-E
xargs -0 -r grep -nIHZs "$flavour" -e "$1" -- | head -c 8000000
exit 0
"""


class Where(Struct, frozen=True, kw_only=True):
    """Where to look: below `root`, not into what is `concealed`."""

    root: str
    ripgrep: bool
    concealed: Callable[[str], bool] = field(default=lambda _path: False)


async def search_lines(
    environment: RemoteEnvironment, pattern: str, where: Where, file_glob: str, limit: int
) -> list[Match]:
    """Lines that match a regular expression, by path and line; ValueError when the expression is not one."""
    if where.ripgrep:
        done = await environment.fetch(_BY_RIPGREP, pattern, where.root)
        if done.code in {0, 1, 141}:  # 141: it had more to say than was read
            search = Search(
                root=Path(where.root), file_glob=file_glob, limit=limit, concealed=where.concealed
            )
            return read_ripgrep(done.data.splitlines()[: -1 if done.code == 141 else None], search)
    compiled(pattern)
    found = await _all_files(environment, where)
    fits = _fits(file_glob, where.root) if file_glob else None
    names = sorted(one.path for one in found if fits is None or fits(one.path))
    listed = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
    done = await environment.fetch(_GREP, pattern, stdin=listed)
    return list(_hits(done.data.decode("utf-8", "replace")))[:limit]


async def find_files(environment: RemoteEnvironment, glob: str, where: Where, limit: int) -> list[FileStat]:
    """Files whose name (or path below the root, if the glob has a slash) fits, newest first."""
    fits = _fits(glob, where.root)
    found = [one for one in await _all_files(environment, where) if fits(one.path)]
    return sorted(found, key=lambda item: (-item.mtime, item.path))[:limit]


def _fits(glob: str, root: str) -> Callable[[str], bool]:
    test = glob_test(glob)
    return lambda path: test(Path(path).relative_to(root) if path != root else Path(posixpath.basename(path)))


def _hits(text: str) -> Iterator[Match]:
    """Matches in grep's lines of the form path NUL number colon content."""
    for line in text.splitlines():
        path, _, rest = line.partition("\0")
        number, colon, content = rest.partition(":")
        if colon and number.isdigit():
            yield Match(path=path, line=int(number), content=content[:LONGEST_LINE])


async def _all_files(environment: RemoteEnvironment, where: Where) -> list[FileStat]:
    """Every file that a search may look into; hidden, ignored and concealed ones are left out."""
    done = await environment.fetch(_NAMES_BY_RIPGREP if where.ripgrep else _NAMES, where.root)
    fields = done.data.decode("utf-8", "surrogateescape").split("\0")
    files = [
        FileStat(path=path, kind="file", size=int(size), mtime=float(mtime))
        for path, size, mtime in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        if not where.concealed(path)
    ]
    if where.ripgrep:
        return files
    kept = _Unignored(await _rules(environment, where.root), where.root)
    return [one for one in files if kept.file(one.path)]


async def _rules(environment: RemoteEnvironment, root: str) -> "Sequence[tuple[Path, GitIgnoreSpec]]":
    fields = (await environment.fetch(_RULES, root)).data.decode("utf-8", "replace").split("\0")
    return tuple(
        (Path(folder), spec_of(text.splitlines()))
        for folder, text in zip(fields[0::2], fields[1::2], strict=False)
    )


class _Unignored:
    """What no rule leaves out; folders are asked about once."""

    def __init__(self, rules: "Sequence[tuple[Path, GitIgnoreSpec]]", root: str) -> None:
        self._rules = tuple(rules)
        self._folders = {root: True}

    def file(self, path: str) -> bool:
        return self._folder(posixpath.dirname(path)) and not self._ignored(path, is_folder=False)

    def _folder(self, path: str) -> bool:
        if path not in self._folders:
            above = posixpath.dirname(path)
            self._folders[path] = above == path or (
                self._folder(above) and not self._ignored(path, is_folder=True)
            )
        return self._folders[path]

    def _ignored(self, path: str, *, is_folder: bool) -> bool:
        here = Path(path)
        rules = tuple(rule for rule in self._rules if here.is_relative_to(rule[0]) and here != rule[0])
        return is_ignored(here, rules, is_folder=is_folder)
