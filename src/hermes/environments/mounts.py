"""What a confined job sees of the machine: from places to the mounts that show, hide and protect them."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hermes.environments.places import NAME_FILES, REPOSITORY_STARTS, SECRETS_AT_HOME, STARTS_AT_HOME, SYSTEM_SECRETS, SYSTEM_STARTS
from hermes.environments.sockets import listening

Mode = Literal["read-only", "workspace", "full"]
"""How much of the machine a confined job may write: nothing, the workspace, all that the user may."""

INSIDE: Final = "/run/hermes"
"""Where a confined shell finds its own state folder."""

Kind = Literal["write", "place", "show", "read", "hide", "pin"]
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 -- these are the names inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounts:
    """What a confined job sees: `writable` paths, `hidden` and `readable` ones, and `placed` (inside, outside) pairs, writable.

    `repositories` are folders whose version control must not learn to run something; they are looked at anew for each job. `own` are
    our folders: hidden, and nothing can be put in their place.
    """

    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    placed: tuple[tuple[str, Path], ...] = ()
    repositories: tuple[Path, ...] = ()
    own: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """The folders of a workspace's own: shell states (one part seen by confined commands), uncut outputs, their /tmp."""

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


@dataclass(frozen=True, slots=True)
class Mount:
    """One place inside, and where it comes from outside."""

    path: Path
    kind: Kind
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one job is to see: the mode, and whether name resolution must work and host sockets have to be covered."""

    mode: Mode
    network: bool = False


def default_mounts(*, workspace: Path, home: Path, hermes_home: Path, scratch: Scratch, programs: Iterable[Path]) -> Mounts:
    """The usual confinement: `workspace` writable, credentials and our own folders hidden, our `programs` read-only."""
    homes = dict.fromkeys((home, Path("/root")))  # a HOME of one's own choice does not move what the account has
    starts = [*(place / name for place in homes for name in STARTS_AT_HOME), *map(Path, SYSTEM_STARTS)]
    return Mounts(
        writable=(workspace,),
        hidden=(*(place / name for place in homes for name in SECRETS_AT_HOME), *map(Path, SYSTEM_SECRETS)),
        own=(*dict.fromkeys(Path(os.path.realpath(path)) for path in (hermes_home, home / ".hermes", scratch.root)),),
        readable=(*starts, *programs),
        placed=(*((name, scratch.temp) for name in _TEMPORARY), (INSIDE, scratch.confined)),
        repositories=(workspace,),
    )


def mounted(mounts: Mounts, view: View) -> list[Mount]:
    """All mounts in their order, shallow paths first: a secret in the workspace stays hidden, a workspace in a hidden folder shows."""
    tops = [Path("/")] if view.mode == "full" else [*_real(mounts.writable)] if view.mode == "workspace" else []
    hidden = dict.fromkeys([*_real(mounts.hidden), *_real(mounts.own), *listening(outside=_covered(view))])
    starts = [*mounts.readable, *(part for top in mounts.repositories for part in _repository(top))] if tops else []
    read = [path for path in _real(starts) if _within(path, tops)]
    wanted = [Mount(Path(inside), "place", source) for inside, source in mounts.placed if not _is_own(inside, view)]
    if view.mode != "full":
        wanted += [Mount(top, "write" if tops else "show", top) for top in _real(mounts.writable)]
    wanted += [Mount(path, "hide", path) for path in hidden if path != Path("/")]
    wanted += [Mount(path, "read", path) for path in read]
    wanted += [Mount(path, "read", path) for path in _real(Path(name) for name in NAME_FILES) if view.network]
    return _visible([*wanted, *_pins(wanted, tops)])


def _is_own(inside: str, view: View) -> bool:
    """Whether the machine's own folder shows under this name."""
    return view.mode == "full" and inside in _TEMPORARY


def _covered(view: View) -> tuple[str, ...]:
    """Folders that a job finds empty or has for itself, so that sockets in them need no cover."""
    return ("/run", "/dev", "/proc") if view.mode == "full" else ("/run", "/dev", "/proc", *_TEMPORARY)


def _real(paths: Iterable[Path]) -> Iterator[Path]:
    # Asked anew for each command, since files come and go; most are not there, and that is quickly seen.
    there = (path for path in paths if os.path.exists(path))  # noqa: PTH110 -- this one also says no where it may not look
    yield from dict.fromkeys(Path(os.path.realpath(path)) for path in there)


def _within(path: Path, tops: Iterable[Path]) -> bool:
    return any(path.is_relative_to(top) and path != top for top in tops)


def _repository(top: Path) -> Iterator[Path]:
    """What must not change in a repository; all of its own folder, where a link stands for a part of it."""
    for folder in (top / ".git", *_submodules(top / ".git")):
        names = [Path(name).name for name in REPOSITORY_STARTS if name.startswith(".git/")]
        if any((folder / name).is_symlink() for name in names):
            yield folder
        elif (folder / "HEAD").exists():
            with suppress(OSError):  # what the user cannot make, a command of theirs cannot make either
                (folder / "hooks").mkdir(exist_ok=True)
            yield from (folder / name for name in names)
    yield from (top / name for name in REPOSITORY_STARTS if not name.startswith(".git/"))


def _submodules(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder / "modules") as found:
        yield from (Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False))


def _pins(wanted: list[Mount], tops: list[Path]) -> Iterator[Mount]:
    """The folders on the way to a mount in a writable place: as mounts of their own they cannot be renamed, and the mount with them."""
    taken = {mount.path for mount in wanted}
    for mount in wanted:
        if mount.kind in {"hide", "read"} and _within(mount.path, tops):
            for folder in mount.path.parents:
                if folder in taken or not _within(folder, tops):
                    continue
                taken.add(folder)
                if os.access(folder.parent, os.W_OK):
                    yield Mount(folder, "pin", folder)


def _visible(wanted: Iterable[Mount]) -> list[Mount]:
    """In order of depth, without those whose place is covered already."""
    kept: dict[Path, Kind] = {}
    mounts = []
    for mount in sorted(wanted, key=lambda mount: (len(mount.path.parts), mount.kind == "hide")):
        above = next((kept[folder] for folder in mount.path.parents if folder in kept), None)
        if above in {"hide", "place"} and mount.kind in {"hide", "read", "pin"}:
            continue
        kept[mount.path] = mount.kind
        mounts.append(mount)
    return mounts


def open_source(path: Path, tops: Iterable[Path]) -> int | None:
    """A descriptor of a path below one of `tops`, opened step by step so that no link is followed; None for a path elsewhere.

    What confined jobs can write, they can also swap for a link while the next sandbox is being built.
    """
    top = next((top for top in tops if path.is_relative_to(top) and path != top), None)
    if top is None:
        return None
    at = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in path.relative_to(top).parts:
        try:
            inner = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    if stat.S_ISLNK(os.fstat(at).st_mode):
        os.close(at)
        raise OSError(f"{path} has become a link")
    return at
