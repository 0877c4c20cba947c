import json
import multiprocessing
import os
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hermes.store.auth import AuthFile
from hermes.types.credential import Credential
from hermes.types.error import StorageDamaged, StoreError

KEY = Credential(id="a", label="work", secret="sk-1", priority=3)
TOKEN = Credential(
    id="b", kind="oauth", secret="t", refresh_token="r", expires_at=12.5, token_url="http://h/token", client_id="us",
    status="exhausted", exhausted_until=99.0, last_error="429", request_count=7,
)  # fmt: skip


@pytest.fixture
def keep(tmp_path: Path) -> AuthFile:
    return AuthFile(tmp_path / "home" / "auth.json")


def test_what_is_put_in_comes_out(keep: AuthFile) -> None:
    keep.add("p", KEY)
    keep.add("p", TOKEN)
    keep.add("q", KEY)
    again = AuthFile(keep.path)
    assert (again.credentials("p"), again.credentials("q"), again.credentials("r"), again.providers()) == (
        (KEY, TOKEN),
        (KEY,),
        (),
        ("p", "q"),
    )


def test_a_home_without_the_file_has_no_credentials_and_gets_none_by_reading(keep: AuthFile) -> None:
    assert (keep.credentials("p"), keep.providers(), keep.path.exists()) == ((), (), False)


def test_only_the_owner_can_read_it_whatever_the_umask(keep: AuthFile) -> None:
    old = os.umask(0)
    try:
        keep.add("p", KEY)
        assert keep.path.stat().st_mode & 0o777 == 0o600
        keep.path.chmod(0o644)
        keep.add("p", TOKEN)
        assert keep.path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(old)


def test_a_change_sees_what_is_in_the_file_now(keep: AuthFile) -> None:
    keep.add("p", KEY)
    AuthFile(keep.path).change("p", "a", lambda one: replace(one, request_count=5))
    changed = keep.change("p", "a", lambda one: replace(one, request_count=one.request_count + 1))
    assert (changed and changed.request_count, keep.change("p", "gone", lambda one: one)) == (6, None)


def test_what_is_removed_is_gone_and_its_provider_with_the_last(keep: AuthFile) -> None:
    keep.add("p", KEY)
    assert (keep.remove("p", "x"), keep.remove("p", "a"), keep.remove("p", "a"), keep.providers()) == (
        False,
        True,
        False,
        (),
    )


def test_every_secret_is_known_so_that_none_is_shown(keep: AuthFile) -> None:
    keep.add("p", KEY)
    keep.add("q", TOKEN)
    assert (keep.secrets(), AuthFile(keep.path.with_name("none.json")).secrets()) == (("sk-1", "t", "r"), ())


def test_the_copy_of_a_process_that_was_killed_is_cleared_away(keep: AuthFile) -> None:
    keep.add("p", KEY)
    (keep.path.parent / ".auth.json.x7_a.b").write_text("a secret of before")
    keep.add("p", TOKEN)
    assert sorted(path.name for path in keep.path.parent.iterdir()) == [".auth.json.lock", "auth.json"]


def test_keys_that_nobody_knows_stay(keep: AuthFile) -> None:
    keep.path.parent.mkdir()
    row = {"id": "a", "secret": "sk", "colour": "red", "priority": 10}
    keep.path.write_text(
        json.dumps({"version": 9, "future": [1], "providers": {"p": [row], "q": [{"id": "z", "x": 1}]}})
    )
    keep.change("p", "a", lambda one: replace(one, status="dead"))
    tree = json.loads(keep.path.read_text())
    assert (tree["version"], tree["future"], tree["providers"]["q"]) == (9, [1], [{"id": "z", "x": 1}])
    assert (tree["providers"]["p"][0]["colour"], tree["providers"]["p"][0]["status"]) == ("red", "dead")


ODD_ROW = '{"providers": {"p": [{"id": 5, "secret": "sekret"}]}}'


@pytest.mark.parametrize(
    "text", ["{", "", "[]", '{"providers": []}', '{"providers": {"p": 1}}', ODD_ROW, "\ud800"]
)
def test_a_damaged_file_is_told_and_never_overwritten(keep: AuthFile, text: str) -> None:
    keep.path.parent.mkdir()
    keep.path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for attempt in (lambda: keep.credentials("p"), lambda: keep.change("p", "x", lambda one: one)):
        with pytest.raises(StorageDamaged, match="auth.json.*mend it, or move") as fault:
            attempt()
        assert "sekret" not in str(fault.value)
    assert keep.path.read_bytes() == text.encode("utf-8", "surrogatepass")


def test_a_file_that_cannot_be_read_now_is_not_called_damaged(keep: AuthFile) -> None:
    keep.path.mkdir(parents=True)
    with pytest.raises(
        StoreError, match=r"auth\.json cannot be read now \(Is a directory\); check its permissions\.$"
    ) as fault:
        keep.credentials("p")
    assert not isinstance(fault.value, StorageDamaged)


def test_the_state_of_an_environment_key_is_kept_without_the_key(keep: AuthFile) -> None:
    keep.add(
        "p",
        Credential(
            id="env-A-1",
            label="A",
            secret="sekret",
            from_environment=True,
            status="exhausted",
            exhausted_until=5.0,
        ),
    )
    assert (
        "sekret" in keep.path.read_text(),
        keep.credentials("p")[0].exhausted_until,
        keep.providers(),
    ) == (False, 5.0, ())


def _count(path: str) -> None:
    for _ in range(20):
        AuthFile(Path(path)).change("p", "a", lambda one: replace(one, request_count=one.request_count + 1))


def test_changes_of_several_processes_are_all_kept(keep: AuthFile) -> None:
    keep.add("p", KEY)
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_count, args=(str(keep.path),)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert keep.credentials("p")[0].request_count == 60


@pytest.mark.anyio
async def test_one_at_a_time_may_refresh(keep: AuthFile) -> None:
    inside: list[str] = []

    async def one(name: str) -> None:
        async with AuthFile(keep.path).refreshing("a"):
            inside.append(name)
            await anyio.sleep(0.02)
            inside.append(name)

    async with anyio.create_task_group() as group:
        for name in "xyz":
            group.start_soon(one, name)
    assert [first == second for first, second in zip(inside[::2], inside[1::2], strict=True)] == [True] * 3


@pytest.mark.anyio
async def test_whoever_holds_it_too_long_is_told_of(keep: AuthFile) -> None:
    async with keep.refreshing("a"):
        with pytest.raises(StoreError, match="has been refreshing a token"):
            async with AuthFile(keep.path, patience=0.1).refreshing("a"):
                raise AssertionError
        async with AuthFile(keep.path).refreshing("b"):
            pass
