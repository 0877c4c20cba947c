"""What a confined job sees of the machine: from places to the mounts that show, hide and protect them."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.config.home import other_homes
from hermes.config.sensitive import anywhere, at_home, of_machine, sensitive
from hermes.environments.sandbox.git_folders import git_files, git_folders, own_folder
from hermes.environments.sandbox.planted import Watched
from hermes.environments.sandbox.snapshot import on_the_way
from hermes.environments.sandbox.sockets import listening
from hermes.environments.worktree_records import WorktreeRecords
from hermes.lib.beneath import FOLDER, held, open_beneath
from hermes.lib.repository import OLD_REMOTES, STEERING
from hermes.types.capabilities import ALL, Capabilities, shared

Mode = Literal["read-only", "workspace", "full"]
"""How much of the machine a confined job may write: nothing, the workspace, all that the user may."""

INSIDE: Final = "/run/hermes"
"""Where a confined shell finds its own state folder."""

Kind = Literal["write", "place", "show", "read", "hide", "shut", "pass", "pin"]
"""`shut` may not be entered; `pass` neither, but something below it shows."""
NAME_FILES: Final = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where /etc/resolv.conf may point to."""

_COVERS: Final = frozenset({"hide", "shut", "pass"})
_OF_SYSTEM: Final = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32"}
    | {"nix", "proc", "run", "sbin", "sys", "tmp", "usr"}
)
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108  # these are the names inside


class Mounts(Struct, frozen=True, kw_only=True):
    """What a confined job sees: `writable` paths, `hidden` and `readable` ones, and `placed` (inside,
    outside) pairs, writable.

    `repositories` are folders whose version control must not learn to run something; they are looked at anew
    for each job. `starts` are what programs of the user's run by themselves or trust, there or not; `shown`
    is seen in folders that are hidden. In the folder `journal` it is kept what was there before a job.
    """

    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    placed: tuple[tuple[str, Path], ...] = ()
    repositories: tuple[Path, ...] = ()
    starts: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    journal: Path | None = None


class Scratch(Struct, frozen=True, kw_only=True):
    """The folders of a workspace's own: shell states (one part seen by confined commands), uncut outputs,
    their /tmp.
    """

    root: Path

    @property
    def shell(self) -> Path:
        """Shell states."""
        return self.root / "shell"

    @property
    def confined(self) -> Path:
        """The part of the shell states that confined commands write."""
        return self.shell / "confined"

    @property
    def outputs(self) -> Path:
        """Uncut outputs."""
        return self.root / "outputs"

    @property
    def temp(self) -> Path:
        """What confined commands have as /tmp."""
        return self.root / "tmp"

    def make(self) -> None:
        """Make the folders, for this user alone."""
        for folder in (self.root, self.shell, self.confined, self.outputs, self.temp):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


class Mount(Struct, frozen=True):
    """One place inside, and where it comes from outside."""

    path: str
    kind: Kind
    source: str


class View(Struct, frozen=True, kw_only=True):
    """What one job is to see: the mode, and whether names must be resolved over the machine's own network.

    `paths` are writable besides, `fixed` are not, wherever they lie; `covered` are folders that may not be
    entered. `steady` limits what else is covered to these paths.
    """

    mode: Mode
    network: bool = False
    paths: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    steady: frozenset[str] | None = None


def default_mounts(
    *, workspace: Path, home: Path, hermes_home: Path, scratch: Scratch, programs: Iterable[Path]
) -> Mounts:
    """The usual confinement: `workspace` writable, credentials and our own home hidden, our `programs`
    read-only.
    """
    programs = tuple(programs)
    homes = (
        dict.fromkeys((home, Path("/root"))) if _is_root() else (home,)
    )  # a HOME of one's own does not move what the account has
    table = sensitive()
    secrets = [place / name for place in homes for name in at_home(table.secrets)]
    others = [path for path in other_homes(hermes_home, home) if not workspace.is_relative_to(path)]
    starts = [place / name for place in homes for name in at_home(table.starts)]
    starts += [workspace / name for name in anywhere(table.starts)]
    if _is_root():
        secrets += map(Path, of_machine(table.secrets))
        starts += map(Path, of_machine(table.starts))
    return Mounts(
        writable=(workspace,),
        hidden=(*secrets, *dict.fromkeys((hermes_home, home / ".hermes", *others))),
        readable=(*starts, *programs, scratch.root),
        placed=(*((name, scratch.temp) for name in _TEMPORARY), (INSIDE, scratch.confined)),
        repositories=(workspace,),
        starts=tuple(path for path in (*starts, *secrets) if "*" not in path.name),
        shown=(*_objects(workspace, hermes_home), *filter(_is_temporary, programs), *_skills(hermes_home)),
        journal=hermes_home / "watch",
    )


def _skills(hermes_home: Path) -> tuple[Path, ...]:
    """The skills of our own home, whose scripts commands run; a link in their place shows nothing."""
    folder = hermes_home / "skills"
    return (folder,) if folder.is_dir() and not folder.is_symlink() else ()


