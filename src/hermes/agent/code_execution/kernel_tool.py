"""The tool execute_code with words about the kernel: a source of tools between the process and a runtime."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.tools.registry import ToolSource
from hermes.types.tool import ToolEntry

EXECUTE: Final = "execute_code"
KEPT: Final = (
    "{description} Variables are kept from one script to the next, and a last expression is printed."
)


class ToldOfKernel(Struct, frozen=True):
    """What lies below, with a sentence about the kernel for the model where the settings want one."""

    below: ToolSource
    settings: CodeExecutionSettings

    @property
    def generation(self) -> int:
        """That of what lies below."""
        return self.below.generation

    def entries(self) -> dict[str, ToolEntry]:
        """The tools below, by name, sorted."""
        found = self.below.entries()
        if self.settings.kernel and EXECUTE in found:
            entry = found[EXECUTE]
            found[EXECUTE] = replace(entry, dynamic_schema_overrides=partial(_shown, entry))
        return found


def _shown(entry: ToolEntry) -> Mapping[str, Any]:
    description = entry.schema.get("description") or entry.description
    return {"description": KEPT.format(description=description)}
