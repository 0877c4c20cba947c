"""What is left of a session after room was made renders, on every wire, to what a strict server takes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.agent.compaction.view import visible
from hermes.types.profile import Profile
from hermes.types.request import LeftOut
from tests.unit.agent.compaction.logs import Made, logs
from tests.unit.agent.compaction.test_any_session import WRITERS, compacted
from tests.wire import test_histories, test_pairs

CASES = given(
    made=logs(),
    writer=st.sampled_from(sorted(WRITERS)),
    window=st.sampled_from([4_000, 20_000]),
    profile=test_histories.PROFILES,
    without=test_histories.WITHOUT,
)


@settings(max_examples=100, deadline=None)
@CASES
def test_any_session_with_room_made_renders_to_what_a_strict_server_takes(
    made: Made, writer: str, window: int, profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(made, writer, window, profile, without)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=2_000, deadline=None)
@CASES
def test_thousands_of_sessions_with_room_made_render_to_what_a_strict_server_takes(
    made: Made, writer: str, window: int, profile: Profile, without: frozenset[LeftOut]
) -> None:
    check(made, writer, window, profile, without)


def check(made: Made, writer: str, window: int, profile: Profile, without: frozenset[LeftOut]) -> None:
    after = compacted(made.log, writer, window, None)
    test_pairs.check(after.messages, profile, without)
    for kind in test_histories.KINDS:
        test_histories.check(kind, [visible(made.log), visible(after)], profile, without)
