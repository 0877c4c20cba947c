"""The settings of delegation as config.yaml has them now, for the sessions that are made from then on."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hermes.agent.allowlist import stamp_of
from hermes.agent.settings import DelegationSettings
from hermes.config.sections import Settings
from hermes.types.error import ConfigError


class CurrentSettings:
    """Reads them again when the file is another one than the last time; those that were `known` before hold
    while it has a fault.
    """

    def __init__(self, config_file: Path, known: Settings, read: Callable[[], Settings]) -> None:
        self._config_file, self._read = config_file, read
        self._known, self._stamp = known[DelegationSettings], stamp_of(config_file)

    def now(self) -> DelegationSettings:
        """Those in force."""
        stamp = stamp_of(self._config_file)
        if stamp != self._stamp:
            self._stamp = stamp
            with suppress(ConfigError):
                self._known = self._read()[DelegationSettings]
        return self._known
