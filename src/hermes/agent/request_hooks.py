"""What hooks are told of each request to a model: before it is sent, and how it ended."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hermes.agent.hook_points import history
from hermes.hooks import Hooks
from hermes.types.error import Failure
from hermes.types.message import Assistant
from hermes.types.request import Request

if TYPE_CHECKING:
    from hermes.agent.session import Session

POINTS: Final = ("pre_api_request", "post_api_request", "api_request_error")
_LETTERS: Final = 4
"""Of a token, on average."""


class RequestHooks:
    """The hooks of one turn's requests; satisfies `models.reliability.executor.RequestWatch`."""

    def __init__(self, session: "Session", user_message: str) -> None:
        self._session, self._text = session, user_message
        self._count = 0
        self._about: dict[str, Any] = {}

    async def sends(self, request: Request) -> None:
        """Tell of a request before it is sent."""
        self._count += 1
        self._about = self._told(request)
        await self._hooks.observe("pre_api_request", **self._about)

    async def ended(self, found: Assistant | Failure, attempt: int, attempts: int, seconds: float) -> None:
        """Tell how it ended."""
        if isinstance(found, Assistant):
            more = _replied(found, seconds, self._session.services.ports.now())
            await self._hooks.observe("post_api_request", **self._about, **more)
            return
        await self._hooks.observe(
            "api_request_error",
            **self._about,
            status_code=found.status,
            retry_count=attempt - 1,
            max_retries=attempts,
            retryable=found.retryable,
            reason=found.reason,
            error=found.message,
        )

    @property
    def _hooks(self) -> Hooks:
        return self._session.services.dispatcher.hooks

    def _told(self, request: Request) -> dict[str, Any]:
        session, endpoint, messages = self._session, request.endpoint, history(request.messages)
        size = len(request.system) + sum(len(one["content"]) for one in messages)
        return {
            "task_id": session.id,
            "turn_id": session.turn_id,
            "api_request_id": f"{session.turn_id}:{self._count}",
            "session_id": session.id,
            "user_message": self._text,
            "conversation_history": messages,
            "platform": session.spec.actor.app,
            "model": endpoint.model,
            "provider": endpoint.provider,
            "base_url": endpoint.base_url,
            "api_mode": endpoint.protocol,
            "api_call_count": self._count,
            "request_messages": messages,
            "message_count": len(messages),
            "tool_count": len(request.tools),
            "approx_input_tokens": size // _LETTERS,
            "request_char_count": size,
            "max_tokens": request.options.max_output,
            "started_at": session.services.ports.now(),
            "middleware_trace": (),
            "request": _body(endpoint.model, request, messages),
        }


def request_hooks(session: "Session", user_message: str) -> RequestHooks | None:
    """The hooks of a turn's requests, where somebody listens."""
    hooks = session.services.dispatcher.hooks
    return RequestHooks(session, user_message) if any(point in hooks for point in POINTS) else None


def _body(model: str, request: Request, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [one["function"]["name"] for one in request.tools]
    return {"model": model, "system": request.system, "messages": messages, "tools": names}


def _replied(reply: Assistant, seconds: float, now: float) -> dict[str, Any]:
    used = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    (message,) = history((reply,))
    return {
        "api_duration": seconds,
        "ended_at": now,
        "finish_reason": reply.stop,
        "response_model": reply.model,
        "response": message,
        "usage": used,
        "assistant_message": message,
        "assistant_content_chars": len(reply.text),
        "assistant_tool_call_count": len(reply.calls),
    }
