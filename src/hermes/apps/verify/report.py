"""What a trial of a tool came to, as its program writes it and the command reads it."""

from msgspec import Struct

from hermes.tools.verify.faults import ToolFault


class ToolTrialReport(Struct, frozen=True, kw_only=True):
    """How one tool did: the calls it was tried with, what is wrong with it, why it could not be called."""

    tool: str
    calls: int = 0
    faults: tuple[ToolFault, ...] = ()
    uncalled: str = ""


class ToolList(Struct, frozen=True, kw_only=True):
    """The tools that there are, and the tool files that could not be loaded, each with the reason."""

    tools: tuple[str, ...]
    built_in: tuple[str, ...]
    broken: dict[str, str]
