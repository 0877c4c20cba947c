"""Where a session calls hooks: when it is opened and closed, around a turn, and around a child's work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from hermes.agent.reply_stream import without_secrets
from hermes.lib.lazy import import_object
from hermes.lib.text import clip
from hermes.types.actor import Actor
from hermes.types.delegation import ChildReport
from hermes.types.event import Notice, TurnFinished
from hermes.types.message import VERIFICATION, Assistant, ContextBlock, Message, ToolResult, User

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.hooks import Hooks

VERIFICATIONS: Final = 3
"""How often hooks may have one turn go on that was about to end."""
_TOLD: Final = 500
"""Letters of a hook's words that a person is told."""
GOES_ON: Final = "(The turn goes on: a check of the answer asks for more.)"


def hooks_of(session: "Session") -> "Hooks":
    """The hooks of a session's runtime."""
    return session.services.dispatcher.hooks


def history(messages: Sequence[Message]) -> list[dict[str, str]]:
    """What was said, as hooks are told: a role and words for each message."""
    return [{"role": _role(one), "content": _words(one)} for one in messages]


async def opened(session: "Session", *, resumed: bool) -> None:
    """Tell that a session was opened."""
    await session.services.recall.started(session)
    if session.spec.attended:
        session.services.servers.warm({one.toolset for one in session.tools.tools.values()})
    await hooks_of(session).observe("on_session_start", **_about(session), resumed=resumed)


async def closed(session: "Session") -> None:
    """Tell that a session was closed."""
    about = {"session_id": session.id, "platform": session.spec.actor.app, "reason": "closed"}
    told = {**about, "old_session_id": session.id, "new_session_id": ""}
    await hooks_of(session).observe("on_session_finalize", **told)


async def began_anew(old: "Session", new: "Session") -> None:
    """Tell that a person began a new session in the place of another."""
    about = {"session_id": new.id, "platform": new.spec.actor.app, "reason": "new"}
    told = {**about, "old_session_id": old.id, "new_session_id": new.id}
    await hooks_of(new).observe("on_session_reset", **told)


async def added_context(session: "Session", text: str, actor: Actor) -> tuple[ContextBlock, ...]:
    """What callbacks add to a user's message; stored with it, so that every later request repeats it."""
    if "pre_llm_call" not in hooks_of(session):
        return ()
    words = await hooks_of(session).added(
        "pre_llm_call",
        **_about(session),
        task_id=session.id,
        turn_id=f"{session.id}:{session.turns + 1}",
        user_message=text,
        conversation_history=history(session.log),
        is_first_turn=session.turns == 0,
        sender_id=actor.id,
    )
    known = map(session.services.redactor.redact, words)
    return tuple(ContextBlock(kind="hook", text=one, source="pre_llm_call") for one in known)


async def transformed(session: "Session", reply: Assistant) -> Assistant:
    """The last reply of a turn, in the words that hooks give it."""
    hooks = hooks_of(session)
    if reply.calls or "transform_llm_output" not in hooks:
        return reply
    told = await hooks.replaced("transform_llm_output", response_text=reply.text, **_about(session))
    if told in ("", reply.text):
        return reply
    # The wire's own items and the places where it was continued belong to the other words
    return without_secrets(replace(reply, text=told, opaque=(), cuts=()), session.services.secrets)


async def has_more(session: "Session", reply: Assistant, attempt: int) -> bool:
    """Whether hooks have a turn go on that is about to end with this reply; what they ask for is added."""
    hooks = hooks_of(session)
    if "pre_verify" not in hooks or attempt > VERIFICATIONS:
        return False
    files = import_object("hermes.agent.delegation.changed_files:FileCalls")
    changed = files(session.whole_log.turn, session.tools.tools, str(session.spec.cwd)).changed
    more = {"coding": bool(changed), "attempt": attempt, "changed_paths": list(changed)}
    wanted = await hooks.directive("pre_verify", **_about(session), final_response=reply.text, **more)
    if wanted is None or wanted.action == "approve":
        return False
    ports, words = session.services.ports, session.services.redactor.redact(wanted.message)
    block = ContextBlock(kind="hook", text=words, source=VERIFICATION)
    origin = session.spec.actor.origin
    await session.append(User(id=ports.token(), at=ports.now(), text=GOES_ON, blocks=(block,), origin=origin))
    session.emit(Notice(level="info", text=f"A hook has the turn go on: {clip(words, _TOLD)}"))
    return True


async def ended(session: "Session", text: str, end: TurnFinished) -> None:
    """Tell what the model answered, where it did, and that the turn is over."""
    hooks = hooks_of(session)
    if not hooks:
        return
    about = {**_about(session), "task_id": session.id, "turn_id": session.turn_id}
    completed = end.outcome == "done"
    if completed and "post_llm_call" in hooks:
        said = {"user_message": text, "assistant_response": end.text}
        await hooks.observe("post_llm_call", **about, **said, conversation_history=history(session.log))
    interrupted = end.outcome == "interrupted"
    reason = end.reason or end.outcome
    await hooks.observe(
        "on_session_end", **about, completed=completed, interrupted=interrupted, reason=reason
    )


async def child_started(parent: "Session", child: "Session", goal: str) -> None:
    """Tell that a child begins to work for a session."""
    above = {"parent_subagent_id": parent.id if parent.spec.parent else "", "child_subagent_id": child.id}
    about = _family(parent, child.id)
    await hooks_of(parent).observe("subagent_start", **about, **above, child_goal=goal)


async def child_stopped(parent: "Session", report: ChildReport) -> None:
    """Tell how a child has ended."""
    milliseconds = round((report.seconds or 0.0) * 1000)
    told = {"child_summary": report.text, "child_status": report.state, "duration_ms": milliseconds}
    await hooks_of(parent).observe("subagent_stop", **_family(parent, report.session), **told)


def _family(parent: "Session", child_id: str) -> dict[str, Any]:
    return {
        "parent_session_id": parent.id,
        "parent_turn_id": parent.turn_id,
        "child_session_id": child_id,
        "child_role": "",
    }


def _about(session: "Session") -> dict[str, Any]:
    return {
        "session_id": session.id,
        "model": session.endpoint.model,
        "platform": session.spec.actor.app,
    }


def _role(message: Message) -> str:
    return {"tool_result": "tool", "compaction": "system"}.get(message.kind, message.kind)


def _words(message: Message) -> str:
    match message:
        case User() | Assistant():
            return message.text
        case ToolResult():
            return message.content
        case _:
            return message.summary
