"""What servers ask of us while a tool of theirs runs: words of the user, an answer of a model, folders."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
)
from pydantic import FileUrl

from hermes.lib.text import clip
from hermes.mcp.connection import ServerRequests
from hermes.mcp.settings import McpServer
from hermes.types.error import HermesError
from hermes.types.question import Clarify, Reply
from hermes.types.tool import ToolContext

ACCEPT, DECLINE = "Answer it", "No, tell it nothing"
ONCE, SESSION, NO = "Yes, once", "Yes, as long as this session runs", "No"
_MINUTE: Final = 60.0


class CallRequests:
    """Answers the requests of one server in the name of whoever has called it last: without a call running,
    nobody has, and what it asks is refused.
    """

    def __init__(self, name: str, server: McpServer, clock: Callable[[], float]) -> None:
        self._name, self._server, self._clock = name, server, clock
        self._running: list[ToolContext] = []
        self._allowed: set[str] = set()  # sessions that let it use the model
        self._asked: deque[float] = deque()

    def handlers(self) -> ServerRequests:
        """The handlers that the settings let it have."""
        return ServerRequests(
            sampling=self.sample if self._server.sampling.enabled else None,
            elicitation=self.elicit if self._server.elicitation.enabled else None,
            roots=self.roots,
        )

    @contextmanager
    def running(self, ctx: ToolContext) -> Iterator[None]:
        """A call runs, by which the server may ask."""
        self._running.append(ctx)
        try:
            yield
        finally:
            self._running.remove(ctx)

    async def roots(self, _context: object) -> ListRootsResult:
        """The folders that it was granted."""
        paths = [*self._server.sandbox.paths, *([self._server.cwd] if self._server.cwd else ())]
        found = map(Path, map(os.path.expanduser, paths))
        roots = [Root(uri=FileUrl(one.as_uri()), name=one.name) for one in found if one.is_absolute()]
        return ListRootsResult(roots=roots)

    async def elicit(self, _context: object, params: Any) -> ElicitResult | ErrorData:
        """What the user answers; declined where nobody can be asked."""
        if not self._running:
            return _refused("it may ask only while one of its tools is called")
        try:
            with anyio.fail_after(self._server.elicitation.timeout):
                if isinstance(params, mcp_types.ElicitRequestURLParams):
                    return await self._visited(self._running[-1], params)
                return await self._filled(self._running[-1], params.message, params.requested_schema)
        except TimeoutError:
            return ElicitResult(action="cancel")
        except HermesError:
            return ElicitResult(action="decline")

    async def sample(
        self, _context: object, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """A model's answer, where the user lets the server have it."""
        if not self._running:
            return _refused("it may use the model only while one of its tools is called")
        if why := self._unfit(params):
            return _refused(why)
        try:
            answer, why = await self._sampled(self._running[-1], params)
        except TimeoutError:
            return _refused(f"no model answered within {self._server.sampling.timeout:g} s")
        except HermesError as error:
            return _refused(str(error))
        if answer is None:
            return _refused(why)
        return CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(type="text", text=clip(answer, params.max_tokens * 8)),
            model="auxiliary",
            stop_reason="endTurn",
        )

    def _unfit(self, params: CreateMessageRequestParams) -> str:
        """Why it may not ask a model for this; "" where it may."""
        settings = self._server.sampling
        if params.max_tokens > settings.max_tokens_cap:
            return f"it may ask for {settings.max_tokens_cap} tokens at most"
        if any(not isinstance(one, mcp_types.TextContent) for one in _parts(params)):
            return "only text is answered"
        return "" if self._counted() else f"it may ask {settings.max_rpm} times a minute"

    async def _sampled(self, ctx: ToolContext, params: CreateMessageRequestParams) -> tuple[str | None, str]:
        """The answer, or why there is none."""
        text = "\n\n".join(f"{one.role}: {_text(one)}" for one in params.messages)
        if not await self._may_sample(ctx, text, params.max_tokens):
            return None, "the user does not let it use the model"
        with anyio.fail_after(self._server.sampling.timeout):
            return await ctx.ask_model(params.system_prompt or "", text), "no model answered"

    def _counted(self) -> bool:
        """Count a request; whether there are not too many."""
        now = self._clock()
        while self._asked and self._asked[0] <= now - _MINUTE:
            self._asked.popleft()
        self._asked.append(now)
        return len(self._asked) <= self._server.sampling.max_rpm

    async def _may_sample(self, ctx: ToolContext, text: str, tokens: int) -> bool:
        if ctx.session_id in self._allowed:
            return True
        asked = (
            f"The MCP server {self._name} wants your model to answer, with {tokens} tokens at most:"
            f" {clip(' '.join(text.split()), 400)}"
        )
        said = await _reply(ctx, asked, (ONCE, SESSION, NO))
        if said == SESSION:
            self._allowed.add(ctx.session_id)
        return said in {ONCE, SESSION}

    async def _visited(self, ctx: ToolContext, params: mcp_types.ElicitRequestURLParams) -> ElicitResult:
        asked = (
            f"The MCP server {self._name} asks you to open {clip(params.url, 400)} in your browser:"
            f" {clip(params.message, 400)}"
        )
        said = await _reply(ctx, asked, ("I have done that", DECLINE))
        return ElicitResult(action="accept" if said == "I have done that" else "decline")

    async def _filled(self, ctx: ToolContext, message: str, schema: Mapping[str, Any]) -> ElicitResult:
        """The user's answers to a form, a question for each of its fields."""
        fields: Mapping[str, Any] = schema.get("properties") or {}
        asked = f"The MCP server {self._name} asks: {clip(message, 800)}"
        if not fields:
            said = await _reply(ctx, asked, ("Yes", DECLINE))
            return (
                ElicitResult(action="accept", content={}) if said == "Yes" else ElicitResult(action="decline")
            )
        content: dict[str, Any] = {}
        for name, field in fields.items():
            said = await _reply(ctx, f"{asked} — {_label(name, field)}", (*_options(field), DECLINE)[:4])
            if said in {None, DECLINE}:
                return ElicitResult(action="decline")
            value = _value(str(said), field)
            if value is not None:
                content[name] = value
        return ElicitResult(action="accept", content=content)


