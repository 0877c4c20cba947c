import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest

from hermes.models.auth.oauth import (
    DevicePrompt,
    SignInError,
    Tokens,
    Tools,
    browser,
    device_code,
    missing,
    refresh,
)
from hermes.models.catalog.catalogue import SignIn, providers
from tests.unit.models.identity import Identity, running

pytestmark = pytest.mark.anyio


@pytest.fixture
def identity() -> Iterator[Identity]:
    with running(Identity()) as found:
        yield found


@asynccontextmanager
async def tools(now: float = 1000.0) -> AsyncIterator[Tools]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        start = time.monotonic()
        yield Tools(
            http=http, now=lambda: now + time.monotonic() - start, random=lambda count: bytes(range(count))
        )


def given(identity: Identity) -> SignIn:
    return SignIn(
        client_id="us",
        device_url=f"{identity.base}/device",
        authorize_url=f"{identity.base}/authorize",
        token_url=f"{identity.base}/token",
        scope="all",
    )


async def test_a_device_waits_until_somebody_has_agreed(identity: Identity) -> None:
    identity.polls = ["authorization_pending", "slow_down", "authorization_pending"]
    shown: list[DevicePrompt] = []
    async with tools() as outside:
        found = await device_code(outside, given(identity), shown.append, slower=0.02)
    assert (found.access, found.refresh, round(found.expires_at or 0, -2)) == ("access-1", "refresh-1", 4600)
    assert shown == [
        DevicePrompt(
            url=f"{identity.base}/activate",
            code="ABCD-EFGH",
            whole_url=f"{identity.base}/activate?code=ABCD-EFGH",
        )
    ]
    assert [form["grant_type"] for form in identity.forms] == [
        "urn:ietf:params:oauth:grant-type:device_code"
    ] * 4


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("access_denied", "The sign-in was refused."),
        ("expired_token", "The code has expired before anybody entered it; start again."),
        ("strange", "The sign-in failed: strange."),
    ],
)
async def test_a_device_that_is_turned_away_says_so(identity: Identity, answer: str, sentence: str) -> None:
    identity.polls = [answer]
    async with tools() as outside:
        with pytest.raises(SignInError) as fault:
            await device_code(outside, given(identity), lambda _: None)
    assert str(fault.value) == sentence


async def test_slow_down_makes_the_waits_longer(identity: Identity) -> None:
    identity.polls = ["slow_down", "slow_down"]
    async with tools() as outside:
        started = time.monotonic()
        await device_code(outside, given(identity), lambda _: None, slower=0.1)
    assert time.monotonic() - started >= 0.01 + 0.11 + 0.21


async def visit(address: str, seen: list[httpx2.Response]) -> None:
    """What a browser does: the person agrees, and is sent back to us; before that somebody else knocks."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        target = (await http.get(address)).text
        place = urlsplit(target)
        seen.append(await http.get(f"{place.scheme}://{place.netloc}{place.path}?code=evil&state=guess"))
        seen.append(await http.get(f"{place.scheme}://{place.netloc}/favicon.ico"))
        seen.append(await http.get(target))


async def test_a_browser_comes_back_with_a_code_that_only_we_can_exchange(identity: Identity) -> None:
    addresses: list[str] = []
    seen: list[httpx2.Response] = []
    async with tools() as outside, anyio.create_task_group() as group:

        def show(address: str) -> None:
            addresses.append(address)
            group.start_soon(visit, address, seen)

        found = await browser(outside, given(identity), show)
    assert (found.access, found.refresh) == ("access-1", "refresh-1")
    assert [(one.status_code, "signed in" in one.text) for one in seen] == [
        (404, False),
        (404, False),
        (200, True),
    ]
    asked = parse_qs(urlsplit(addresses[0]).query)
    assert (asked["code_challenge_method"], asked["response_type"], asked["client_id"]) == (
        ["S256"],
        ["code"],
        ["us"],
    )
    assert urlsplit(asked["redirect_uri"][0]).hostname == "127.0.0.1"
    assert identity.forms[0]["code_verifier"] not in addresses[0]


async def test_a_code_without_our_verifier_is_worth_nothing(identity: Identity) -> None:
    async with tools() as outside:
        identity.authorize(
            {
                "code_challenge": "of-somebody-else",
                "code_challenge_method": "S256",
                "redirect_uri": "",
                "state": "",
            }
        )
        faults: list[str] = []
        async with anyio.create_task_group() as group:

            def show(address: str) -> None:
                group.start_soon(_bring, "code-1", address)

            try:
                await browser(outside, given(identity), show)
            except SignInError as fault:
                faults.append(str(fault))
    assert faults == ["The sign-in failed: The verifier does not fit."]


async def _bring(code: str, address: str) -> None:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    async with httpx2.AsyncClient(trust_env=False) as http:
        await http.get(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")


async def test_a_browser_that_never_comes_is_given_up(identity: Identity) -> None:
    async with tools() as outside:
        with pytest.raises(SignInError, match="Nobody has agreed in the browser"):
            await browser(outside, given(identity), lambda _: None, seconds=0.05)


async def test_a_refresh_gives_new_tokens_or_says_that_it_never_will(identity: Identity) -> None:
    async with tools() as outside:
        url = f"{identity.base}/token"
        found = await refresh(outside.http, url, "us", "refresh-0", now=50.0)
        assert found == Tokens(access="access-1", refresh="refresh-1", expires_at=3650.0)
        with pytest.raises(SignInError, match="That refresh token was spent") as fault:
            await refresh(outside.http, url, "us", "refresh-0", now=50.0)
        assert fault.value.final
        with pytest.raises(SignInError, match="cannot be reached") as fault:
            await refresh(outside.http, "http://127.0.0.1:9/token", "us", "r", now=50.0)
        assert not fault.value.final


async def test_a_server_that_keeps_the_refresh_token_leaves_it_in_force(identity: Identity) -> None:
    identity.rotates, identity.life = False, None
    async with tools() as outside:
        found = await refresh(outside.http, f"{identity.base}/token", "us", "r", now=0.0)
    assert found == Tokens(access="access-1", refresh="r", expires_at=None)


def test_tokens_show_no_secret() -> None:
    assert repr(Tokens(access="sekret", refresh="sekret2")) == "Tokens(expires_at=None)"


def test_what_a_provider_lacks_for_signing_in_is_named() -> None:
    assert (
        missing(providers()["nous"].sign_in, "device_code"),
        missing(providers()["qwen-oauth"].sign_in, "device_code"),
    ) == (
        "client_id",
        "",
    )
    assert missing(providers()["openai-codex"].sign_in, "pkce") == ""
