"""Every fault alone, with a fallback, and with a second key: the right answer or one clear failure, in time, nothing twice."""

from typing import Any

import pytest

from hermes.testing import network
from tests.chaos.faults import FAULTS, ODD, Fault, Odd
from tests.chaos.harness import ANSWERED, Faulty, Place

pytestmark = pytest.mark.anyio
MOST = 5
"""Requests to one endpoint with two keys and two tries again: each key is left once."""


def stalls_at_length(fault: Fault) -> Any:
    """A case; for --long where most of it is waiting."""
    return pytest.param(fault, id=fault.name, marks=[pytest.mark.slow] if fault.turn.pause else [])


def failed(fault: Fault) -> tuple[str, str, tuple[str, ...]]:
    return "failed", fault.reason, ()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_that_passes_is_got_over_alone_where_trying_again_can_help(
    environ: dict[str, str], fault: Fault
) -> None:
    one = Faulty(fault.turn)
    trial = await Place(environ, http=network({"one": one})).turn()
    trial.hold(one)
    assert trial.outcome == (ANSWERED if fault.helps == "again" else failed(fault))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_that_stays_ends_in_one_failure(environ: dict[str, str], fault: Fault) -> None:
    one = Faulty(fault.turn, always=True)
    trial = await Place(environ, http=network({"one": one})).turn()
    trial.hold(one)
    assert (trial.outcome, one.count) == (failed(fault), 3 if fault.helps == "again" else 1)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_that_stays_is_left_behind_for_the_fallback(
    environ: dict[str, str], fault: Fault
) -> None:
    one, two = Faulty(fault.turn, always=True), Faulty()
    trial = await Place(environ, http=network({"one": one, "two": two}), fallback=True).turn()
    trial.hold(one, two)
    assert trial.outcome == (failed(fault) if fault.helps == "nobody" else ANSWERED)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_of_the_first_key_is_got_over_with_the_second(
    environ: dict[str, str], fault: Fault
) -> None:
    one = Faulty(fault.turn)
    trial = await Place(environ, http=network({"one": one}), second_key=True).turn()
    trial.hold(one)
    assert trial.outcome == (ANSWERED if fault.helps in {"again", "key"} else failed(fault))


@pytest.mark.parametrize("fault", [stalls_at_length(fault) for fault in FAULTS])
async def test_a_fault_that_stays_with_every_key_ends_in_one_failure(
    environ: dict[str, str], fault: Fault
) -> None:
    one = Faulty(fault.turn, always=True)
    trial = await Place(environ, http=network({"one": one}), second_key=True).turn()
    trial.hold(one)
    assert (trial.end.outcome, trial.ran, one.count <= MOST) == ("failed", [], True)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[0])
async def test_an_odd_reply_is_put_right_without_a_call_run_twice(environ: dict[str, str], odd: Odd) -> None:
    _, reply, requests = odd
    one = Faulty(reply)
    trial = await Place(environ, http=network({"one": one})).turn()
    trial.hold(one)
    assert (trial.outcome, one.count) == (ANSWERED, requests)


async def test_a_model_that_stays_silent_ends_the_turn_with_words_that_say_so(
    environ: dict[str, str],
) -> None:
    silent = next(reply for name, reply, _ in ODD if name == "an empty reply first")
    one = Faulty(silent, always=True)
    trial = await Place(environ, http=network({"one": one})).turn()
    assert (trial.outcome, trial.used, one.count) == (("failed", "empty_reply", ()), 2, 2)


async def test_a_reply_that_never_ends_is_left_at_the_deadline(environ: dict[str, str]) -> None:
    endless = next(fault.turn for fault in FAULTS if fault.name == "a token a minute")
    one = Faulty(type(endless)(pieces=endless.pieces * 99, pause=0.2), always=True)
    trial = await Place(environ, http=network({"one": one}), model={"total_timeout": 1.0}).turn()
    trial.hold(one)
    assert (trial.outcome, trial.seconds < 1.5) == (("failed", "timeout", ()), True)
