"""What users set of the files that people wrote for agents."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import doc, section
from hermes.safety.text.phrases import check_phrases


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
    phrases: Annotated[
        list[str],
        doc(
            "Regular expressions, whatever the case of letters, whose matches count as hidden or forged text"
            " in such files; docs/guide/untrusted-text.md has a list."
        ),
    ] = []
    trust: Annotated[
        Literal["ask", "all", "known"],
        doc(
            "In which folders such files count. ask: the screen asks once for each folder that has some, and"
            " elsewhere they count unless the answer was no; all: they count, and nobody is asked; known:"
            " only where the answer was yes."
        ),
    ] = "ask"
    max_chars: Annotated[
        int,
        Meta(ge=0),
        doc("Characters of one file; 0 takes 20,000, and no more than 15 % of the model's window."),
    ] = 0

    def __post_init__(self) -> None:
        check_phrases("phrases", self.phrases)
