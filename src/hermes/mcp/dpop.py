"""Tokens that are worth nothing without a key (DPoP, RFC 9449; SEP-1932): requests prove that we have it.

The library knows tokens of the kind Bearer alone; to it, such a token is one.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final, cast

import httpx2
import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm
from msgspec import Struct

from hermes.types.error import McpError

SIGNS: Final = "ES256"
_FORM: Final = "application/x-www-form-urlencoded"


class ProofKey(Struct, frozen=True):
    """A key of ours, as PEM."""

    pem: str

    @classmethod
    def new(cls) -> "ProofKey":
        """One that nobody has seen."""
        made = generate_private_key(SECP256R1())
        return cls(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())

    def proof(self, request: httpx2.Request, now: float, *, token: str = "", nonce: str = "") -> str:
        """The proof for one request: a JWT of its method and address, with the token that it goes with."""
        key = cast("EllipticCurvePrivateKey", load_pem_private_key(self.pem.encode(), None))
        address = str(request.url.copy_with(query=None, fragment=None))
        said = {"jti": secrets.token_urlsafe(16), "htm": request.method, "htu": address, "iat": int(now)}
        if token:
            digest = hashlib.sha256(token.encode()).digest()
            said["ath"] = urlsafe_b64encode(digest).rstrip(b"=").decode()
        if nonce:
            said["nonce"] = nonce
        public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        return jwt.encode(said, key, algorithm=SIGNS, headers={"typ": "dpop+jwt", "jwk": public})


class ProofOfKey:
    """What makes requests of one sign-in prove the key, as soon as whoever gives tokens takes proofs."""

    def __init__(self, kept: str = "") -> None:
        self.bound = bool(kept)
        """Whether the token in use is bound to the key."""
        self._key = ProofKey(kept) if kept else None
        self._nonces: dict[str, str] = {}
        self._required = False

    @property
    def pem(self) -> str:
        """The key to keep beside a token; empty where the token needs none."""
        return self._key.pem if self._key and self.bound else ""

    def sign(self, request: httpx2.Request, now: float) -> None:
        """Have a request prove the key, where it brings a bound token or asks for a token."""
        if self._key is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if request.headers.get("content-type") == _FORM:
            token = ""
        elif self.bound and scheme in ("Bearer", "DPoP"):
            request.headers["authorization"] = f"DPoP {token}"
        else:
            return
        nonce = self._nonces.get(_origin(request), "")
        request.headers["dpop"] = self._key.proof(request, now, token=token, nonce=nonce)

    async def read(self, response: httpx2.Response) -> httpx2.Response:
        """Learn whether proofs are taken, and whether a token is bound; gives the response to go on with.
        McpError for a token that cannot be used: one that is not bound where the server wants that, and one
        that no header can hold.
        """
        if (nonce := response.headers.get("dpop-nonce")) is not None:
            self._nonces[_origin(response.request)] = nonce
        if not response.is_success or "json" not in response.headers.get("content-type", ""):
            return response
        if response.request.method != "GET" and response.request.headers.get("content-type") != _FORM:
            return response
        said = _table(await response.aread())
        if SIGNS in (said.get("dpop_signing_alg_values_supported") or ()) and "token_endpoint" in said:
            self._key = self._key or ProofKey.new()
        self._required = self._required or said.get("dpop_bound_access_tokens_required") is True
        if "access_token" not in said:
            return response
        self.bound = str(said.get("token_type")).lower() == "dpop" and self._key is not None
        if self._required and not self.bound:
            raise McpError(
                "it takes only tokens that are bound to a key (DPoP), and was given one that is not"
            )
        if not str(said["access_token"]).isascii():
            raise McpError("the token that was given has letters outside ASCII, which no header can hold")
        changed = {**said, "token_type": "Bearer"} if self.bound else said
        return httpx2.Response(response.status_code, json=changed, request=response.request)

    def wants_other_nonce(self, response: httpx2.Response) -> bool:
        """Whether a request was refused for its nonce, so that it goes out once more with the new one."""
        return (
            response.status_code in (400, 401)
            and "dpop-nonce" in response.headers
            and "dpop" in response.request.headers
            and _nonce_of(response.request) != response.headers["dpop-nonce"]
        )


def _nonce_of(request: httpx2.Request) -> str | None:
    found: str | None = jwt.decode(request.headers["dpop"], options={"verify_signature": False}).get("nonce")
    return found


def _origin(request: httpx2.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


def _table(content: bytes) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
