"""What users set of the files that people wrote for agents."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import doc, section


@section("context_files")
class ContextFileSettings(Struct, frozen=True, kw_only=True):
    """Files of a project that are part of the prompt: AGENTS.md, CLAUDE.md, HERMES.md, .cursorrules."""

    mode: Annotated[
        Literal["layered", "first", "off"],
        doc(
            "layered: all kinds, from the top of the git repository down to the working directory, and those"
            " of folders that work moves into; first: the first kind that is there, of the working directory"
            " (.cursorrules and .cursor/rules are one kind); off: none."
        ),
    ] = "layered"
    on_hit: Annotated[
        Literal["quarantine", "block"],
        doc(
            "What hidden or forged text costs in such a file, in SOUL.md, MEMORY.md and USER.md: that"
            " stretch, or the whole file (block)."
        ),
    ] = "quarantine"
    max_chars: Annotated[
        int,
        Meta(ge=0),
        doc("Characters of one file; 0 takes 20,000, and no more than 15 % of the model's window."),
    ] = 0
