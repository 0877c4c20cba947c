"""Calls that an app makes in a session by itself: no reply has them, nor a log, but they take the road of
all calls.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from hermes.agent.calls import CallBatch
from hermes.agent.ledger import TurnLimits
from hermes.agent.outside import protect
from hermes.agent.stopping import TurnStop
from hermes.types.message import ToolCall, ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session


async def run_directly(
    session: "Session", calls: Sequence[ToolCall], stop: TurnStop
) -> tuple[ToolResult, ...]:
    """Run the calls until they end or are stopped, and give a result for each, in order."""
    session.limits = TurnLimits(budget=session.services.ledger.turn(session.budget))
    batch = session.batch = CallBatch(calls, session, "")
    await session.settle()  # a session that nobody has said anything in has no row yet, which a journal needs
    if session.opened is not None:
        await session.opened.begin_turn()
    await protect(session)
    try:
        with stop.scope:
            await batch.run()
    finally:
        with anyio.CancelScope(shield=True):
            await session.settle()  # closes the journal: there is nothing in the log to answer
    if session.opened is not None:
        await session.opened.end_turn()
    return tuple(batch.ordered())
