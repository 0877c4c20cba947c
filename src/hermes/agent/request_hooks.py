"""What hooks are told of each request to a model: before it is sent, and how it ended."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from hermes.agent.hook_points import history
from hermes.hooks import VERSIONS, Hooks, said_of
from hermes.lib.codec import with_texts
from hermes.models.reliability.changed_body import messages_in
from hermes.models.transports.common.encoding import encode
from hermes.types.error import Failure
from hermes.types.message import Assistant
from hermes.types.request import Request

if TYPE_CHECKING:
    from hermes.agent.session import Session

POINTS: Final = (
    *("llm_request", "llm_execution"),
    *("pre_api_request", "post_api_request", "api_request_error"),
)
_LETTERS: Final = 4
"""Of a token, on average."""


class RequestHooks:
    """The hooks of one turn's requests; satisfies `models.reliability.listener.RequestWatch`."""

    def __init__(self, session: "Session", user_message: str) -> None:
        self._session, self._text = session, user_message
        self._count = 0
        self._about: dict[str, Any] = {}

    async def changed(self, request: Request, body: bytes) -> bytes:
        """The body of a request that is about to be sent, as hooks leave it."""
        self._count += 1
        self._about = self._told(request)
        if "llm_request" not in self._hooks:
            return body
        own: dict[str, Any] = msgspec.json.decode(body)
        wanted, trace = await self._hooks.change(
            "llm_request", _wanted, **{**self._about, **VERSIONS, "request": own, "original_request": own}
        )
        if not trace:
            return body
        read = {"request_messages": messages_in(wanted)}
        request_told = {**self._about["request"], "messages": read["request_messages"]}
        self._about |= {"middleware_trace": trace, "request": request_told, **read}
        return self._clean(wanted)

    async def around(self, body: bytes, send: Callable[[bytes], Awaitable[Assistant]]) -> Assistant:
        """What sending a body brings; what a hook says in its place, where it has nothing sent."""
        if "llm_execution" not in self._hooks:
            return await send(body)
        return await _Surrounded(self._hooks, self._about, self._clean).reply(body, send)

    def _clean(self, wanted: Mapping[str, Any]) -> bytes:
        """A body as it may be sent: hooks know secrets that no server is to learn."""
        return encode(with_texts(wanted, self._session.services.secrets.redact))

    async def sends(self, request: Request) -> None:
        """Tell of a request before it is sent."""
        del request
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


class _Surrounded:
    """One request with hooks around it."""

    def __init__(self, hooks: Hooks, about: Mapping[str, Any], clean: Callable[[Any], bytes]) -> None:
        self._hooks, self._about, self._clean = hooks, about, clean
        self._reply: Assistant | None = None
        self._fault: BaseException | None = None

    async def reply(self, body: bytes, send: Callable[[bytes], Awaitable[Assistant]]) -> Assistant:
        """The reply, which stands once there is one, as a fault of the request does: what comes after them
        is for whoever tries again.
        """
        own: dict[str, Any] = msgspec.json.decode(body)
        scope = anyio.CancelScope()  # a plain callback waits in a thread, which nobody can stop

        async def run(asked: Any) -> dict[str, Any]:
            wanted = _plain(asked)
            if scope.cancel_called:
                raise RuntimeError("the turn is over")
            with scope:
                try:
                    self._reply = reply = await send(body if wanted in (None, own) else self._clean(wanted))
                except BaseException as error:
                    self._fault = error
                    raise
                return _told_of(reply)
            raise RuntimeError("the turn is over")

        try:
            about = {**self._about, **VERSIONS, "request": own, "original_request": own}
            answer = await self._hooks.around("llm_execution", run, _instead, **about)
        finally:
            scope.cancel()
        if self._fault is not None:
            raise self._fault
        about_it = {"provider": self._about["provider"], "model": self._about["model"]}
        return self._reply or Assistant(id="", at=0.0, text=answer["content"], **about_it)


def request_hooks(session: "Session", user_message: str) -> RequestHooks | None:
    """The hooks of a turn's requests, where somebody listens."""
    hooks = session.services.dispatcher.hooks
    return RequestHooks(session, user_message) if any(point in hooks for point in POINTS) else None


def _wanted(answer: Any) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The request that an answer asks for, and what it says of that."""
    if answer is None:
        return None
    inner = answer.get("request", answer)
    found = _plain(inner)
    if found is None:
        raise TypeError("the answer is no request")
    return found, {} if inner is answer else said_of(answer)


def _plain(wanted: Any) -> dict[str, Any] | None:
    """A wanted body as plain data; None where it is no body of a request."""
    try:
        found: dict[str, Any] = msgspec.json.decode(encode(wanted), type=dict[str, Any])
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return None if messages_in(found) is None else found


def _instead(answer: Any) -> dict[str, Any] | None:
    """The words of an answer that stands for a reply; None where it has none."""
    words = answer.get("content") if isinstance(answer, Mapping) else answer
    return {"content": words} if isinstance(words, str) else None


def _told_of(reply: Assistant) -> dict[str, Any]:
    """A whole reply, as hooks are told."""
    calls = [{"id": one.id, "name": one.name, "arguments": dict(one.arguments)} for one in reply.calls]
    used = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    about = {"finish_reason": reply.stop, "model": reply.model, "usage": used}
    return {"role": "assistant", "content": reply.text, "tool_calls": calls, **about}


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
