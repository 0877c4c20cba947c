"""The context managers that a home may choose from, by name: ours, and what programs and plugins add."""

from collections.abc import Callable

from hermes.agent.compaction.compactor import Compactor
from hermes.agent.compaction.settings import DEFAULT, CompressionSettings, ContextSettings
from hermes.agent.context import ContextManager
from hermes.config.sections import Settings
from hermes.types.error import ConfigError

ContextFactory = Callable[[Settings], ContextManager]


class ContextEngines:
    """The context managers of one runtime; `current` is the one that its sessions have."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._factories: dict[str, ContextFactory] = {DEFAULT: _compactor}
        self._current: ContextManager | None = None

    def register(self, name: str, factory: ContextFactory) -> None:
        """Let the setting `context.engine` choose another one; ValueError when the name is taken, or when
        sessions have one already.
        """
        if name in self._factories:
            raise ValueError(f"There is a context manager {name} already; register this one by another name.")
        if self._current is not None:
            raise ValueError(f"Sessions are open already; register {name} before the first one.")
        self._factories[name] = factory

    def withdraw(self, name: str) -> None:
        """Let the setting choose this one no longer; sessions that have it keep it."""
        self._factories.pop(name, None)

    @property
    def chosen(self) -> str:
        """The name that the settings give."""
        return self._settings[ContextSettings].engine

    @property
    def current(self) -> ContextManager:
        """The context manager that the settings name, made when it is first needed; ConfigError when there is
        none of that name.
        """
        if self._current is None:
            name = self.chosen
            if name not in self._factories:
                known = ", ".join(sorted(self._factories))
                raise ConfigError(f"context.engine is {name}; there are: {known}.", key="context.engine")
            self._current = self._factories[name](self._settings)
        return self._current


def _compactor(settings: Settings) -> Compactor:
    return Compactor(settings[CompressionSettings])
