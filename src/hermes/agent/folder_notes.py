"""Notes for agents in folders that work moves into: the model gets them with the result that led there."""

import posixpath
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from hermes.agent.prompt.context_files import NAMES
from hermes.agent.prompt.notes import TextRules, readable
from hermes.agent.prompt.surroundings import in_one_line
from hermes.agent.provenance import listening
from hermes.types.error import HermesError
from hermes.types.message import ContextBlock, Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session

MOST: Final = 3
"""How many files one result brings along at most."""
SECONDS: Final = 2.0
"""A machine that takes longer to say what is there is not waited for."""


class FolderNotes:
    """What a session was told of the folders of its workspace; `rules` is None where it is to be told
    nothing.
    """

    def __init__(self, session: "Session", rules: TextRules | None) -> None:
        self._session, self._rules = session, rules
        self._bare: set[str] = set()

    async def arrived(self, calls: Sequence[ToolCall]) -> tuple[ContextBlock, ...]:
        """The notes of folders that these calls were the first to work in."""
        opened = self._session.opened
        if self._rules is None or opened is None:
            return ()
        top, cwd = str(self._session.spec.cwd), opened.workspace.cwd
        context, log = self._session.services.context, self._session.whole_log
        known = {top, *self._bare, *_told(context.messages(log))}  # what was summed up is told again
        wanted = {posixpath.normpath(posixpath.join(cwd, one)) for one in (cwd, *self._folders(calls))}
        fresh = [one for one in _chains(sorted(wanted), top) if one not in known]
        found: list[ContextBlock] = []
        with anyio.move_on_after(SECONDS):
            for folder in fresh:
                if not self._counts(folder):
                    self._bare.add(folder)
                    continue
                notes = [block async for block in self._notes(folder, self._rules)]
                found += notes
                self._bare |= set() if notes else {folder}
        return tuple(found[:MOST])

    def _counts(self, folder: str) -> bool:
        """Whether notes of a folder may count: it may be in another repository, to which a person said no."""
        here = Path(folder)
        return not here.is_dir() or not self._session.services.trust.is_refused(here)

    def _folders(self, calls: Sequence[ToolCall]) -> Iterator[str]:
        """The folders of the files that calls name, by what their tools declare."""
        for call in calls:
            entry = self._session.tools.tools.get(call.name)
            for name in entry.manifest.paths if entry else ():
                yield posixpath.dirname(_path(call.arguments, name))

    async def _notes(self, folder: str, rules: TextRules) -> AsyncIterator[ContextBlock]:
        workspace = self._session.workspace
        for name in NAMES:
            path = posixpath.join(folder, name)
            with listening() as outside:
                try:
                    found = await workspace.stat(path)
                    raw = await workspace.read(path) if found and found.kind == "file" else b""
                except (HermesError, OSError):
                    continue
            text = readable(raw, path, rules)
            if text and not outside:  # notes that others installed speak to nobody here
                about = f"(Notes for agents of the folder {in_one_line(folder)}, which hold for work in it:)"
                words = f"{about}\n{text}"
                yield ContextBlock(kind="folder", text=words, source=path)


def _path(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def _chains(folders: Iterable[str], top: str) -> Iterator[str]:
    """Each folder below `top` after those that it lies in."""
    for folder in folders:
        if folder.startswith(f"{top.rstrip('/')}/"):
            parts = posixpath.relpath(folder, top).split("/")
            yield from (posixpath.join(top, *parts[: count + 1]) for count in range(len(parts)))


def _told(log: Sequence[Message]) -> Iterator[str]:
    """The folders whose notes are in a log."""
    for one in log:
        for block in one.blocks if isinstance(one, ToolResult) else ():
            if block.kind == "folder":
                yield posixpath.dirname(block.source)
