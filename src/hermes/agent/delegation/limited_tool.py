"""The tool delegate_task as the settings limit it: a source of tools between the process and a runtime."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.settings import DelegationSettings
from hermes.tools.registry import ToolSource
from hermes.types.tool import ToolEntry

DELEGATE: Final = "delegate_task"
SIDE_BY_SIDE: Final = "{description} Up to {most} run side by side, others wait."


class LimitedDelegation(Struct, frozen=True):
    """What lies below, with the limit of the settings in force in the words for the model."""

    below: ToolSource
    settings: Callable[[], DelegationSettings]

    @property
    def generation(self) -> int:
        """That of what lies below."""
        return self.below.generation

    def entries(self) -> dict[str, ToolEntry]:
        """The tools below, by name, sorted."""
        found = self.below.entries()
        if DELEGATE in found:
            entry = found[DELEGATE]
            found[DELEGATE] = replace(entry, dynamic_schema_overrides=partial(self._shown, entry))
        return found

    def _shown(self, entry: ToolEntry) -> Mapping[str, Any]:
        most = self.settings().max_concurrent_children
        return {"description": SIDE_BY_SIDE.format(description=entry.description, most=most)}
