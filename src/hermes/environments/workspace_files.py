"""The files of a machine, as a workspace uses them once a decision about them has been made."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from hermes.types.workspace import FileStat, Match

Operation = Literal["read", "write", "delete"]


class Located(Struct, frozen=True, kw_only=True):
    """A path with its links followed: `name` as a decision and the model see it, `at` where it is reached,
    `in_git` as `FileAccess` has it.
    """

    name: str
    at: str
    in_git: str = ""


class Files(Protocol):
    """The files of a machine, once a decision about them has been made; errors are the system's own
    (FileNotFoundError, …).
    """

    async def locate(self, nominal: str, operation: Operation) -> Located:
        """Where an absolute path leads, links followed; a deletion is of the link itself."""

    async def read(self, place: Located) -> bytes:
        """A regular file's bytes."""

    async def write(self, place: Located, data: bytes) -> FileStat:
        """Write a file in one step, make its folders, keep its mode."""

    async def delete(self, place: Located) -> None:
        """Delete one file."""

    async def stat(self, place: Located) -> FileStat | None:
        """What is there, or None."""

    async def list(self, place: Located) -> Sequence[FileStat]:
        """The entries of a folder, by name."""

    async def search(self, place: Located, pattern: str, file_glob: str, limit: int) -> Sequence[Match]:
        """Lines that match a regular expression; ValueError when it is not one."""

    async def find(self, place: Located, glob: str, limit: int) -> Sequence[FileStat]:
        """Files whose name or path fits a glob, newest first."""
