"""The prompts that a server has ready for people, and its resources, as they are told."""

from typing import Any, Final

from msgspec import Struct

from hermes.lib.text import mend_surrogates

LONGEST: Final = 100
"""Letters that the names of a prompt and of its arguments may have where people are offered it."""


class McpArgument(Struct, frozen=True, kw_only=True):
    """One argument of a prompt."""

    name: str
    description: str = ""
    required: bool = False


class McpPrompt(Struct, frozen=True, kw_only=True):
    """A prompt as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[McpArgument, ...] = ()

    @property
    def usage(self) -> str:
        """Its arguments as a person reads them: `[name]` may be left out."""
        return " ".join(one.name if one.required else f"[{one.name}]" for one in self.arguments)

    @property
    def fault(self) -> str:
        """Why nobody is offered it; empty for a prompt whose names can be shown as they are."""
        names = (self.name, *(one.name for one in self.arguments))
        if any(len(one) > LONGEST for one in names):
            return f"a name has more than {LONGEST} letters"
        return "" if all(one.isprintable() for one in names) else "a name has letters that are not seen"


def prompt_of(found: Any) -> McpPrompt:
    """A prompt from what the library gives."""
    return McpPrompt(
        name=mend_surrogates(found.name),
        description=mend_surrogates(found.description or found.title or ""),
        arguments=tuple(
            McpArgument(
                name=mend_surrogates(one.name),
                description=mend_surrogates(one.description or ""),
                required=bool(one.required),
            )
            for one in found.arguments or ()
        ),
    )
