"""A reply that is cut after any byte is asked for again: the answer is right, the call runs once, no text is shown twice."""

import pytest

from hermes.testing import network
from tests.chaos.harness import ANSWERED, Faulty, Place, turn
from tests.chaos.streams import WIRES, Wire

pytestmark = pytest.mark.anyio
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_a_reply_with_a_call_may_be_cut_after_any_byte(
    environ: dict[str, str], wire: Wire, part: int, anyio_backend: str, request: pytest.FixtureRequest
) -> None:
    step = 1 if request.config.getoption("--long") else 6
    odd = (
        3 if anyio_backend == "trio" and step == 6 else 0
    )  # the short form takes every third byte, half of them on each backend
    half = len(wire.call) // PARTS
    model = Faulty(wire=wire)
    async with Place(environ, http=network({"one": model}), wire=wire).open() as runtime:
        for cut in range(part * half + odd, (part + 1) * half + 1, step):
            model.count, model.faults = 0, (wire.turn(wire.call[:cut]),)
            trial = await turn(runtime)
            trial.hold(model)
            assert (trial.outcome, trial.voided, trial.logged) == (ANSWERED, [], trial.used), cut


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_an_answer_may_be_cut_after_any_byte(
    environ: dict[str, str], wire: Wire, request: pytest.FixtureRequest
) -> None:
    step = 1 if request.config.getoption("--long") else 20
    model = Faulty(wire=wire)
    async with Place(environ, http=network({"one": model}), wire=wire).open() as runtime:
        for cut in range(0, len(wire.answer), step):
            model.count, model.faults = 0, (wire.turn(wire.call), wire.turn(wire.answer[:cut]))
            trial = await turn(runtime)
            trial.hold(model)
            assert (trial.outcome, trial.voided, trial.logged) == (ANSWERED, [], trial.used), cut
