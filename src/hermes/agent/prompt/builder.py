"""The system prompt: sections that are written once for a session, then frozen with it."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from hermes.types.capabilities import ALL, Capabilities

SMALL_WINDOW = 16_384
"""Up to this many tokens a model gets the small prompt and few tools: they must stay under a quarter of the
window.
"""


class Place(Struct, frozen=True, kw_only=True):
    """Where a session works: directory, operating system, git branch (empty when none), and how commands are
    confined.

    `remote` says that it is another machine than the one Hermes runs on; `home` is the user's folder there.
    """

    cwd: str
    platform: str
    branch: str = ""
    confinement: str = ""
    date: str = ""
    home: str = ""
    remote: bool = False


class PromptContext(Struct, frozen=True, kw_only=True):
    """What sections write for: a place, an app (`cli`, `library`, …), a model and its family, its window in
    tokens, the names of the tools on offer, and what may be read. A `small` one gets a prompt of its own;
    `notes` says whether those of the project count.
    """

    place: Place
    app: str = ""
    model: str = ""
    family: str = ""
    window: int = 128_000
    tools: frozenset[str] = frozenset()
    bounds: Capabilities = ALL
    small: bool = False
    notes: bool = True


class PromptSpan(Struct, frozen=True):
    """A stretch of the prompt, and where it comes from: a file's path, or `built in`. It is not `lasting`
    where it differs by itself: by the day, the machine, what was noted.
    """

    source: str
    text: str
    lasting: bool = True


class PromptSection(Protocol):
    """A part of the system prompt.

    `name` tells it from the others, `order` says where it stands: lower numbers come first.
    """

    @property
    def name(self) -> str:
        """The name, which no other section has."""

    @property
    def order(self) -> int:
        """The place among the sections."""

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """Its words for a session, asked for once; none when it has nothing to say."""


class SystemPrompt:
    """The sections of a runtime's prompts."""

    def __init__(self, sections: Iterable[PromptSection]) -> None:
        self._sections: dict[str, PromptSection] = {}
        for one in sections:
            self.register(one)

    def register(self, section: PromptSection) -> None:
        """Add a section to the prompts of sessions that are made from now on; ValueError when its name is
        taken.
        """
        if section.name in self._sections:
            raise ValueError(f"There is a prompt section {section.name!r} already; give it another name.")
        self._sections[section.name] = section

    async def spans(self, context: PromptContext) -> list[tuple[str, PromptSpan]]:
        """The stretches of the prompt in order, each with the name of its section."""
        ordered = sorted(self._sections.values(), key=lambda one: (one.order, one.name))
        return [(one.name, span) for one in ordered for span in await one.spans(context) if span.text]

    async def text(self, context: PromptContext) -> str:
        """The whole prompt."""
        return "\n\n".join([span.text for _, span in await self.spans(context)])
