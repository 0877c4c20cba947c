"""What follows a failed request, as a pure function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.reliability.recovery import RecoveryAction, RecoveryContext, choose_recovery
from hermes.models.reliability.route import FAILURES, OPEN_SECONDS, Breakers
from hermes.types.error import Failure
from hermes.types.request import Endpoint

CALM = RecoveryContext(failures=1, retries=4, pause=2.0, left=900.0, now=1000.0)
BUSY = Failure(reason="overloaded", message="", retryable=True, fall_back=True)
LOST = Failure(reason="connection", message="", retryable=True, fall_back=True)
UNHEARD = replace(LOST, reason="connection_refused")
LIMITED = Failure(reason="rate_limit", message="", retryable=True, rotate=True, fall_back=True)
KEY = Failure(reason="auth", message="", rotate=True, fall_back=True)
LONG = Failure(reason="context_overflow", message="", compress=True)
POLICY = Failure(reason="provider_policy_blocked", message="")
LARGE = Failure(reason="image_too_large", message="", leave_out="large_images")
SIGNED = Failure(reason="thinking_signature", message="", leave_out="thinking")


@pytest.mark.parametrize(
    ("failure", "chances", "expected"),
    [
        (BUSY, CALM, RecoveryAction("wait", 2.0)),
        (BUSY, replace(CALM, next_available=True), RecoveryAction("wait", 2.0)),
        (BUSY, replace(CALM, failures=5), RecoveryAction("give_up")),
        (BUSY, replace(CALM, failures=5, next_available=True), RecoveryAction("next_endpoint")),
        (BUSY, replace(CALM, left=1.0), RecoveryAction("give_up")),
        (replace(BUSY, reset_at=1007.0), CALM, RecoveryAction("wait", 7.0)),
        (replace(BUSY, reset_at=900.0), CALM, RecoveryAction("wait", 0.0)),
        (replace(BUSY, reset_at=1901.0), CALM, RecoveryAction("give_up")),
        (LOST, CALM, RecoveryAction("wait", 0.2)),
        (LOST, replace(CALM, pause=6.0, first_retry=5.0), RecoveryAction("wait", 6.0)),
        (LOST, replace(CALM, first_retry=0.0), RecoveryAction("wait", 0.0)),
        (LOST, replace(CALM, failures=2), RecoveryAction("wait", 2.0)),
        (UNHEARD, CALM, RecoveryAction("wait", 0.2)),
        (UNHEARD, replace(CALM, failures=2), RecoveryAction("wait", 0.2)),
        (UNHEARD, replace(CALM, failures=2, retries=1), RecoveryAction("give_up")),
        (UNHEARD, replace(CALM, failures=3), RecoveryAction("give_up")),
        (UNHEARD, replace(CALM, failures=3, next_available=True), RecoveryAction("next_endpoint")),
        (LIMITED, CALM, RecoveryAction("wait", 2.0)),
        (LIMITED, replace(CALM, others=True, next_available=True), RecoveryAction("next_credential")),
        (
            replace(LIMITED, shared=True),
            replace(CALM, others=True, next_available=True),
            RecoveryAction("next_endpoint"),
        ),
        (LIMITED, replace(CALM, next_available=True), RecoveryAction("next_endpoint")),
        (KEY, CALM, RecoveryAction("give_up")),
        (KEY, replace(CALM, others=True), RecoveryAction("next_credential")),
        (KEY, replace(CALM, next_available=True), RecoveryAction("next_endpoint")),
        (LONG, replace(CALM, next_available=True), RecoveryAction("give_up")),
        (LONG, replace(CALM, next_available=True, larger=True), RecoveryAction("next_endpoint")),
        (POLICY, replace(CALM, next_available=True, others=True), RecoveryAction("give_up")),
        (SIGNED, CALM, RecoveryAction("leave_out", part="thinking")),
        (LARGE, CALM, RecoveryAction("leave_out", part="large_images")),
        (
            LARGE,
            replace(CALM, refused=frozenset({"large_images"})),
            RecoveryAction("leave_out", part="images"),
        ),
        (LARGE, replace(CALM, refused=frozenset({"large_images", "images"})), RecoveryAction("give_up")),
        (SIGNED, replace(CALM, refused=frozenset({"thinking"})), RecoveryAction("give_up")),
        (
            replace(SIGNED, fall_back=True),
            replace(CALM, refused=frozenset({"thinking"}), next_available=True),
            RecoveryAction("next_endpoint"),
        ),
    ],
)
def test_each_failure_has_its_remedy(
    failure: Failure, chances: RecoveryContext, expected: RecoveryAction
) -> None:
    assert choose_recovery(failure, chances) == expected


FAILURES_OF_ANY_KIND = st.builds(
    Failure, reason=st.sampled_from(["rate_limit", "timeout", "auth", "unknown", "context_overflow"]), message=st.just(""), retryable=st.booleans(), rotate=st.booleans(), fall_back=st.booleans(),
    compress=st.booleans(), shared=st.booleans(), leave_out=st.sampled_from(["", "thinking"]), reset_at=st.none() | st.floats(0, 5000),
)  # fmt: skip
CHANCES_OF_ANY_KIND = st.builds(
    RecoveryContext, failures=st.integers(1, 9), retries=st.integers(0, 5), pause=st.floats(0, 30), left=st.floats(-5, 900), now=st.just(1000.0),
    others=st.booleans(), next_available=st.booleans(), larger=st.booleans(), refused=st.sampled_from([frozenset(), frozenset({"thinking"})]),
)  # fmt: skip


@given(FAILURES_OF_ANY_KIND, CHANCES_OF_ANY_KIND)
def test_a_remedy_is_always_one_that_is_there_and_fits_the_time(
    failure: Failure, chances: RecoveryContext
) -> None:
    chosen = choose_recovery(failure, chances)
    assert chosen.action != "wait" or (
        failure.retryable and chosen.delay < chances.left and chances.failures <= chances.retries
    )
    assert chosen.action != "next_credential" or (chances.others and failure.rotate)
    assert chosen.action != "next_endpoint" or chances.next_available
    assert chosen.action != "leave_out" or (chosen.part and chosen.part not in chances.refused)


class TestBreaker:
    here = Endpoint(provider="p", base_url="http://h", model="m")

    def test_failures_in_a_row_open_it_and_time_lets_one_through(self) -> None:
        now = [0.0]
        breakers = Breakers(lambda: now[0])
        for _ in range(FAILURES):
            assert breakers.available(self.here)
            breakers.failed(self.here, "server_error")
        assert not breakers.available(self.here)
        now[0] += OPEN_SECONDS
        assert [breakers.available(self.here) for _ in range(3)] == [True, True, True]
        assert [breakers.take(self.here) for _ in range(3)] == [True, False, False]
        assert not breakers.available(self.here)
        breakers.worked(self.here)
        assert breakers.available(self.here)

    def test_faults_of_a_request_or_a_key_do_not_count(self) -> None:
        breakers = Breakers(lambda: 0.0)
        for _ in range(FAILURES * 2):
            breakers.failed(self.here, "auth")
            breakers.failed(self.here, "context_overflow")
        assert breakers.available(self.here)

    def test_one_endpoint_says_nothing_of_another(self) -> None:
        breakers = Breakers(lambda: 0.0)
        for _ in range(FAILURES):
            breakers.failed(self.here, "timeout")
        assert breakers.available(replace(self.here, model="other"))
