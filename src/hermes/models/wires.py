"""Which transport speaks for an endpoint: protocols and call styles by name, imported when they are used."""

from collections.abc import Mapping

from hermes.lib.lazy import load as late
from hermes.models.transports.base import Transport
from hermes.types.request import Endpoint, Protocol

WIRES: Mapping[Protocol, str] = {
    "chat_completions": "hermes.models.transports.chat_completions:ChatCompletions",
    "anthropic_messages": "hermes.models.transports.anthropic_messages:AnthropicMessages",
    "bedrock_converse": "hermes.models.transports.bedrock_converse:BedrockConverse",
    "codex_responses": "hermes.models.transports.codex_responses:CodexResponses",
}


def transport_for(endpoint: Endpoint) -> Transport:
    """A transport of the endpoint's protocol and call style, for one session."""
    if endpoint.calls != "native":
        styled: Transport = late("hermes.models.styles:transport_for")(endpoint)
        return styled
    transport: Transport = late(WIRES[endpoint.protocol])()
    return transport
