"""The prefix contract: each request extends the one before it, or the break is told (invariant 10).

What was sent is compared with what is about to be sent; nobody has to remember to announce a change.
"""

from dataclasses import dataclass

from hermes.models.spending import cost_of
from hermes.models.transports.base import Transport
from hermes.types.profile import Price
from hermes.types.request import Request
from hermes.types.usage import Usage


@dataclass(slots=True)
class Prefix:
    """The last request of a session, and the transport that rendered it; it keeps what it rendered, so equal messages are equal bytes."""

    request: Request | None = None
    transport: Transport | None = None

    def sent(self, request: Request, transport: Transport) -> str:
        """Why this request does not extend the one before it; empty when it does. It is the one before it from now on."""
        reason = self._reason(request, transport)
        self.request, self.transport = request, transport
        return reason

    def _reason(self, request: Request, transport: Transport) -> str:
        before = self.request
        if before is None:
            return ""
        if before.endpoint.model != request.endpoint.model or before.endpoint.base_url != request.endpoint.base_url:
            return f"the model is {request.endpoint.provider}/{request.endpoint.model} now"
        if before.without != request.without:
            return f"the server refused a part of the request: {', '.join(sorted(request.without - before.without)) or 'none now'}"
        if self.transport is not transport:
            return "the conversation is rendered anew"
        if before.system != request.system:
            return "the system prompt changed"
        if before.tools is not request.tools and before.tools != request.tools:
            return "the tools changed" if request.tools else "the last step of a turn offers no tools"
        if request.messages[: len(before.messages)] != before.messages:
            return "earlier messages were dropped or summed up"
        return ""


def cost_of_break(prompt: int, price: Price | None) -> float | None:
    """US dollars that reading a prompt of so many tokens anew costs; None without a price."""
    return None if price is None else cost_of(Usage(input_tokens=prompt), price)