def _is_temporary(path: Path) -> bool:
    """Whether the sandbox's own /tmp hides a path."""
    return any(path.is_relative_to(name) for name in _TEMPORARY)


def _objects(workspace: Path, hermes_home: Path) -> tuple[Path, ...]:
    """Where git in a worktree for sessions finds the objects of its repository, if only the sandbox's own
    /tmp hides them.
    """
    known = WorktreeRecords(hermes_home).around(workspace)
    objects = f"{known.main}/.git/objects" if known else ""
    is_hidden_alone = _is_below(objects, _TEMPORARY) and os.path.realpath(objects) == objects
    return (Path(objects),) if is_hidden_alone else ()


def narrowed(mounts: Mounts, bounds: Capabilities, *, home: Path, programs: tuple[Path, ...]) -> Mounts:
    """The mounts for a session that may write and read less: of the folders at the top only those of the
    system are seen, besides `programs` and what it may read.
    """
    if bounds.write != ALL.write:
        writable = shared(bounds.write, tuple(map(str, mounts.writable)))
        mounts = replace(
            mounts,
            writable=tuple(map(Path, writable)) or mounts.writable,
            shown=(*mounts.shown, *mounts.repositories),
        )
    if bounds.read == ALL.read:
        return mounts
    tops = [path for path in Path("/").iterdir() if path.name not in _OF_SYSTEM and not path.is_symlink()]
    hidden = [path for path in (home, *tops) if path.is_dir() and not bounds.reads(str(path))]
    return replace(
        mounts,
        hidden=(*mounts.hidden, *hidden),
        shown=(*mounts.repositories, *map(Path, bounds.read), *programs),
    )


def watched(mounts: Mounts, view: View) -> Watched:
    """What a job could make that runs later: in repositories, the folders it may write besides included, and
    those of `starts` that are in its reach, the links on the way included.
    """
    more = _granted(view)
    tops = {"full": ["/"], "workspace": _real(map(str, mounts.writable)), "read-only": []}[view.mode] + more
    return Watched(
        tops=tuple(dict.fromkeys([*map(os.path.realpath, mounts.repositories), *more])),
        starts=tuple(
            dict.fromkeys(
                path for start in mounts.starts for path in on_the_way(str(start)) if _is_below(path, tops)
            )
        ),
    )


def mounted(mounts: Mounts, view: View) -> list[Mount]:
    """All mounts in their order, shallow paths first: a secret in the workspace stays hidden, a workspace in
    a hidden folder shows.

    Everything is asked of the machine anew, since files come and go; words and not paths, because each
    command waits for this.
    """
    writable = _real(map(str, mounts.writable))
    more = _granted(view)
    tops = ["/"] if view.mode == "full" else more + (writable if view.mode == "workspace" else [])
    hidden = dict.fromkeys([*_real(_expanded(mounts.hidden)), *listening(outside=_covered(view))])
    starts = (
        [
            *map(str, mounts.readable),
            *view.fixed,
            *(part for top in (*map(str, mounts.repositories), *more) for part in _repository(top)),
        ]
        if tops
        else []
    )
    wanted = [
        Mount(inside, "place", str(source)) for inside, source in mounts.placed if not _is_own(inside, view)
    ]
    if view.mode != "full":
        wanted += [
            Mount(top, "write" if top in tops else "show", top) for top in dict.fromkeys(writable + more)
        ]
    wanted += [Mount(path, "show", path) for path in _real(map(str, mounts.shown)) if path not in tops]
    wanted += [Mount(path, "hide", path) for path in hidden if path != "/"]
    starts = [path for path in _real(starts) if path not in hidden]
    wanted += [Mount(path, "read", path) for path in starts if _is_below(path, tops)]
    wanted += [Mount(path, "read", path) for path in _real(NAME_FILES) if view.network]
    if view.steady is not None:
        wanted = [mount for mount in wanted if mount.kind in {"write", "place"} or mount.path in view.steady]
    wanted += [
        Mount(path, "pass" if _shows_below(path, wanted) else "shut", path)
        for path in _real(view.covered)
        if path not in {"/", *writable, *more}
    ]
    return _visible([*wanted, *_pins(wanted, tops)])


def identity(mount: Mount) -> tuple[int, ...]:
    """What tells whether a mount's source is still the same; anything will do where its name alone counts."""
    if mount.kind in _COVERS:
        return ()
    with suppress(OSError):
        found = os.lstat(mount.source)
        return (found.st_ino, 0 if stat.S_ISDIR(found.st_mode) else found.st_ctime_ns)
    return ()


def _is_root() -> bool:
    """Whether what root alone may touch matters."""
    return os.geteuid() == 0


def _is_own(inside: str, view: View) -> bool:
    """Whether the machine's own folder shows under this name."""
    return view.mode == "full" and inside in _TEMPORARY


