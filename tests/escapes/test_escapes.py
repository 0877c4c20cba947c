"""Attempts to get out of the sandbox, run for real by a throw-away user in each mode. Escapes: none."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.escapes import later, reaching, secrets, writing
from tests.escapes.attempt import Attempt, Mode
from tests.escapes.ground import Ground, make_ground

ALL = [*writing.ALL, *secrets.ALL, *reaching.ALL, *later.ALL]
SHOWN = [one for one in ALL if one.shown]


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    made = make_ground()
    yield made
    made.clear()


def named(table: list[Attempt]) -> list[object]:
    return [pytest.param(one, id=f"{one.category}: {one.name}") for one in table]


@pytest.mark.parametrize(
    ("attempt", "mode"),
    [pytest.param(one, mode, id=f"{one.category}: {one.name} ({mode})") for one in ALL for mode in one.modes],
)
def test_no_attempt_gets_out(ground: Ground, attempt: Attempt, mode: Mode) -> None:
    ground.lay()
    before = ground.state(mode)
    output = ground.confined(mode, attempt.script)
    assert ground.damage(output, before, mode) == [], output


@pytest.mark.parametrize("attempt", named(SHOWN))
def test_each_attempt_does_its_harm_when_nothing_confines_it(ground: Ground, attempt: Attempt) -> None:
    ground.lay()
    mode: Mode = "read-only"  # all of the ground is looked at
    before = ground.state(mode)
    output = ground.free(attempt.script)
    assert ground.damage(output, before, mode) != [], output


def test_there_are_enough_of_them() -> None:
    names = [(one.category, one.name) for one in ALL]
    assert len(names) == len(set(names))
    counts = Counter(mode for one in ALL for mode in one.modes)
    assert (counts["read-only"] >= 80, counts["workspace"] >= 80, counts["full"] >= 60) == (True, True, True)
