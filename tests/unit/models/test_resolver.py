import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from filelock import FileLock
from msgspec.structs import replace

from hermes.models.auth.credentials import Pool
from hermes.models.auth.resolver import CredentialUnavailable, PooledKeys, SecretResolver
from hermes.models.budget import Budget
from hermes.models.client import Timeouts
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.listener import ReplyListener
from hermes.models.reliability.route import Breakers, Route, Target
from hermes.models.transports.registry import transport_for
from hermes.store.auth import AuthFile
from hermes.testing import network
from hermes.types.credential import Credential
from hermes.types.error import Failure, ModelError
from hermes.types.message import User
from hermes.types.request import Endpoint, Request
from tests.unit.models.identity import Identity, running

NOW = 1_700_000_000.0
CHILDREN = Path(__file__).with_name("token_children.py")


@pytest.fixture
def identity() -> Iterator[Identity]:
    with running(Identity()) as found:
        yield found


@pytest.fixture
def keep(tmp_path: Path) -> AuthFile:
    return AuthFile(tmp_path / "auth.json")


@asynccontextmanager
async def resolver(keep: AuthFile, now: float = NOW) -> AsyncIterator[SecretResolver]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield SecretResolver(
            http=http, keep=keep, environ={"PATH": "/usr/bin:/bin", "WORD": "from-a-command"}, now=lambda: now
        )


def signed_in(identity: Identity, **more: object) -> Credential:
    values: dict[str, object] = {
        "id": "t", "secret": "access-0", "refresh_token": "refresh-0", "expires_at": NOW - 1, "token_url": f"{identity.base}/token", "client_id": "us",
    }  # fmt: skip
    return Credential(kind="oauth", **{**values, **more})  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_a_token_that_lasts_is_used_as_it_is(identity: Identity, keep: AuthFile) -> None:
    async with resolver(keep) as found:
        lasting = signed_in(identity, expires_at=NOW + 100)
        keep.add("p", lasting)
        assert await found.open("p", lasting) == lasting
        assert await found.open("p", signed_in(identity, expires_at=None)) == signed_in(
            identity, expires_at=None
        )
    assert identity.forms == []


@pytest.mark.anyio
async def test_a_token_that_runs_out_is_refreshed_and_kept(identity: Identity, keep: AuthFile) -> None:
    keep.add("p", signed_in(identity, expires_at=NOW + 30))
    async with resolver(keep) as found:
        fresh = await found.open("p", keep.credentials("p")[0])
    assert (fresh.secret, fresh.refresh_token, fresh.expires_at) == ("access-1", "refresh-1", NOW + 3600)
    assert keep.credentials("p") == (fresh,)
    assert identity.forms == [
        {"grant_type": "refresh_token", "refresh_token": "refresh-0", "client_id": "us"}
    ]


@pytest.mark.anyio
async def test_a_token_that_another_process_has_refreshed_is_taken_over(
    identity: Identity, keep: AuthFile
) -> None:
    old = signed_in(identity)
    keep.add("p", signed_in(identity, secret="theirs", refresh_token="refresh-9", expires_at=NOW + 500))
    async with resolver(keep) as found:
        assert (await found.open("p", old)).secret == "theirs"
    assert identity.forms == []


@pytest.mark.anyio
async def test_a_refresh_token_that_is_refused_says_to_sign_in_again(
    identity: Identity, keep: AuthFile
) -> None:
    identity.refusal = "invalid_grant"
    keep.add("p", signed_in(identity))
    async with resolver(keep) as found:
        with pytest.raises(
            CredentialUnavailable, match="No more. Sign in again with: hermes auth add p"
        ) as fault:
            await found.open("p", keep.credentials("p")[0])
        assert fault.value.final
        with pytest.raises(CredentialUnavailable, match="has been removed"):
            await found.open("p", signed_in(identity, id="gone"))


@pytest.mark.anyio
async def test_a_command_gives_a_key_and_is_not_run_for_each_request(keep: AuthFile, tmp_path: Path) -> None:
    script = tmp_path / "key.sh"
    script.write_text(f'#!/bin/sh\necho ran >> {tmp_path / "runs"}\necho "  $WORD $1 "\n')
    script.chmod(0o700)
    command = Credential(id="c", kind="command", command=(str(script), "$HOME;ls"))
    async with resolver(keep) as found:
        assert [(await found.open("p", command)).secret for _ in range(3)] == ["from-a-command $HOME;ls"] * 3
        found.forget(command)
        await found.open("p", command)
    assert (tmp_path / "runs").read_text() == "ran\nran\n"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/bin/false",), "The command /bin/false gave no key: it ended with 1."),
        (("/bin/true",), "The command /bin/true gave no key: it ended with 0."),
        (("/no/such",), r"The command /no/such for a key cannot be run \(No such file or directory\)."),
    ],
)
async def test_a_command_that_gives_nothing_is_told(
    keep: AuthFile, command: tuple[str, ...], words: str
) -> None:
    async with resolver(keep) as found:
        with pytest.raises(CredentialUnavailable, match=words):
            await found.open("p", Credential(id="c", kind="command", command=command))


def keys(found: SecretResolver, keep: AuthFile) -> PooledKeys:
    return PooledKeys(pool=Pool(provider="p", keep=keep, uniform=lambda low, _high: low), resolver=found)


def refused() -> Failure:
    return Failure(reason="auth", message="no", rotate=True)


