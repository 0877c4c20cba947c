"""What a session, a child, a job, a user of a chat or a tool may do at most."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from hermes.lib.hosts import entry

Covers = Callable[[str, str], bool]


class Capabilities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Upper bounds: within them settings, sandbox and answers decide as ever; nothing goes beyond them, no
    answer and no `--yolo`.

    `read` and `write`: folders, absolute and with links resolved (`/`: all). `hosts`: as in a list of hosts;
    `secrets`: names of variables; `tools`: names of tools (`*`: all; in names a star ends one that stands for
    all that begin so). `unconfined`: whether a command may ever leave the sandbox. `asks`: whether questions
    may be put to a person. `tokens`: what may be spent, 0 for what is set.
    """

    read: tuple[str, ...] = ("/",)
    write: tuple[str, ...] = ("/",)
    hosts: tuple[str, ...] = ("*",)
    secrets: tuple[str, ...] = ("*",)
    tools: tuple[str, ...] = ("*",)
    unconfined: bool = True
    asks: bool = True
    tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("read", "write", "hosts", "secrets", "tools"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} takes several names, as a tuple; a text would be its letters")

    def meet(self, other: "Capabilities") -> "Capabilities":
        """What both allow: a child's are its parent's met with what was asked for it."""
        spent = [one for one in (self.tokens, other.tokens) if one]
        return Capabilities(
            read=shared(self.read, other.read),
            write=shared(self.write, other.write),
            hosts=_common(self.hosts, other.hosts, _host_covers),
            secrets=_common(self.secrets, other.secrets, name_covers),
            tools=_common(self.tools, other.tools, name_covers),
            unconfined=self.unconfined and other.unconfined,
            asks=self.asks and other.asks,
            tokens=min(spent, default=0),
        )

    def covers(self, other: "Capabilities") -> bool:
        """Whether whoever has these could read, write, reach and know all that the other could."""
        if self == ALL:
            return True
        return (
            all(self.reads(folder) for folder in other.read)
            and all(self.writes(folder) for folder in other.write)
            and all(self.reaches(host) for host in other.hosts)
            and all(self.knows(secret) for secret in other.secrets)
            and all(self.uses(tool) for tool in other.tools)
        )

    def reads(self, path: str) -> bool:
        """Whether an absolute path may be read."""
        return any(is_below(folder, path) for folder in self.read)

    def writes(self, path: str) -> bool:
        """Whether an absolute path may be written."""
        return any(is_below(folder, path) for folder in self.write)

    def reaches(self, host: str) -> bool:
        """Whether all that an entry of a list of hosts means may be reached; `*` is all of the network."""
        return any(_host_covers(one, host) for one in self.hosts)

    def uses(self, tool: str) -> bool:
        """Whether a tool of that name may be called."""
        return any(name_covers(one, tool) for one in self.tools)

    def knows(self, secret: str) -> bool:
        """Whether the variable of that name may be had."""
        return any(name_covers(one, secret) for one in self.secrets)


ALL: Final = Capabilities()
"""No bound of its own: what the settings and the user's answers give."""


def is_below(folder: str, path: str) -> bool:
    """Whether an absolute path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def shared(folders: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The folders that lie in both lists."""
    return _common(folders, others, is_below)


def name_covers(name: str, other: str) -> bool:
    """Whether a name, perhaps with a star at its end, stands for all that another one does."""
    return other.startswith(name[:-1]) if name.endswith("*") else name == other


def _host_covers(one: str, other: str) -> bool:
    return one == "*" or (other != "*" and entry(one).covers(entry(other)))


def _common(one: Sequence[str], other: Sequence[str], covers: Covers) -> tuple[str, ...]:
    """The parts of either that the other covers, in a fixed order, none of which another part covers."""
    shared = {
        part
        for mine, theirs in ((one, other), (other, one))
        for part in mine
        if any(covers(whole, part) for whole in theirs)
    }
    wider = {part for part in shared for whole in shared if whole != part and covers(whole, part)}
    return tuple(sorted(shared - wider))