def _covered(view: View) -> tuple[str, ...]:
    """Folders that a job finds empty or has for itself, so that sockets in them need no cover."""
    return ("/run", "/dev", "/proc") if view.mode == "full" else ("/run", "/dev", "/proc", *_TEMPORARY)


def _expanded(paths: Iterable[Path]) -> Iterator[str]:
    """The paths as words; a star in a name stands for what is there."""
    for path in map(str, paths):
        yield from glob(path) if "*" in path else (path,)  # noqa: PTH207  # words, as above


def _real(paths: Iterable[str]) -> list[str]:
    """Those that are there, links followed; one where the user may not look counts as not there."""
    folders: dict[str, str] = {}
    # Most are not there, and `exists` would raise and catch an error for each
    return list(dict.fromkeys(_resolved(path, folders) for path in paths if os.access(path, os.F_OK)))


def _granted(view: View) -> list[str]:
    """The paths that are writable besides; one that leads elsewhere now is another than a yes was for."""
    return [path for path in view.paths if os.path.exists(path) and os.path.realpath(path) == path]  # noqa: PTH110


def _resolved(path: str, folders: dict[str, str]) -> str:
    """The path with its links followed; `folders` are those that were followed already."""
    folder, _, name = path.rpartition("/")
    if not folder or name in {"", ".", ".."} or os.path.islink(path):  # noqa: PTH114  # words, as above
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return f"{folders[folder].rstrip('/')}/{name}"


def _is_below(path: str, tops: Iterable[str]) -> bool:
    return any(path != top and path.startswith(top.rstrip("/") + "/") for top in tops)


def _shows_below(path: str, mounts: Iterable[Mount]) -> bool:
    """Whether one of the mounts shows something in a folder."""
    return any(one.kind in {"write", "place", "show"} and _is_below(one.path, (path,)) for one in mounts)


def _above(path: str) -> Iterator[str]:
    """The folders that a path is in, the nearest first."""
    while (folder := path.rpartition("/")[0] or "/") != path:
        yield folder
        path = folder


def _repository(top: str) -> Iterator[str]:
    """What must not change in a repository; all of its own folder, where a link stands for a part of it."""
    folders = list(git_folders(top, own_folder(top)))
    yield from (f"{top}/.hg/hgrc", *git_files(top, folders))
    for folder in folders:
        yield from (path for name in OLD_REMOTES if _has_entries(path := f"{folder}/{name}"))
        if folder.rpartition("/")[0].endswith(
            "/.git/worktrees"
        ):  # git takes them away again; what is in them is looked at afterwards
            yield f"{folder}/config.worktree"
            continue
        names = [f"{folder}/{name}" for name in STEERING]
        if any(map(os.path.islink, names)):
            yield folder
        else:
            if folder != top and os.path.exists(f"{folder}/HEAD"):  # noqa: PTH110  # words, as above
                with suppress(OSError):  # what the user cannot make, a command of theirs cannot make either
                    os.mkdir(f"{folder}/hooks")  # noqa: PTH102  # words, as above
            yield from names


def _has_entries(folder: str) -> bool:
    with suppress(OSError), os.scandir(folder) as found:
        return next(found, None) is not None
    return False


def _pins(wanted: list[Mount], tops: list[str]) -> Iterator[Mount]:
    """The folders on the way to a mount in a writable place: as mounts of their own they cannot be renamed,
    and the mount with them.
    """
    taken = {mount.path for mount in wanted}
    for mount in wanted:
        if mount.kind not in {"read", *_COVERS} or not _is_below(mount.path, tops):
            continue
        for folder in _above(mount.path):
            if folder in taken or not _is_below(folder, tops):
                continue
            taken.add(folder)
            if os.access(os.path.dirname(folder), os.W_OK):  # noqa: PTH120  # words, as above
                yield Mount(folder, "pin", folder)


def _visible(wanted: Iterable[Mount]) -> list[Mount]:
    """In order of depth, without those whose place is covered already."""
    kept: dict[str, Kind] = {}
    mounts = []
    for mount in sorted(wanted, key=lambda mount: (mount.path.count("/"), mount.kind in _COVERS)):
        above = next((kept[folder] for folder in _above(mount.path) if folder in kept), None)
        if above in {"place", *_COVERS} and mount.kind in {"read", "pin", *_COVERS}:
            continue
        kept[mount.path] = mount.kind
        mounts.append(mount)
    return mounts


def open_source(path: str, tops: Iterable[str]) -> int | None:
    """A descriptor of a path below one of `tops`, for which no link is followed; None for a path elsewhere,
    OSError for one with a link in it.

    What confined jobs can write, they can also swap for a link while the next sandbox is being built.
    """
    top = next((top for top in tops if _is_below(path, (top,))), None)
    if top is None:
        return None
    with held(os.open(top, FOLDER)) as at:
        return open_beneath(at, path[len(top) :].strip("/"), os.O_PATH)
