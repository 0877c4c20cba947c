import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.auth.credentials import STRATEGIES, Pool, environment_keys
from hermes.models.catalog.catalogue import Provider, provider
from hermes.models.errors.body import parse_reset
from hermes.models.settings import Strategy
from hermes.store.auth import AuthFile
from hermes.types.credential import Credential
from hermes.types.error import Failure, Reason

NOW = 1_700_000_000.0


def failure(reason: Reason, **more: Any) -> Failure:
    return Failure(reason=reason, message="no", rotate=reason in {"auth", "rate_limit", "billing"}, **more)


@pytest.fixture
def keep(tmp_path: Path) -> AuthFile:
    found = AuthFile(tmp_path / "auth.json")
    for number in (1, 2, 3):
        found.add("p", Credential(id=f"k{number}", secret=f"s{number}"))
    return found


def pool(keep: AuthFile, strategy: Strategy = "fill_first", **more: Any) -> Pool:
    return Pool(provider="p", keep=keep, uniform=random.Random(7).uniform, strategy=strategy, **more)


def taken(found: Pool, count: int, now: float = NOW) -> list[str]:
    return [one.id if one else "" for one in (found.take(now) for _ in range(count))]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("fill_first", ["k1", "k1", "k1", "k1"]),
        ("round_robin", ["k1", "k2", "k3", "k1"]),
        ("least_used", ["k1", "k2", "k3", "k1"]),
    ],
)
def test_a_strategy_says_who_is_next(keep: AuthFile, strategy: Strategy, order: list[str]) -> None:
    assert taken(pool(keep, strategy), 4) == order


def test_random_uses_all_and_follows_the_randomness_that_is_handed_in(keep: AuthFile) -> None:
    first = taken(pool(keep, "random"), 30)
    assert (set(first), first == taken(pool(keep, "random"), 30)) == ({"k1", "k2", "k3"}, True)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 5), st.floats(0, 1, exclude_max=False)
)
def test_every_strategy_chooses_one_of_the_usable(counts: list[int], place: int, chance: float) -> None:
    usable = [Credential(id=str(number), request_count=count) for number, count in enumerate(counts)]
    for choose in STRATEGIES.values():
        assert (
            0
            <= choose(usable, place % len(usable), lambda low, high: low + (high - low) * chance)
            < len(usable)
        )


def test_priority_goes_before_the_order_of_the_file(keep: AuthFile) -> None:
    keep.add("p", Credential(id="k4", secret="s4", priority=1))
    assert taken(pool(keep), 1) == ["k4"]


def test_round_robin_goes_on_over_one_that_rests(keep: AuthFile) -> None:
    found = pool(keep, "round_robin")
    assert taken(found, 1) == ["k1"]
    found.report(keep.credentials("p")[1], failure("rate_limit"), NOW)
    assert taken(found, 3) == ["k3", "k1", "k3"]


@pytest.mark.parametrize(
    ("fault", "until"),
    [
        (failure("auth"), NOW + 300),
        (failure("rate_limit"), NOW + 3600),
        (failure("billing"), NOW + 3600),
        (Failure(reason="unknown", message="no", rotate=True), NOW + 3600),
        (failure("rate_limit", reset_at=NOW + 20), NOW + 20),
        (failure("auth", reset_at=NOW + 20), NOW + 20),
        (failure("rate_limit", reset_at=NOW - 20), NOW + 3600),
    ],
)
def test_a_credential_that_failed_rests_as_long_as_it_must(
    keep: AuthFile, fault: Failure, until: float
) -> None:
    found = pool(keep)
    first = found.take(NOW)
    assert first
    found.report(first, fault, NOW)
    assert (keep.credentials("p")[0].status, keep.credentials("p")[0].exhausted_until) == ("exhausted", until)
    assert (taken(found, 1, until - 1), taken(found, 1, until + 1)) == (["k2"], ["k1"])


def test_a_fault_that_is_not_the_credentials_leaves_it_as_it_is(keep: AuthFile) -> None:
    found = pool(keep)
    found.report(keep.credentials("p")[0], failure("timeout"), NOW)
    assert keep.credentials("p")[0].status == "ok"


def test_a_credential_refused_for_good_is_never_used_again(keep: AuthFile) -> None:
    found = pool(keep)
    found.report(keep.credentials("p")[0], failure("auth_permanent"), NOW)
    assert (keep.credentials("p")[0].status, taken(found, 1, NOW + 1e9)) == ("dead", ["k2"])


def test_a_credential_that_works_again_is_well(keep: AuthFile) -> None:
    found = pool(keep)
    found.report(keep.credentials("p")[0], failure("rate_limit"), NOW)
    found.report(keep.credentials("p")[0], None, NOW + 4000)
    assert (keep.credentials("p")[0].status, keep.credentials("p")[0].last_error) == ("ok", "")


