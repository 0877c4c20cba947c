"""What of a session's log a model sees, and who makes room when that is too much."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from hermes.agent.log import Log
from hermes.lib.abridged import Abridged
from hermes.models.side_calls import SideQuestion
from hermes.types.error import ContextOverflow
from hermes.types.message import Compaction, Message
from hermes.types.ports import Ports
from hermes.types.request import Endpoint


class ContextRequest(Abridged, Struct, frozen=True, kw_only=True):
    """What room is made for: a session's log, what stands before it in a request, and who may be asked.

    `ask` puts a side question to the model of the task `compression`; None when no model answers.
    `asked_window` is what that model takes, in tokens; 0 where there is none.
    """

    unshown: ClassVar = ("ask", "redact")

    log: Log
    endpoint: Endpoint
    system: str
    tools: Sequence[Mapping[str, Any]]
    reply: int
    ports: Ports
    ask: Callable[[SideQuestion], Awaitable[str | None]]
    redact: Callable[[str], str]
    asked_window: int = 0


class ContextManager(Protocol):
    """Chooses what a model sees of a log, and shortens it when a request would be too long."""

    def messages(self, log: Log) -> tuple[Message, ...]:
        """The messages of the next request; each extends the one before it unless room was made."""

    def is_full(self, wanted: ContextRequest) -> bool:
        """Whether room is to be made before the next request."""

    async def make_room(
        self, wanted: ContextRequest, *, overflow: ContextOverflow | None = None, focus: str | None = None
    ) -> Compaction | None:
        """An entry that stands for older messages, to be appended; None where nothing can be left out.

        `overflow` is what an endpoint said to a request that was too long. A person who asks for it gives a
        `focus`: a topic that the record is to tell most of, or nothing.
        """
