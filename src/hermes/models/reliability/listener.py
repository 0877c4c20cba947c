"""Who hears of a reply as it comes, and who has a say in the request for it."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from hermes.types.error import Failure
from hermes.types.event import Attempted, PrefixBroken
from hermes.types.message import Assistant
from hermes.types.request import Delta, Request


class RequestWatch(Protocol):
    """Who is told of each request around it, and waited for."""

    async def changed(self, request: Request, body: bytes) -> bytes:
        """A request is about to be sent with this body: the body that it is to have; the same object where
        nobody wants another.
        """

    async def around(self, body: bytes, send: Callable[[bytes], Awaitable[Assistant]]) -> Assistant:
        """What sending a body brings, or what stands for that."""

    async def sends(self, request: Request) -> None:
        """A request is about to be sent."""

    async def ended(self, found: Assistant | Failure, attempt: int, attempts: int, seconds: float) -> None:
        """It has brought a reply, or failed, after these seconds; it may be tried so many times."""


class ReplyListener(Struct, frozen=True, kw_only=True):
    """Who hears of a reply as it comes: `emit` gets its pieces, `tell` the end of every request, before the
    pause that may follow; `watch` is told of each request, too.

    When a request has failed, the pieces that it had brought are void. `broken` hears of a request that does
    not extend the last one.
    """

    emit: Callable[[Delta], None]
    tell: Callable[[Attempted], None]
    broken: Callable[[PrefixBroken], object]
    watch: RequestWatch | None = None
