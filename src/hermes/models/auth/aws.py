"""Signatures of Amazon Web Services (Signature Version 4), made by botocore, for endpoints whose `auth` is
"aws".
"""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from hermes.lib.lazy import import_object
from hermes.models.transports.base import WireRequest
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

SERVICE = "bedrock"
_EXTRA = "bedrock"
_UNSIGNED = frozenset({"accept", "authorization", "user-agent"})
_find_region = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.").search


def sign(wire: WireRequest, endpoint: Endpoint) -> WireRequest:
    """The request with its signature, valid for some minutes from now.

    Credentials are those of the endpoint, a JSON object with `access_key`, `secret_key` and perhaps `token`
    and `region`; without them botocore looks where AWS tools do, which may read files and ask servers, so
    this is work for a thread. ConfigError when there are none.
    """
    given = _given(endpoint)
    credentials = (
        import_object("botocore.credentials:Credentials", extra=_EXTRA)(
            given["access_key"], given["secret_key"], given.get("token") or None
        )
        if given
        else _found()
    )
    headers = {name: value for name, value in wire.headers.items() if name.lower() not in _UNSIGNED}
    signed = import_object("botocore.awsrequest:AWSRequest", extra=_EXTRA)(
        method="POST", url=wire.url, data=wire.body, headers=headers
    )
    import_object("botocore.auth:SigV4Auth", extra=_EXTRA)(
        credentials, SERVICE, _region(wire.url, given)
    ).add_auth(signed)
    return WireRequest(url=wire.url, headers={**wire.headers, **dict(signed.headers.items())}, body=wire.body)


def _given(endpoint: Endpoint) -> dict[str, str]:
    """The endpoint's own credentials; empty when it has none."""
    if not endpoint.credential.strip():
        return {}
    try:
        tree = json.loads(endpoint.credential)
        return {"access_key": tree["access_key"], "secret_key": tree["secret_key"], **tree}
    except (ValueError, KeyError, TypeError):
        raise ConfigError(
            f"The credential of {endpoint.provider} is not an AWS key pair; give a JSON object with"
            ' "access_key" and "secret_key", or none, so that the AWS configuration of this machine is used.'
        ) from None


def _region(url: str, given: dict[str, str]) -> str:
    """The region in the address, else the one that comes with the credentials, else the one configured for
    AWS tools.
    """
    found = _find_region(urlsplit(url).netloc)
    if found:
        return found.group(1)
    return given.get("region") or _session().get_config_variable("region") or "us-east-1"


@cache
def _session() -> Any:
    return import_object("botocore.session:Session", extra=_EXTRA)()


def _found() -> Any:
    """Credentials by botocore's chain; they renew themselves."""
    credentials = _session().get_credentials()
    if credentials is None:
        raise ConfigError(
            "No AWS credentials were found; run `aws configure`, set AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY, or use a key."
        )
    return credentials.get_frozen_credentials()
