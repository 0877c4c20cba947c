"""One thing in another agent's home, and what becomes of it here."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Literal, get_args

from msgspec import Struct

from hermes.config.home import Home
from hermes.config.load import Value
from hermes.store.notes import Notes
from hermes.store.protocol import SessionStore

Kind = Literal[
    "settings",
    "keys",
    "sessions",
    "skills",
    "memory",
    "mcp",
    "hooks",
    "soul",
    "cron",
    "plugins",
    "instructions",
]
KINDS: Final = get_args(Kind)
KEPT: Final = "kept yours"
THERE: Final = "already here"


class Arrival(Struct, frozen=True, kw_only=True):
    """Where sessions arrive: the store, and the prompt and tools that a new session would have."""

    store: SessionStore
    system: str
    tools: tuple[object, ...]


class Part(Struct, frozen=True, kw_only=True):
    """A thing by kind and name, or a `count` of things, and in words what becomes of it. It is taken over by
    `take`, or where it goes into the store by `arrive`; without both it is only told of.
    """

    kind: Kind
    name: str
    becomes: str
    take: Callable[[], object] | None = None
    arrive: Callable[[Arrival], Awaitable[None]] | None = None
    count: int = 1

    @property
    def is_new(self) -> bool:
        """Whether there is something to take over."""
        return self.take is not None or self.arrive is not None


class Ours(Struct, frozen=True, kw_only=True):
    """What is here before anything is taken over: the home, what its settings set, its variables, its notes,
    and the ids of its sessions. Sessions that arrive work in `cwd`; `now` is the time (epoch seconds), and
    `scratch` a folder that is gone afterwards.
    """

    home: Home
    values: Mapping[str, Value]
    variables: Mapping[str, str]
    notes: Notes
    sessions: frozenset[str]
    cwd: Path
    now: float
    scratch: Path

    def sets(self, key: str) -> bool:
        """Whether the settings file of this home says something of a key."""
        return key in self.values and self.values[key].origin.startswith(self.home.config_file.name)
