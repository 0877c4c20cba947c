"""Where a session calls hooks: when it is opened, before the model hears a turn, and after the turn's end."""

from typing import TYPE_CHECKING, Any

from hermes.types.actor import Actor
from hermes.types.event import TurnFinished
from hermes.types.message import ContextBlock

if TYPE_CHECKING:
    from hermes.agent.session import Session


async def opened(session: "Session", *, resumed: bool) -> None:
    """Tell that a session was opened."""
    await session.services.recall.started(session)
    if session.spec.attended:
        session.services.servers.warm({one.toolset for one in session.tools.tools.values()})
    await session.services.dispatcher.hooks.observe("on_session_start", **_about(session), resumed=resumed)


async def added_context(session: "Session", text: str, actor: Actor) -> tuple[ContextBlock, ...]:
    """What callbacks add to a user's message; stored with it, so that every later request repeats it."""
    words = await session.services.dispatcher.hooks.added(
        "pre_llm_call",
        **_about(session),
        task_id=session.id,
        user_message=text,
        is_first_turn=session.turns == 0,
        sender_id=actor.id,
    )
    return tuple(ContextBlock(kind="hook", text=one, source="pre_llm_call") for one in words)


async def ended(session: "Session", text: str, end: TurnFinished) -> None:
    """Tell what the model answered, where it did, and that the turn is over."""
    hooks, about = session.services.dispatcher.hooks, {**_about(session), "task_id": session.id}
    completed = end.outcome == "done"
    if completed:
        await hooks.observe("post_llm_call", **about, user_message=text, assistant_response=end.text)
    interrupted = end.outcome == "interrupted"
    reason = end.reason or end.outcome
    await hooks.observe(
        "on_session_end", **about, completed=completed, interrupted=interrupted, reason=reason
    )


def _about(session: "Session") -> dict[str, Any]:
    return {
        "session_id": session.id,
        "model": session.endpoint.model,
        "platform": session.spec.actor.app,
    }
