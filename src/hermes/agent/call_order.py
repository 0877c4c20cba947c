"""Which calls of one reply wait for which before them: for those that may affect them, or be affected."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final

import anyio
from msgspec import Struct, field

from hermes.types.message import ToolCall
from hermes.types.tool import ToolManifest

_ANYWHERE: Final = ("/",)


class CallTurn(Struct, eq=False):
    """A call's place in the order: those before it that it waits for. It is `free` for others that only read
    once it has ended, or only reads itself.
    """

    call: ToolCall
    manifest: ToolManifest
    paths: Sequence[str]  # of a file with several names, also what these have in common
    before: "list[CallTurn]" = field(default_factory=list)
    free: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def come(self) -> None:
        """Wait until nothing before it is in the way."""
        patient = self.manifest.effects or self.manifest.parallel == "never"
        for other in self.before:
            await (other.ended if patient else other.free).wait()

    def end(self) -> None:
        """Let all go that wait for it."""
        self.free.set()
        self.ended.set()


_running: ContextVar[CallTurn | None] = ContextVar("place", default=None)


@contextmanager
def running(place: CallTurn) -> Iterator[None]:
    """What is done meanwhile belongs to a call in its place."""
    token = _running.set(place)
    try:
        yield
    finally:
        _running.reset(token)


def let_reads_go(command: str) -> None:
    """A command is known only to read: where it is all that the running call does, what only reads, too, goes
    beside it.
    """
    place = _running.get()
    if place is not None and place.call.arguments.get("command") == command:
        place.free.set()


def in_order(
    calls: Sequence[ToolCall], manifest_of: Callable[[ToolCall], ToolManifest], cwd: str
) -> list[CallTurn]:
    """The calls in order, each with those before it that it waits for."""
    places: list[CallTurn] = []
    moved = False
    for call in calls:
        manifest = manifest_of(call)
        paths = touched(call, manifest, "" if moved else cwd)
        place = CallTurn(call, manifest, [*paths, *_linked(paths)])
        place.before = [other for other in places if _meet(other, place)]
        places.append(place)
        moved = moved or (manifest.parallel == "never" and manifest.workspace)  # a command may go elsewhere
    return places


def _meet(one: CallTurn, other: CallTurn) -> bool:
    """Whether two calls have to be made one after the other."""
    policies = {one.manifest.parallel, other.manifest.parallel}
    if "never" in policies:
        return True
    if not (one.manifest.effects or other.manifest.effects):
        return False
    if policies == {"by_path"}:
        return any(overlap(path, its) for path in one.paths for its in other.paths)
    return _is_of_files(one.manifest) and _is_of_files(other.manifest)


def _is_of_files(manifest: ToolManifest) -> bool:
    return manifest.workspace or manifest.parallel == "by_path"


def touched(call: ToolCall, manifest: ToolManifest, cwd: str) -> Sequence[str]:
    """The absolute paths that a call by path names; everything where it names one from a folder that is not
    known.
    """
    if manifest.parallel != "by_path":
        return ()
    named = [str(call.arguments[name]) for name in manifest.paths if call.arguments.get(name)]
    if manifest.patch and call.arguments.get(manifest.patch):
        lines = str(call.arguments[manifest.patch]).splitlines()
        named += [
            line.split(": ", 1)[1].strip() for line in lines if line.startswith("*** ") and ": " in line
        ]
    named = [os.path.expanduser(path) for path in named]  # noqa: PTH111  # as text
    if not cwd and not all(map(os.path.isabs, named)):  # as text
        return _ANYWHERE
    try:
        # First as it is written, as file tools do: a step up behind a link leads nowhere else
        return [os.path.realpath(os.path.normpath(os.path.join(cwd, path))) for path in named]  # noqa: PTH118
    except ValueError:  # what no path can have; the call itself says so
        return _ANYWHERE


def _linked(paths: Sequence[str]) -> Iterator[str]:
    """What all names of a file have in common, for each path that is one of several."""
    for path in paths:
        with suppress(OSError, ValueError):
            found = os.stat(path)  # noqa: PTH116  # each reply waits for this
            if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
                yield f"{found.st_dev}:{found.st_ino}"


def overlap(one: str, other: str) -> bool:
    """Whether two absolute paths are equal or one lies inside the other."""
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")
