"""Search the files of a machine elsewhere: with its ripgrep where it has one, with find and grep where
not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hermes.environments.line_matcher import LONGEST_LINE
from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.ripgrep import RIPGREP, read_ripgrep
from hermes.environments.search import compiled
from hermes.environments.searched_files import LARGEST_FILE, Rules, Search, is_ignored, wanted
from hermes.lib.globs import glob_below, spec_of
from hermes.types.workspace import FileStat, Match

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


class RemoteSearch:
    """Searches on a machine elsewhere; `ripgrep` says whether it has one."""

    def __init__(self, environment: RemoteEnvironment, *, ripgrep: bool) -> None:
        self._environment = environment
        self._ripgrep = ripgrep

    async def lines(self, pattern: str, search: Search) -> list[Match]:
        """Lines that match a regular expression, by path and line; ValueError when the expression is not
        one.
        """
        root = str(search.root)
        if self._ripgrep:
            done = await self._environment.fetch(_BY_RIPGREP, pattern, root)
            if done.code in {0, 1, 141}:  # 141: it had more to say than was read
                return read_ripgrep(done.data.splitlines()[: -1 if done.code == 141 else None], search)
        compiled(pattern)
        is_wanted = wanted(search)
        names = sorted(one.path for one in await self._files_in(search) if is_wanted(Path(one.path)))
        listed = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        done = await self._environment.fetch(_GREP, pattern, stdin=listed)
        return list(_hits(done.data.decode("utf-8", "replace")))[: search.limit]

    async def files(self, glob: str, search: Search) -> list[FileStat]:
        """Files whose name (or path below the root, if the glob has a slash) fits, newest first."""
        fits = glob_below(glob, search.root)
        found = [one for one in await self._files_in(search) if fits(Path(one.path))]
        return sorted(found, key=lambda item: (-item.mtime, item.path))[: search.limit]

    async def _files_in(self, search: Search) -> list[FileStat]:
        """Every file that a search may look into; hidden, ignored and concealed ones are left out."""
        root = str(search.root)
        done = await self._environment.fetch(_NAMES_BY_RIPGREP if self._ripgrep else _NAMES, root)
        fields = done.data.decode("utf-8", "surrogateescape").split("\0")
        files = [
            FileStat(path=path, kind="file", size=int(size), mtime=float(mtime))
            for path, size, mtime in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
            if not search.concealed(path)
        ]
        if self._ripgrep:
            return files
        kept = _Unignored(await self._rules(root), search.root)
        return [one for one in files if kept.file(Path(one.path))]

    async def _rules(self, root: str) -> Rules:
        fields = (await self._environment.fetch(_RULES, root)).data.decode("utf-8", "replace").split("\0")
        return tuple(
            (Path(folder), spec_of(text.splitlines()))
            for folder, text in zip(fields[0::2], fields[1::2], strict=False)
        )


def _hits(text: str) -> Iterator[Match]:
    """Matches in grep's lines of the form path NUL number colon content."""
    for line in text.splitlines():
        path, _, rest = line.partition("\0")
        number, colon, content = rest.partition(":")
        if colon and number.isdigit():
            yield Match(path=path, line=int(number), content=content[:LONGEST_LINE])


class _Unignored:
    """What no rule leaves out; folders are asked about once."""

    def __init__(self, rules: Rules, root: Path) -> None:
        self._rules = rules
        self._folders = {root: True}

    def file(self, path: Path) -> bool:
        return self._folder(path.parent) and not self._ignored(path, is_folder=False)

    def _folder(self, path: Path) -> bool:
        if path not in self._folders:
            self._folders[path] = path.parent == path or (
                self._folder(path.parent) and not self._ignored(path, is_folder=True)
            )
        return self._folders[path]

    def _ignored(self, path: Path, *, is_folder: bool) -> bool:
        rules = tuple(rule for rule in self._rules if path.is_relative_to(rule[0]) and path != rule[0])
        return is_ignored(path, rules, is_folder=is_folder)
