"""The files of a machine elsewhere, by small shell scripts: it needs bash, coreutils and find, nothing of
ours.
"""

import posixpath
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

from hermes.environments.files import LARGEST_READ
from hermes.environments.remote.environment import Fetched, RemoteEnvironment
from hermes.environments.remote.search import RemoteSearch
from hermes.environments.searched_files import Search
from hermes.environments.workspace_files import Located, Operation
from hermes.types.error import ExecError
from hermes.types.workspace import FileStat, Match

_MISSING, _TRUNCATED, _DENIED, _FOLDER, _LARGE, _FULL = 2, 5, 13, 21, 27, 28  # as errno numbers them

_LOCATE: Final = 'readlink -nm -- "$1" 2>/dev/null || readlink -nf -- "$1" 2>/dev/null || printf %s "$1"'
_READ: Final = f"""
[ -e "$1" ] || {{ [ -L "$1" ] || [ -x "${{1%/*}}/" ] || exit {_DENIED}; exit {_MISSING}; }}
[ -d "$1" ] && exit {_FOLDER}
[ -f "$1" ] && [ -r "$1" ] || exit {_DENIED}
size=$(stat -Lc %s -- "$1"); [ "$size" -le {LARGEST_READ} ] || exit {_LARGE}
echo "$size"
exec cat -- "$1"
"""
_WRITE: Final = f"""
[ -d "$1" ] && exit {_FOLDER}
[ -e "$1" ] && [ ! -f "$1" ] && exit {_DENIED}
folder=${{1%/*}}/
mkdir -p -- "$folder" 2>/dev/null || exit {_DENIED}
part=$(mktemp -- "$folder.hermes-XXXXXX" 2>/dev/null) || exit {_DENIED}
trap 'rm -f -- "$part"' EXIT
cat >"$part" || exit {_FULL}
[ "$(stat -c %s -- "$part")" = "$2" ] || exit {_TRUNCATED}
if [ -e "$1" ]; then mode=$(stat -Lc %a -- "$1"); else mode=$(printf %o $((0666 & ~0$(umask)))); fi
chmod "$mode" -- "$part" && mv -f -- "$part" "$1" || exit {_DENIED}
stat -Lc '%s %Y' -- "$1"
"""
_DELETE: Final = f"""
[ -e "$1" ] || [ -L "$1" ] || exit {_MISSING}
[ -d "$1" ] && [ ! -L "$1" ] && exit {_FOLDER}
rm -f -- "$1" 2>/dev/null || exit {_DENIED}
"""
_STAT: Final = f'[ -e "$1" ] || exit {_MISSING}; stat -Lc "%s %Y %F" -- "$1"'
_LIST: Final = f"""
[ -e "$1" ] || exit {_MISSING}
[ -d "$1" ] || exit 20
[ -r "$1" ] || exit {_DENIED}
if find / -maxdepth 0 -printf '' 2>/dev/null; then
  find -L "$1/" -mindepth 1 -maxdepth 1 -printf '%f\\0%y\\0%s\\0%T@\\0' 2>/dev/null
else
  shopt -s dotglob nullglob
  for path in "$1"/*; do
    set -- "$(stat -Lc '%s %Y %F' -- "$path" 2>/dev/null || stat -c '%s %Y %F' -- "$path")"
    size=${{1%% *}}; rest=${{1#* }}; kind=${{rest#* }}
    case $kind in directory) kind=d;; regular*) kind=f;; *) kind=o;; esac
    printf '%s\\0%s\\0%s\\0%s\\0' "${{path##*/}}" "$kind" "$size" "${{rest%% *}}"
  done
fi
exit 0
"""

Kind = Literal["file", "directory", "other"]
T = TypeVar("T")


