"""What hooks are told of one call of a tool, and what they make of it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hermes.hooks import VERSIONS, HookDirective, Hooks, said_of, text_of
from hermes.lib.codec import copied
from hermes.types.action import ToolUse, digest_of
from hermes.types.question import Approve, Grant
from hermes.types.tool import ToolEntry


class CallHooks:
    """The hooks of one call; `about` is what each of them is told beside its arguments."""

    def __init__(
        self, hooks: Hooks, entry: ToolEntry, args: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> None:
        self._hooks, self._entry, self._keywords = hooks, entry, keywords
        self._asked = {"original_args": args, **VERSIONS}
        self.about = _about(entry, keywords)

    async def before(self, args: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Why a hook blocks the call, or nothing, and the arguments as hooks leave them: who blocks sees what
        would run.
        """
        args, self.about["middleware_trace"] = await self._hooks.change(
            "transform_tool_args", _wanted, args=args, **self._asked, **self.about
        )
        wanted = await self._hooks.directive("pre_tool_call", args=args, **self.about)
        if wanted is None or wanted.action == "continue":
            return "", args
        return wanted.message if wanted.action == "block" else await self._why_refused(args, wanted), args

    async def around(self, args: Mapping[str, Any], run: Callable[[Any], Awaitable[str]]) -> str:
        """What the call gives as the hooks around it have it."""
        told = {**self._asked, **self.about}
        return await self._hooks.around("tool_execution", run, text_of, args=args, **told)

    async def _why_refused(self, args: Mapping[str, Any], wanted: HookDirective) -> str:
        """Ask a person because a hook wants that; why the call is not to be made, or nothing."""
        entry, context = self._entry, self._keywords.get("ctx")
        if context is None:
            return f"{wanted.message} Nobody can be asked here, so the answer is no."
        words = json.dumps(args, ensure_ascii=False, sort_keys=True, default=str)
        use = ToolUse(tool=entry.name, source=entry.source, manifest=entry.manifest)
        question = Approve(
            command=f"{entry.name} {words}",
            cwd="",
            reasons=(wanted.message,),
            rule=wanted.rule_key or "hook",
            digest=digest_of(use, args=words, session=str(self._keywords.get("session_id", ""))),
        )
        answer = await context.ask(question)
        if isinstance(answer, Grant):
            return ""
        return f"The user refused this call: {answer.reason or wanted.message}"


def _about(entry: ToolEntry, keywords: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: keywords.get(name, "") for name in ("task_id", "session_id", "tool_call_id")}
    turn = getattr(keywords.get("ctx"), "turn_id", "")
    more = {"turn_id": turn, "api_request_id": "", "middleware_trace": ()}
    return {"tool_name": entry.name, **given, **more}


def _wanted(answer: Any) -> tuple[Mapping[str, Any], dict[str, str]] | None:
    """The arguments that an answer asks for, and what it says of that."""
    if answer is None:
        return None
    said = said_of(answer)
    inner = answer["args"] if {*answer} == {"args", *said} else answer
    if not isinstance(inner, Mapping):
        raise TypeError("the answer is no arguments")
    return copied(inner), {} if inner is answer else said
