"""Signing in: by a code typed on another device (RFC 8628), by the browser here (RFC 7636, loopback), and
refreshing what came of it.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream
from msgspec import Struct

from hermes.lib.abridged import Abridged
from hermes.models.catalog.catalogue import SignIn
from hermes.types.error import HermesError

ANSWER_SECONDS = 15.0
BROWSER_SECONDS = 300.0
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_REQUEST_LIMIT = 16_384
_PAGE = "<!doctype html><meta charset=utf-8><title>Hermes</title><p>{}</p>"


class SignInError(HermesError):
    """Signing in or refreshing failed; `final` says that the same tokens will never do."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class Tokens(Abridged, Struct, frozen=True, kw_only=True):
    """What a sign-in gives; `expires_at` is in epoch seconds, None where the server does not say."""

    unshown: ClassVar = ("access", "refresh")

    access: str
    refresh: str = ""
    expires_at: float | None = None


class DevicePrompt(Struct, frozen=True, kw_only=True):
    """What a person has to do: open `url` and enter `code`; `whole_url`, where there is one, has the code in
    it.
    """

    url: str
    code: str
    whole_url: str = ""


class Tools(Struct, frozen=True, kw_only=True):
    """What a sign-in needs from outside: HTTP, the time in epoch seconds, and random bytes."""

    http: httpx2.AsyncClient
    now: Callable[[], float]
    random: Callable[[int], bytes]


async def device_code(
    tools: Tools, given: SignIn, show: Callable[[DevicePrompt], None], *, slower: float = 5.0
) -> Tokens:
    """Tokens, once the person has agreed elsewhere; SignInError when they refuse or let the code expire.

    `slower` is by how many seconds the wait grows each time the server asks for that.
    """
    verifier = _encoded(tools.random(32))
    asked = {"client_id": given.client_id, "scope": given.scope, **_challenge(verifier)}
    status, first = await _post(tools, given.device_url, asked)
    if status != 200 or "device_code" not in first:
        raise SignInError(f"{_host(given.device_url)} did not begin a sign-in: {_words(status, first)}.")
    url = str(first.get("verification_uri") or first.get("verification_url", ""))
    show(
        DevicePrompt(
            url=url,
            code=str(first.get("user_code", "")),
            whole_url=str(first.get("verification_uri_complete", "")),
        )
    )
    wait, end = float(first.get("interval", 5)), tools.now() + float(first.get("expires_in", 900))
    form = {
        "grant_type": _DEVICE_GRANT,
        "device_code": first["device_code"],
        "client_id": given.client_id,
        "code_verifier": verifier,
    }
    while tools.now() < end:
        await anyio.sleep(wait)
        status, answer = await _post(tools, given.token_url, form)
        if status == 200:
            return _tokens(answer, tools.now(), given.token_url)
        wait += slower if _error(answer) == "slow_down" else 0.0
        if _error(answer) not in {"slow_down", "authorization_pending"}:
            raise SignInError(_refusal(status, answer))
    raise SignInError("The code has expired before anybody entered it; start again.")


async def browser(
    tools: Tools, given: SignIn, show: Callable[[str], None], *, seconds: float = BROWSER_SECONDS
) -> Tokens:
    """Tokens, once the person has agreed in a browser on this machine; `show` gets the address to open."""
    verifier, state = _encoded(tools.random(32)), _encoded(tools.random(16))
    async with await listen(given.redirect_port) as listener:
        port = port_of(listener)
        redirect = f"http://{given.redirect_host}:{port}{given.redirect_path}"
        asked = {
            "response_type": "code",
            "client_id": given.client_id,
            "redirect_uri": redirect,
            "scope": given.scope,
            "state": state,
            **_challenge(verifier),
            **given.parameters,
        }
        show(f"{given.authorize_url}?{urlencode(asked)}")
        code = (await returned(listener, given.redirect_path, state, seconds))["code"]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect,
        "client_id": given.client_id,
        "code_verifier": verifier,
    }
    status, answer = await _post(tools, given.token_url, form)
    if status != 200:
        raise SignInError(_refusal(status, answer))
    return _tokens(answer, tools.now(), given.token_url)


async def refresh(
    http: httpx2.AsyncClient, token_url: str, client_id: str, refresh_token: str, *, now: float
) -> Tokens:
    """New tokens for old; the old refresh token is what stays in force where the server gives no new one."""
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client_id}
    status, answer = await _post(Tools(http=http, now=lambda: now, random=bytes), token_url, form)
    if status != 200:
        final = 400 <= status < 500 and _error(answer) in {
            "invalid_grant",
            "invalid_client",
            "unauthorized_client",
            "refresh_token_reused",
        }
        raise SignInError(
            f"{_host(token_url)} did not renew the sign-in: {_words(status, answer)}.", final=final
        )
    found = _tokens(answer, now, token_url)
    return (
        found
        if found.refresh
        else Tokens(access=found.access, refresh=refresh_token, expires_at=found.expires_at)
    )


