"""Questions that a session asks the models of side tasks, within its budget."""

from typing import TYPE_CHECKING

from hermes.models.side_calls import SideCalls

if TYPE_CHECKING:
    from hermes.agent.session import Session


def side_calls(session: "Session") -> SideCalls:
    """What asks them for a session, and counts what they use as the session's."""
    routes = session.services.routes
    return SideCalls(
        executor=session.services.executor,
        side_task=lambda one: routes.side_task(one, session.endpoint),
        route=lambda chain: routes.chain_for(session, chain),
        count=lambda one, event: session.count(event, task=one),
    )
