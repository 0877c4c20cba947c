"""What a memory provider does: it recalls what fits a message, hears what was answered, and brings its tools.

The notes of MEMORY.md and USER.md are always there and come first; at most one provider stands beside them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from hermes.config.sections import Settings
from hermes.lib.lazy import import_object
from hermes.store.facts import Fact
from hermes.store.protocol import Viewer
from hermes.types.error import ConfigError
from hermes.types.ports import Ports
from hermes.types.tool import ToolEffect


class MemoryScope(Struct, frozen=True, kw_only=True):
    """For whom something is recalled or noted: the session, all who are told what is found, the time (epoch
    seconds) and, for a call of a tool, what that session has read from outside.

    `speaker` is the origin of who speaks, for whom something is noted; None where several do in one turn, so
    that it cannot be told who wants it noted.
    """

    session: str
    viewer: Viewer
    speaker: str | None = ""
    outside: tuple[str, ...] = ()
    at: float = 0.0


class Recalled(Struct, frozen=True, kw_only=True):
    """Something that was recalled; `outside` names what from outside it was learnt from."""

    text: str
    outside: tuple[str, ...] = ()


class MemoryTool(Struct, frozen=True, kw_only=True):
    """A tool of a provider: its schema, and what it may change."""

    schema: Mapping[str, Any]
    effects: tuple[ToolEffect, ...] = ("memory",)


class MemoryAnswer(Struct, frozen=True, kw_only=True):
    """What a provider's tool gives: JSON, and the names of what from outside is in it."""

    content: str
    outside: tuple[str, ...] = ()


class MemoryProvider(Protocol):
    """One memory. Every method may block: each runs in a thread, one at a time, and whoever waits for it does
    so for a bounded time only. What a method raises is logged.
    """

    @property
    def name(self) -> str:
        """The name in the settings."""

    def tools(self) -> Sequence[MemoryTool]:
        """The tools that sessions get."""

    def system_prompt_block(self) -> str:
        """What the prompt of a new session says of this memory; "" for nothing."""

    def session_started(self, scope: MemoryScope) -> None:
        """A session was opened."""

    def prefetch(self, query: str, scope: MemoryScope) -> Sequence[Recalled]:
        """What fits a message, the best first; it is told before the message."""

    def call(self, tool: str, arguments: Mapping[str, Any], scope: MemoryScope) -> MemoryAnswer:
        """Run one of the tools; HermesError says in words for a model what cannot be."""

    def session_ended(self, scope: MemoryScope) -> None:
        """A session was closed."""

    def close(self) -> None:
        """Let go of what is open."""


@runtime_checkable
class TurnListener(Protocol):
    """A provider that learns from turns; another one is not told of them, which would cost each a thread."""

    def sync_turn(self, user: str, reply: str, scope: MemoryScope) -> None:
        """A turn has ended with this reply."""


@runtime_checkable
class NextTurnPrefetcher(Protocol):
    """A provider that gets ready for the next message of a session; another one is asked beforehand only
    where it is slow, for what it finds in time for the message itself fits better.
    """

    def queue_prefetch(self, query: str, scope: MemoryScope) -> None:
        """Look for what the message after this turn may need, for `prefetch` to give it at once."""


@runtime_checkable
class FactKeeper(MemoryProvider, Protocol):
    """A provider whose facts a person can look through and take back; of another one its name is told."""

    def noted(self) -> Sequence[Fact]:
        """All facts, whoever they were noted for, the oldest first; StoreError when they cannot be read."""

    def forget(self, fact_id: str) -> bool:
        """Forget a fact, whoever it was noted for; whether there was one. StoreError as before."""


class ProviderHome(Struct, frozen=True, kw_only=True):
    """What a provider is made from; `folder` is the home's own for memory, a `pathlib.Path`."""

    folder: Any
    settings: Settings
    environ: Mapping[str, str]
    ports: Ports


ProviderFactory = Callable[[ProviderHome], MemoryProvider]


class MemoryProviders:
    """The providers that may be chosen, by name."""

    def __init__(self) -> None:
        self._factories: dict[str, ProviderFactory] = {}

    def register(self, name: str, factory: ProviderFactory) -> None:
        """Let settings choose a provider; ValueError when the name is taken."""
        if name in self._factories:
            raise ValueError(f"There is a memory provider {name} already; register this one by another name.")
        self._factories[name] = factory

    def withdraw(self, name: str) -> None:
        """Let settings choose this one no longer."""
        self._factories.pop(name, None)

    def make(self, name: str, home: ProviderHome) -> MemoryProvider:
        """The provider of that name; ConfigError when there is none."""
        self.require(name)
        return self._factories[name](home)

    def has(self, name: str) -> bool:
        """Whether there is a provider of that name."""
        return name in self._factories

    def require(self, name: str) -> None:
        """ConfigError when no provider has that name."""
        if name not in self._factories:
            raise ConfigError(
                f"memory.provider is {name}; there are {', '.join(sorted(self._factories))}.",
                key="memory.provider",
            )


def shipped() -> MemoryProviders:
    """The providers that come with Hermes."""
    providers = MemoryProviders()
    for name in ("sqlite", "git_notes"):
        providers.register(name, lambda home, name=name: _shipped(name, home))  # type: ignore[misc]
    return providers


def _shipped(name: str, home: ProviderHome) -> MemoryProvider:
    provider: MemoryProvider = import_object(f"hermes.agent.fact_memory:{name}")(home)
    return provider
