"""Which transport speaks for an endpoint: protocols and call styles by name, imported when they are used."""

from collections.abc import Mapping

from hermes.lib.lazy import import_object
from hermes.models.transports.base import Transport
from hermes.types.request import Endpoint, Protocol

WIRES: Mapping[Protocol, str] = {
    "chat_completions": "hermes.models.transports.chat.transport:ChatCompletions",
    "anthropic_messages": "hermes.models.transports.anthropic.transport:AnthropicMessages",
    "bedrock_converse": "hermes.models.transports.bedrock.transport:BedrockConverse",
    "codex_responses": "hermes.models.transports.responses.transport:CodexResponses",
}


def transport_for(endpoint: Endpoint) -> Transport:
    """A transport of the endpoint's protocol and call style, for one session."""
    if endpoint.calls != "native":
        styled: Transport = import_object("hermes.models.local.call_styles:transport_for")(endpoint)
        return styled
    transport: Transport = import_object(WIRES[endpoint.protocol])()
    return transport
