"""The session_search tool: what was said in past sessions, by words, by time, or around a message."""

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any, Final

from hermes.tools.registry import registry, tool_error, tool_result
from hermes.types.error import HermesError
from hermes.types.tool import PastSessions, ToolManifest

MOST_SESSIONS: Final = 20
MOST_AROUND: Final = 20
ROLES: Final = ("user", "assistant", "tool")
SCHEMA = {
    "name": "session_search",
    "description": (
        "Past sessions. With query: messages that hold all its words, or parts of them, best first, with what"
        ' was said around; "words in quotation marks" stay together. With session_id: that session\'s last'
        " messages, or those around the number around_message. With neither: sessions by time."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "description": "sessions", "default": 3},
            "sort": {"type": "string", "enum": ["best", "newest", "oldest"], "default": "best"},
            "role_filter": {"type": "string", "description": "such as user,assistant or tool"},
            "session_id": {"type": "string"},
            "around_message": {"type": "integer"},
            "window": {"type": "integer", "description": "messages before and after"},
            "since": {"type": "string", "description": "first day, such as 2026-05-01"},
            "until": {"type": "string", "description": "last day"},
            "summarize": {"type": "boolean", "description": "sum up what the hits say", "default": False},
        },
        "required": [],
    },
}


async def session_search(args: Mapping[str, Any], **keywords: Any) -> str:
    """Hits with what stands around them, a stretch of one session, or a list of sessions."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error("session_search needs a session; it cannot be called on its own.")
    past: PastSessions = context.past
    try:
        if args.get("session_id") and not args.get("query"):
            return await _read(args, past)
        return await (_search(args, past) if args.get("query") else _browse(args, past))
    except (HermesError, ValueError) as error:
        return tool_error(str(error))


async def _search(args: Mapping[str, Any], past: PastSessions) -> str:
    query = str(args["query"])
    results = await past.search(
        query,
        limit=_within(args.get("limit"), 3, MOST_SESSIONS),
        order=args.get("sort") or "best",
        roles=_roles(str(args.get("role_filter") or "")),
        around=_within(args.get("window"), 2, MOST_AROUND),
    )
    found: dict[str, Any] = {"success": True, "mode": "discover", "query": query, "results": results}
    if args.get("summarize") and results:
        found["summary"] = await past.summarize(query, tool_result(results=results))
    return tool_result(**found)


async def _browse(args: Mapping[str, Any], past: PastSessions) -> str:
    since, until = _day(args.get("since"), 0), _day(args.get("until"), 1)
    limit = _within(args.get("limit"), 10, MOST_SESSIONS)
    sessions = await past.begun(since or 0.0, until or math.inf, limit=limit)
    return tool_result(success=True, mode="browse", sessions=sessions)


async def _read(args: Mapping[str, Any], past: PastSessions) -> str:
    number, around = int(args.get("around_message") or 0), _within(args.get("window"), 5, MOST_AROUND)
    return tool_result(
        success=True, mode="scroll", **await past.read(str(args["session_id"]), number, around=around)
    )


def _within(given: object, usual: int, most: int) -> int:
    return usual if given is None else min(max(int(str(given)), 0), most)


def _roles(text: str) -> tuple[str, ...]:
    roles = tuple(one.strip() for one in text.split(",") if one.strip())
    if unknown := [one for one in roles if one not in ROLES]:
        raise ValueError(f"role_filter names {', '.join(unknown)}; there are {', '.join(ROLES)}.")
    return roles


def _day(text: object, later: int) -> float:
    """The beginning of a day, so many days later, in epoch seconds; 0 for none."""
    if not text:
        return 0.0
    try:
        day = dt.datetime.fromisoformat(str(text)) + dt.timedelta(days=later)
    except ValueError as error:
        raise ValueError(f"{text} is no day such as 2026-05-01.") from error
    return day.astimezone().timestamp()


registry.register(
    name="session_search",
    toolset="session_search",
    schema=SCHEMA,
    handler=session_search,
    is_async=True,
    emoji="🔎",
    manifest=ToolManifest(effects=(), parallel="safe"),
)
