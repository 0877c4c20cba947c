"""Tokens bound to a key: what goes over the wire, and what is kept, against a server of our own."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit
from warnings import catch_warnings

import httpx2
import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.auth import AuthorizationCodeResult

from hermes.mcp.dpop import ProofKey, ProofOfKey
from hermes.mcp.oauth import OwnWorkload, SignedIn, TokenFile, own_rights
from hermes.mcp.settings import McpOAuth
from hermes.types.error import McpError

pytestmark = pytest.mark.anyio

SERVER, NOW = "http://127.0.0.1:7/mcp", 1_000_000.0
KEY = ProofKey.new()
TOKENS = "http://127.0.0.1:7/token"


def proved(request: httpx2.Request) -> dict[str, Any]:
    """What the proof of a request says, by the key that it names itself."""
    head = jwt.get_unverified_header(request.headers["dpop"])
    assert (head["typ"], head["alg"], "d" in head["jwk"]) == ("dpop+jwt", "ES256", False)
    said: dict[str, Any] = jwt.decode(
        request.headers["dpop"], jwt.PyJWK(head["jwk"]), ["ES256"], options={"verify_iat": False}
    )
    return said


def hashed(token: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()


@given(
    method=st.sampled_from(["GET", "POST", "DELETE"]),
    path=st.text("abc/é%20", max_size=9),
    query=st.dictionaries(st.text("ab", min_size=1), st.text(max_size=3), max_size=2),
    token=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1),
)
def test_a_proof_is_for_one_method_one_address_and_one_token(
    method: str, path: str, query: dict[str, str], token: str
) -> None:
    request = httpx2.Request(method, f"https://host.example/{path}", params=query)
    request.headers["authorization"] = f"Bearer {token}"
    proof = ProofOfKey(KEY.pem)
    proof.sign(request, NOW)
    first = proved(request)
    assert first == {
        "jti": first["jti"],
        "htm": method,
        "htu": str(httpx2.URL(f"https://host.example/{path}")),
        "iat": int(NOW),
        "ath": hashed(token),
    }
    assert request.headers["authorization"] == f"DPoP {token}"
    proof.sign(request, NOW)
    assert proved(request)["jti"] != first["jti"]


class Issuer:
    """A server with its own sign-in, which binds tokens to a key if it `binds`; `nonces` is what it answers with."""

    def __init__(self, *, binds: bool = True, nonces: Callable[[int], str] = lambda _: "") -> None:
        self.binds, self.nonces = binds, nonces
        self.requests: list[httpx2.Request] = []
        self.codes: dict[str, str] = {}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        seen = httpx2.Request(request.method, request.url, headers=request.headers, content=request.content)
        self.requests.append(seen)  # a copy: the same one is sent again with other headers
        answer = self._answer(request)
        if nonce := self.nonces(len(self.requests)):
            answer.headers["dpop-nonce"] = nonce
        return answer

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path == "/.well-known/oauth-authorization-server":
            return httpx2.Response(200, json=self._metadata())
        if path == "/register":
            return httpx2.Response(201, json={"client_id": "us", "redirect_uris": ["http://127.0.0.1/back"]})
        if path == "/token":
            kind = "DPoP" if self.binds and "dpop" in request.headers else "bearer"
            number = sum(one.url.path == "/token" for one in self.requests)
            made = {"access_token": f"token-{number}", "token_type": kind, "expires_in": 3600}
            return httpx2.Response(200, json={**made, "refresh_token": "again"})
        if path == "/mcp" and "authorization" in request.headers:
            return httpx2.Response(200, json={"access_token": "of a tool", "token_type": "DPoP"})
        return httpx2.Response(401 if path == "/mcp" else 404)

    def _metadata(self) -> dict[str, Any]:
        whole = {"issuer": "http://127.0.0.1:7", "authorization_endpoint": "http://127.0.0.1:7/authorize"}
        whole |= {"token_endpoint": TOKENS, "registration_endpoint": "http://127.0.0.1:7/register"}
        binding = {"dpop_signing_alg_values_supported": ["RS256", "ES256"]}
        return {**whole, "code_challenge_methods_supported": ["S256"], **(binding if self.binds else {})}

    def client(self, auth: httpx2.Auth) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(auth=auth, transport=httpx2.MockTransport(self))

    def sent(self, path: str) -> list[httpx2.Request]:
        return [one for one in self.requests if one.url.path == path]


def signed_in(file: TokenFile) -> SignedIn:
    """A sign-in whose person agrees at once."""
    states: list[str] = []

    async def visit(url: str) -> None:
        states.append(parse_qs(urlsplit(url).query)["state"][0])

    async def returned() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="yes", state=states[-1])

    return SignedIn(SERVER, McpOAuth(), file, "http://127.0.0.1/back", visit, returned)


async def test_a_bound_sign_in_is_kept_with_its_key_and_goes_on_in_another_process(tmp_path: Path) -> None:
    issuer, now = Issuer(), [NOW]
    for _ in range(2):
        async with issuer.client(signed_in(TokenFile(tmp_path / "kept", lambda: now[0]))) as client:
            answer = await client.post(SERVER)
            assert answer.json() == {"access_token": "of a tool", "token_type": "DPoP"}
        now[0] += 3600  # the second one refreshes
    first, last = (proved(one) for one in issuer.sent("/token"))
    assert (first["htu"], "ath" in first, "ath" in last) == (TOKENS, False, False)
    calls = [one for one in issuer.sent("/mcp") if "authorization" in one.headers]
    assert [one.headers["authorization"] for one in calls] == ["DPoP token-1", "DPoP token-2"]
    assert [proved(one)["ath"] for one in calls] == [hashed("token-1"), hashed("token-2")]
    keys = [jwt.get_unverified_header(one.headers["dpop"])["jwk"] for one in (*issuer.sent("/token"), *calls)]
    assert keys == keys[:1] * 4


async def test_a_server_that_binds_nothing_gets_plain_tokens(tmp_path: Path) -> None:
    issuer, file = Issuer(binds=False), TokenFile(tmp_path / "kept", lambda: NOW)
    async with issuer.client(signed_in(file)) as client:
        assert (await client.post(SERVER)).status_code == 200
    assert issuer.sent("/mcp")[-1].headers["authorization"] == "Bearer token-1"
    assert ([one for one in issuer.requests if "dpop" in one.headers], file.load().key) == ([], "")


class Giving(Issuer):
    """One that says of its server what `resource` says, and gives one token."""

    def __init__(self, token: str, resource: dict[str, Any]) -> None:
        super().__init__(binds=False)
        self.token, self.resource = token, resource

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/.well-known/oauth-protected-resource/mcp":
            whole = {"resource": SERVER, "authorization_servers": ["http://127.0.0.1:7"]}
            return httpx2.Response(200, json={**whole, **self.resource})
        if request.url.path == "/token":
            return httpx2.Response(200, json={"access_token": self.token, "token_type": "Bearer"})
        return super()._answer(request)


@pytest.mark.parametrize(
    ("token", "resource", "told"),
    [
        (
            "plain",
            {"dpop_bound_access_tokens_required": True},
            "it takes only tokens that are bound to a key (DPoP), and was given one that is not",
        ),
        ("tökén", {}, "the token that was given has letters outside ASCII, which no header can hold"),
    ],
)
async def test_a_token_that_cannot_be_used_is_refused_with_a_sentence(
    tmp_path: Path, token: str, resource: dict[str, Any], told: str
) -> None:
    issuer, file = Giving(token, resource), TokenFile(tmp_path / "kept", lambda: NOW)
    async with issuer.client(signed_in(file)) as client:
        with pytest.raises(McpError) as refused:
            await client.post(SERVER)
    assert (str(refused.value), file.load().tokens) == (told, {})
    assert [one for one in issuer.sent("/mcp") if "authorization" in one.headers] == []


async def test_a_nonce_is_taken_over_and_one_that_never_stays_is_tried_twice(tmp_path: Path) -> None:
    class Refusing(Issuer):
        def _answer(self, request: httpx2.Request) -> httpx2.Response:
            if request.url.path == "/token":
                return httpx2.Response(400, json={"error": "use_dpop_nonce"})
            return super()._answer(request)

    issuer = Refusing(nonces=lambda number: f"nonce-{number}")
    async with issuer.client(signed_in(TokenFile(tmp_path / "kept", lambda: NOW))) as client:
        with pytest.raises(Exception, match="use_dpop_nonce"):
            await client.post(SERVER)
    asked = issuer.sent("/token")
    before = [issuer.requests.index(one) for one in asked]
    assert [proved(one)["nonce"] for one in asked] == [f"nonce-{number}" for number in before]
    assert len(asked) == 2


async def test_a_workload_proves_itself_by_the_file_as_it_is_now(tmp_path: Path) -> None:
    issuer, word = Issuer(), tmp_path / "word"
    options = McpOAuth(
        grant="workload_identity", client_id="job", assertion_file=str(word), issuer="http://127.0.0.1:7"
    )
    auth = OwnWorkload(SERVER, options, TokenFile(tmp_path / "kept", lambda: NOW))
    async with issuer.client(auth) as client:
        with pytest.raises(McpError, match=r"the assertion_file .*word cannot be read"):
            await client.post(SERVER)
        word.write_text("the machine's word\n")
        assert (await client.post(SERVER)).status_code == 200
    (asked,) = issuer.sent("/token")
    assert dict(parse_qsl(asked.content.decode())) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "the machine's word",
        "client_id": "job",
    }


@pytest.mark.parametrize("grant", ["client_credentials", "workload_identity"])
def test_a_client_of_its_own_is_made_without_a_warning_of_the_library(
    tmp_path: Path, grant: Literal["client_credentials", "workload_identity"]
) -> None:
    options = McpOAuth(grant=grant, client_id="us", client_secret="s", assertion_file="word")
    with catch_warnings(record=True, action="always") as warned:
        own_rights(SERVER, options, TokenFile(tmp_path / "kept", lambda: NOW))
    assert warned == []