@pytest.mark.anyio
async def test_the_next_key_is_tried_when_one_was_refused(keep: AuthFile) -> None:
    for name in ("a", "b"):
        keep.add("p", Credential(id=name, secret=f"key-{name}"))
    async with resolver(keep) as found:
        mine = keys(found, keep)
        told = [
            await mine.take(),
            await mine.failed("key-a", refused()),
            await mine.take(),
            await mine.failed("key-b", refused()),
            await mine.take(),
        ]
        assert (told, mine.reset_at()) == (["key-a", True, "key-b", False, None], NOW + 300)


@pytest.mark.anyio
async def test_a_credential_that_cannot_be_opened_makes_room_for_the_next(keep: AuthFile) -> None:
    keep.add("p", Credential(id="a", kind="command", command=("/bin/false",)))
    keep.add("p", Credential(id="b", secret="key-b"))
    async with resolver(keep) as found:
        mine = keys(found, keep)
        assert (await mine.take(), mine.trouble()) == (
            "key-b",
            "The command /bin/false gave no key: it ended with 1.",
        )
        assert (keep.credentials("p")[0].status, keep.credentials("p")[0].exhausted_until) == (
            "exhausted",
            NOW + 30,
        )


async def failure_of(found: SecretResolver, keep: AuthFile) -> Failure:
    """What the user gets to see of a session whose only model has these keys."""
    here = Endpoint(provider="p", base_url="http://p/v1", model="m")
    route = Route(
        targets=[Target(endpoint=here, keys=keys(found, keep))],
        make=transport_for,
        breakers=Breakers(lambda: 0.0),
    )
    listener = ReplyListener(emit=lambda _: None, tell=lambda _: None, broken=lambda _: None)
    async with network({}) as http:
        executor = RequestExecutor(
            http=http,
            timeouts=Timeouts(),
            retries=0,
            now=lambda: NOW,
            monotonic=lambda: 0.0,
            uniform=lambda low, _high: low,
        )
        request = Request(endpoint=here, system="s", messages=(User(id="u", at=0, text="hi"),))
        with pytest.raises(ModelError) as fault:
            await executor.stream(request, route, listener, Budget(name="turn"))
    return fault.value.failure


@pytest.mark.anyio
async def test_a_pool_whose_sign_in_has_run_out_says_so_and_says_it_again(
    identity: Identity, keep: AuthFile
) -> None:
    identity.refusal = "invalid_grant"
    keep.add("p", signed_in(identity))
    async with resolver(keep) as found:
        told = [await failure_of(found, keep) for _ in range(2)]
    for failure in told:
        assert (failure.reason, failure.address) == ("auth_permanent", "http://p/v1")
        assert failure.message.endswith("No more. Sign in again with: hermes auth add p")
    assert len(identity.forms) == 1


@pytest.mark.anyio
async def test_waiting_for_another_process_that_writes_stops_nothing_else(keep: AuthFile) -> None:
    keep.add("p", Credential(id="a", secret="key-a"))
    keep.add("p", Credential(id="b", secret="key-b"))
    writes = FileLock(keep.path.with_name(f".{keep.path.name}.lock"), thread_local=False)
    async with resolver(keep) as found, anyio.create_task_group() as group:
        mine = keys(found, keep)
        await mine.take()
        writes.acquire()
        group.start_soon(mine.failed, "key-a", refused())
        await anyio.sleep(0.1)
        writes.release()
    assert keep.credentials("p")[0].status == "exhausted"


@pytest.mark.anyio
async def test_what_keeps_one_key_back_is_told_when_the_others_rest(
    identity: Identity, keep: AuthFile
) -> None:
    identity.refusal = "invalid_grant"
    keep.add("p", signed_in(identity))
    keep.add("p", Credential(id="k", secret="key", status="exhausted", exhausted_until=NOW + 3000))
    async with resolver(keep) as found:
        failure = await failure_of(found, keep)
    assert (failure.reason, failure.reset_at) == ("rate_limit", NOW + 3000)
    assert failure.message.startswith("Every key of p is cooling down; hermes auth list shows them. ")
    assert failure.message.endswith("Sign in again with: hermes auth add p")


@pytest.mark.anyio
async def test_a_token_that_was_revoked_is_renewed_once_and_then_rests(
    identity: Identity, keep: AuthFile
) -> None:
    keep.add("p", signed_in(identity, expires_at=NOW + 5000))
    async with resolver(keep) as found:
        mine = keys(found, keep)
        assert [await mine.take(), await mine.failed("access-0", refused()), await mine.take()] == [
            "access-0",
            True,
            "access-1",
        ]
        assert (await mine.failed("access-1", refused()), keep.credentials("p")[0].status) == (
            False,
            "exhausted",
        )
    assert identity.spent == ["refresh-0"]


def test_eight_processes_spend_each_refresh_token_once_and_all_have_a_token_that_is_valid(
    tmp_path: Path,
) -> None:
    with running(Identity()) as identity:
        keep = AuthFile(tmp_path / "auth.json")
        keep.add("p", signed_in(identity, expires_at=1.0))
        arguments = [sys.executable, str(CHILDREN), str(keep.path), identity.base, "8"]
        with subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as children:
            first = together(children)
            keep.change("p", "t", lambda one: replace(one, expires_at=time.time()))
            second = together(children)
            children.communicate("end\n", timeout=10)
        assert (identity.spent, identity.banned) == (["refresh-0", "refresh-1"], False)
        assert (first, second) == ([["access-1", 200]] * 8, [["access-2", 200]] * 8)


def together(children: "subprocess.Popen[str]") -> list[list[object]]:
    assert children.stdin
    assert children.stdout
    children.stdin.write("go\n")
    children.stdin.flush()
    found: list[list[object]] = json.loads(children.stdout.readline())
    return found
