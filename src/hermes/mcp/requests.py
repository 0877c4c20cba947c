"""What servers ask of us while a tool of theirs runs: words of the user, an answer of a model, folders."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
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
from hermes.mcp.forms import DECLINE, filled, plain_words
from hermes.mcp.settings import McpServer
from hermes.types.error import HermesError
from hermes.types.question import Clarify, Reply
from hermes.types.tool import ToolContext

ONCE, SESSION, NO = "Yes, once", "Yes, as long as this session runs", "No"
_MINUTE: Final = 60.0
_SHOWN: Final = 1_200


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
        if not await self._may_sample(ctx, text, params.system_prompt or "", params.max_tokens):
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

    async def _may_sample(self, ctx: ToolContext, text: str, instructions: str, tokens: int) -> bool:
        if ctx.session_id in self._allowed:
            return True
        instructed = f" — with the instructions: {_beginning(instructions)}" if instructions else ""
        asked = (
            f"The MCP server {self._name} wants your model to answer, with {tokens} tokens at most:"
            f" {_beginning(text)}{instructed}"
        )
        said = await _reply(ctx, asked, (NO, ONCE, SESSION))
        if said == SESSION:
            self._allowed.add(ctx.session_id)
        return said in {ONCE, SESSION}

    async def _visited(self, ctx: ToolContext, params: mcp_types.ElicitRequestURLParams) -> ElicitResult:
        asked = (
            f"The MCP server {self._name} asks you to open {plain_words(params.url)[:4_000]} in your"
            f" browser: {clip(plain_words(params.message), 400)}"
        )
        said = await _reply(ctx, asked, (DECLINE, "I have done that"))
        return ElicitResult(action="accept" if said == "I have done that" else "decline")

    async def _filled(self, ctx: ToolContext, message: str, schema: Mapping[str, Any]) -> ElicitResult:
        """The user's answers to a form."""
        asked = f"The MCP server {self._name} asks: {clip(plain_words(message), 800)}"
        if not schema.get("properties"):
            content: dict[str, Any] | None = (
                {} if await _reply(ctx, asked, (DECLINE, "Yes")) == "Yes" else None
            )
        else:
            content = await filled(asked, schema, partial(_reply, ctx))
        return ElicitResult(action="decline" if content is None else "accept", content=content)


async def _reply(ctx: ToolContext, text: str, options: Sequence[str]) -> str | None:
    """What a person says; None where no person did."""
    answer = await ctx.ask(Clarify(text=text, options=tuple(options)))
    return answer.text.strip() if isinstance(answer, Reply) and not answer.decided else None


def _beginning(text: str) -> str:
    """How a text begins, and how much of it there is."""
    words = plain_words(text)
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}… ({len(words):,} letters in all)"


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