class RemoteFiles:
    """The files of a machine elsewhere: implements `Files`.

    `concealed` says of an absolute path that no search must look into it.
    """

    def __init__(
        self, environment: RemoteEnvironment, *, ripgrep: bool, concealed: Callable[[str], bool]
    ) -> None:
        self._environment = environment
        self._search = RemoteSearch(environment, ripgrep=ripgrep)
        self._concealed = concealed

    async def locate(self, nominal: str, operation: Operation) -> Located:
        """Where a path leads, links followed; a deletion is of the link itself."""
        folder, name = posixpath.split(nominal) if operation == "delete" else (nominal, "")
        found = (await self._environment.fetch(_LOCATE, folder)).data.decode("utf-8", "surrogateescape")
        path = posixpath.join(found, name) if name else found
        return Located(name=path, at=path)

    async def read(self, place: Located) -> bytes:
        """A regular file's bytes."""
        size, _, data = _checked(await self._environment.fetch(_READ, place.at), place.at).data.partition(
            b"\n"
        )
        if len(data) < int(size):  # the kernel's own files say 0 and have more
            raise OSError(f"{place.name} did not come whole: {len(data)} of {int(size)} bytes")
        return data

    async def write(self, place: Located, data: bytes) -> FileStat:
        """Write a file through a neighbour that replaces it; a cut connection leaves the old one."""
        done = _checked(await self._environment.fetch(_WRITE, place.at, str(len(data)), stdin=data), place.at)
        size, mtime = done.data.split()
        return FileStat(path=place.name, kind="file", size=int(size), mtime=float(mtime))

    async def delete(self, place: Located) -> None:
        """Delete one file or link."""
        _checked(await self._environment.fetch(_DELETE, place.at), place.at)

    async def stat(self, place: Located) -> FileStat | None:
        """What is there, or None."""
        done = await self._environment.fetch(_STAT, place.at)
        if done.code == _MISSING:
            return None
        size, mtime, kind = _checked(done, place.at).data.decode().strip().split(" ", 2)
        return FileStat(path=place.name, kind=_kind(kind), size=int(size), mtime=float(mtime))

    async def list(self, place: Located) -> Sequence[FileStat]:
        """The entries of a folder, by name."""
        done = _checked(await self._environment.fetch(_LIST, place.at), place.at)
        fields = done.data.decode("utf-8", "surrogateescape").split("\0")
        found = [
            FileStat(
                path=posixpath.join(place.name, name), kind=_kind(kind), size=int(size), mtime=float(mtime)
            )
            for name, kind, size, mtime in zip(
                fields[0::4], fields[1::4], fields[2::4], fields[3::4], strict=False
            )
        ]
        return sorted((one for one in found if not self._concealed(one.path)), key=lambda one: one.path)

    async def search(self, place: Located, pattern: str, file_glob: str, limit: int) -> Sequence[Match]:
        """Lines that match a regular expression."""
        where = Search(root=Path(place.at), file_glob=file_glob, limit=limit, concealed=self._concealed)
        return await self._found(place, await self._search.lines(pattern, where))

    async def find(self, place: Located, glob: str, limit: int) -> Sequence[FileStat]:
        """Files whose name or path fits a glob, newest first."""
        where = Search(root=Path(place.at), limit=limit, concealed=self._concealed)
        return await self._found(place, await self._search.files(glob, where))

    async def _found(self, place: Located, found: Sequence[T]) -> Sequence[T]:
        """What was found; only when that is nothing, whether there is such a place at all is worth a
        question.
        """
        if not found and await self.stat(place) is None:
            raise FileNotFoundError(f"{place.name} does not exist")
        return found


def _kind(word: str) -> Kind:
    if word in {"d", "directory"}:
        return "directory"
    return "file" if word == "f" or word.startswith("regular") else "other"


def _checked(done: Fetched, path: str) -> Fetched:
    """What a script gave, or the error that its exit code stands for."""
    match done.code:
        case 0:
            return done
        case 2:
            raise FileNotFoundError(f"{path} does not exist")
        case 20:
            raise NotADirectoryError(f"{path} is not a folder")
        case 21:
            raise IsADirectoryError(f"{path} is a folder")
        case 13:
            raise PermissionError(f"{path} may not be used so, or is not a regular file")
        case 27:
            raise OSError(f"{path} has more than {LARGEST_READ} bytes")
        case 28 | 5:
            raise OSError(f"{path} was not written whole, the old one is as it was; the disk may be full")
        case code:
            raise ExecError(f"{path}: exit code {code} {done.said}".rstrip())