def missing(given: SignIn, flow: str) -> str:
    """The first field that a flow (`device_code` or `pkce`) needs and is not known; empty when all are
    there.
    """
    needed = ("client_id", "device_url" if flow == "device_code" else "authorize_url", "token_url")
    return next((name for name in needed if not getattr(given, name)), "")


async def _post(tools: Tools, url: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            sent = {name: value for name, value in form.items() if value}
            response = await tools.http.post(url, data=sent, headers={"accept": "application/json"})
    except (httpx2.TransportError, httpx2.InvalidURL, TimeoutError) as error:
        raise SignInError(
            f"{_host(url)} cannot be reached ({type(error).__name__}); check the network and try again."
        ) from error
    try:
        tree = json.loads(response.content)
    except ValueError:
        tree = {}
    return response.status_code, tree if isinstance(tree, dict) else {}


def _tokens(answer: dict[str, Any], now: float, url: str) -> Tokens:
    access, life = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(access, str) or not access:
        raise SignInError(f"{_host(url)} agreed but gave no token; try again.")
    expires = now + float(life) if isinstance(life, int | float) else None
    return Tokens(access=access, refresh=str(answer.get("refresh_token") or ""), expires_at=expires)


def _error(answer: dict[str, Any]) -> str:
    error = answer.get("error", "")
    return str(error.get("code") or error.get("type") or "") if isinstance(error, dict) else str(error)


def _words(status: int, answer: dict[str, Any]) -> str:
    said = str(answer.get("error_description") or _error(answer) or f"HTTP {status}")
    return said.rstrip(".")[:200]


def _refusal(status: int, answer: dict[str, Any]) -> str:
    match _error(answer):
        case "access_denied":
            return "The sign-in was refused."
        case "expired_token":
            return "The code has expired before anybody entered it; start again."
        case _:
            return f"The sign-in failed: {_words(status, answer)}."


def _host(url: str) -> str:
    return urlsplit(url).netloc or url


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _challenge(verifier: str) -> dict[str, str]:
    return {
        "code_challenge": _encoded(hashlib.sha256(verifier.encode()).digest()),
        "code_challenge_method": "S256",
    }


async def listen(port: int) -> Any:
    """What the browser comes back to, on this machine alone; SignInError where the port is taken."""
    try:
        return await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as error:
        raise SignInError(f"Port {port} of this machine is taken; end what uses it and try again.") from error


def port_of(listener: Any) -> int:
    """The port that it listens on."""
    port: int = listener.extra_attributes[SocketAttribute.local_port]()
    return port


async def returned(listener: Any, path: str, state: str, seconds: float) -> dict[str, str]:
    """What the browser brings back, with a `code`; requests that do not know our state are turned away.

    SignInError where that is a no, or nothing comes for so many seconds.
    """
    found: list[dict[str, str]] = []

    async def handle(stream: SocketStream) -> None:
        async with stream:
            query = _query(await _head(stream), path)
            known = query is not None and query.get("state") == state
            await stream.send(
                _page(
                    _said(query) if query and known else "This is not the sign-in.",
                    known=known,
                )
            )
            if query is not None and known:
                found.append(query)
                group.cancel_scope.cancel()

    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, handle)
    if not found:
        raise SignInError(f"Nobody has agreed in the browser for {seconds:.0f} s; start again.")
    if "code" not in found[0]:
        raise SignInError(_refusal(400, dict(found[0])))
    return found[0]


def _said(query: Mapping[str, str]) -> str:
    """What the person reads who has come back."""
    if "code" in query:
        return "You are signed in; this window can be closed."
    return "You are not signed in: that was refused. This window can be closed."


async def _head(stream: SocketStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _REQUEST_LIMIT:
        try:
            data += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            break
    return data


def _query(head: bytes, path: str) -> dict[str, str] | None:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    parts = urlsplit(words[1]) if len(words) == 3 and words[0] == "GET" else None
    if parts is None or parts.path != path:
        return None
    return {name: values[0] for name, values in parse_qs(parts.query).items()}


def _page(words: str, *, known: bool) -> bytes:
    body = _PAGE.format(words).encode()
    head = (
        f"HTTP/1.1 {'200 OK' if known else '404 Not Found'}\r\ncontent-type: text/html\r\ncontent-length:"
        f" {len(body)}\r\nconnection: close"
    )
    return head.encode() + b"\r\n\r\n" + body
