"""Whether a credential opens its door: the provider's list of models is asked, or where there is none the
shortest reply.
"""

import anyio
import httpx2
from msgspec.structs import replace

from hermes.models import client
from hermes.models.auth.aws import sign
from hermes.models.errors.classify import classify
from hermes.models.transports.base import StatusError
from hermes.models.transports.registry import transport_for
from hermes.types.error import Failure
from hermes.types.message import User
from hermes.types.request import Endpoint, Options, Request

SECONDS = 20.0
_REPLY_TOKENS = 16
_NO_LIST = {400, 404, 405, 501}


async def probe(http: httpx2.AsyncClient, endpoint: Endpoint, *, now: float) -> Failure | None:
    """None when the credential is taken, else what went wrong. The fallback costs a few tokens."""
    if endpoint.auth == "aws":
        return await _shortest(http, endpoint, now)
    try:
        with anyio.fail_after(SECONDS):
            base = endpoint.base_url.rstrip("/")
            response = await http.get(
                (
                    f"{base}/v1/models"
                    if endpoint.protocol == "anthropic_messages" and not base.endswith("/v1")
                    else f"{base}/models"
                ),
                headers=dict(transport_for(endpoint).render(_request(endpoint)).headers),
            )
    except (httpx2.TransportError, httpx2.InvalidURL, TimeoutError) as error:
        return classify(error, endpoint, 0, now=now)
    if response.status_code in _NO_LIST:
        return await _shortest(http, endpoint, now)
    if response.status_code >= 400:
        return classify(
            StatusError(response.status_code, response.headers, response.content), endpoint, 0, now=now
        )
    return None


def _request(endpoint: Endpoint) -> Request:
    return Request(
        endpoint=endpoint,
        system="",
        messages=(User(id="probe", at=0.0, text="Hi"),),
        options=Options(max_output=_REPLY_TOKENS),
    )


async def _shortest(http: httpx2.AsyncClient, endpoint: Endpoint, now: float) -> Failure | None:
    transport, request = transport_for(endpoint), _request(endpoint)
    try:
        wire = transport.render(request)
        if endpoint.auth == "aws":
            wire = await anyio.to_thread.run_sync(sign, wire, endpoint)
        limits = replace(client.Timeouts(), first_byte=SECONDS, total=SECONDS)
        await client.send(http, wire, transport.reader(request), limits, lambda _delta: None)
    except client.FAULTS as error:
        return classify(error, endpoint, 0, now=now)
    return None