def test_when_all_rest_there_is_none_and_the_first_to_come_back_is_known(keep: AuthFile) -> None:
    found = pool(keep)
    for number, one in enumerate(keep.credentials("p")):
        assert found.reset_at(NOW) is None
        found.report(one, failure("rate_limit", reset_at=NOW + 100 - number), NOW)
    assert (found.take(NOW), found.reset_at(NOW), found.reset_at(NOW + 99)) == (None, NOW + 98, None)


def test_only_somebody_elses_quota_is_worth_turning_to(keep: AuthFile) -> None:
    found = pool(keep)
    assert [found.rotatable(failure(reason)) for reason in ("rate_limit", "billing", "auth", "timeout")] == [
        True,
        True,
        True,
        False,
    ]
    assert not found.rotatable(failure("rate_limit", shared=True))
    accounts = pool(keep, account_quota=True)
    assert [accounts.rotatable(failure(reason)) for reason in ("rate_limit", "billing", "auth")] == [
        False,
        False,
        True,
    ]


def test_a_quota_of_the_account_rests_all_of_its_keys(keep: AuthFile) -> None:
    found = pool(keep, account_quota=True)
    found.report(keep.credentials("p")[0], failure("rate_limit"), NOW)
    assert [one.status for one in keep.credentials("p")] == ["exhausted"] * 3


def test_a_sole_credential_is_neither_rotated_nor_withheld(tmp_path: Path) -> None:
    keep = AuthFile(tmp_path / "auth.json")
    keep.add("p", Credential(id="only", secret="s"))
    found = pool(keep)
    found.report(keep.credentials("p")[0], failure("rate_limit"), NOW)
    assert (found.rotatable(failure("rate_limit")), taken(found, 1), found.reset_at(NOW)) == (
        False,
        ["only"],
        None,
    )
    found.report(keep.credentials("p")[0], failure("auth_permanent"), NOW)
    assert found.take(NOW) is None


def of_environment(environ: dict[str, str]) -> tuple[Credential, ...]:
    return environment_keys(Provider(name="p", base_url="", keys=("A_KEY", "B_KEY")), environ)


def test_keys_of_the_environment_come_first_and_their_state_is_kept_without_them(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    keep = AuthFile(path)
    keep.add("p", Credential(id="k1", secret="stored"))
    environ = {"A_KEY": "first-secret", "B_KEY": "second-secret"}
    found = pool(keep, environment=of_environment(environ))
    assert [one.secret for one in found.entries()] == ["first-secret", "second-secret", "stored"]
    found.report(found.entries()[0], failure("rate_limit"), NOW)
    other_process = pool(AuthFile(path), environment=of_environment(environ))
    chosen = other_process.take(NOW)
    assert (chosen.secret if chosen else "", "first-secret" in path.read_text()) == ("second-secret", False)


def test_a_variable_with_a_new_value_is_a_new_credential(tmp_path: Path) -> None:
    keep = AuthFile(tmp_path / "auth.json")
    for value in ("old", "new"):
        found = pool(keep, environment=of_environment({"A_KEY": value, "B_KEY": "b"}))
        assert [one.status for one in found.entries()] == ["ok", "ok"]
        found.report(found.entries()[0], failure("auth_permanent"), NOW)
    assert len(keep.credentials("p")) == 1


def test_one_key_in_the_environment_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    found = pool(AuthFile(path), environment=of_environment({"A_KEY": "a", "B_KEY": "a"}))
    assert [one.label for one in found.entries()] == ["A_KEY"]
    taken(found, 50)
    found.flush()
    assert not path.exists()


def test_uses_are_counted_for_all_processes_now_and_then(keep: AuthFile) -> None:
    found = pool(keep)
    taken(found, 10)
    assert keep.credentials("p")[0].request_count == 8
    found.flush()
    assert [one.request_count for one in keep.credentials("p")] == [10, 0, 0]


def test_what_is_least_used_counts_what_others_have_used(keep: AuthFile) -> None:
    keep.change("p", "k1", lambda one: Credential(id=one.id, secret=one.secret, request_count=5))
    assert taken(pool(keep, "least_used"), 3) == ["k2", "k3", "k2"]


def test_no_representation_shows_a_secret() -> None:
    shown = repr(of_environment({"A_KEY": "sekret"})) + repr(
        Credential(id="x", secret="sekret", refresh_token="sekret")
    )
    assert "sekret" not in shown


@pytest.mark.parametrize(
    "form",
    [lambda at: at, lambda at: at * 1000, lambda at: dt.datetime.fromtimestamp(at, tz=dt.UTC).isoformat()],
)
def test_a_reset_time_is_read_in_the_forms_that_providers_write(form: Callable[[float], Any]) -> None:
    assert parse_reset(form(NOW + 90), NOW) == NOW + 90


def test_claude_has_three_variables_for_keys() -> None:
    found = environment_keys(
        provider("anthropic"), {"CLAUDE_CODE_OAUTH_TOKEN": "c", "ANTHROPIC_API_KEY": "a"}
    )
    assert [(one.label, one.secret) for one in found] == [
        ("ANTHROPIC_API_KEY", "a"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "c"),
    ]