async def _reply(ctx: ToolContext, text: str, options: Sequence[str]) -> str | None:
    """What a person says; None where no person did."""
    answer = await ctx.ask(Clarify(text=text, options=tuple(options)))
    return answer.text.strip() if isinstance(answer, Reply) and not answer.decided else None


def _label(name: str, field: Mapping[str, Any]) -> str:
    about = clip(str(field.get("description") or ""), 300)
    default = f" (empty for {field['default']})" if "default" in field else ""
    return f"{clip(str(field.get('title') or name), 100)}{f': {about}' if about else ''}{default}"


def _options(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field.get("type") == "boolean":
        return ("Yes", "No")
    return tuple(str(one) for one in (field.get("enum") or ())[:3])


def _value(said: str, field: Mapping[str, Any]) -> Any:
    """What was said, in the type that the form wants; None where it is empty and there is no default."""
    if not said:
        return field.get("default")
    match field.get("type"):
        case "boolean":
            return said.lower() in {"yes", "y", "true", "1", "ja"}
        case "integer":
            return int(said) if said.lstrip("+-").isdecimal() else said
        case "number":
            try:
                return float(said)
            except ValueError:
                return said
        case _:
            return said


def _parts(params: CreateMessageRequestParams) -> list[object]:
    return [
        part
        for one in params.messages
        for part in (one.content if isinstance(one.content, list) else [one.content])
    ]


def _text(message: Any) -> str:
    parts = message.content if isinstance(message.content, list) else [message.content]
    return "\n".join(one.text for one in parts)


def _refused(why: str) -> ErrorData:
    return ErrorData(code=mcp_types.INVALID_REQUEST, message=why)
