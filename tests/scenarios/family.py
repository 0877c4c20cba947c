"""A scripted model for sessions side by side: each conversation has a script of its own, found by words of its first message."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hermes.agent.session import Session
from hermes.testing import ScriptedModel, Turn
from hermes.types.event import Event
from hermes.types.message import ToolResult


class FamilyModel(ScriptedModel):
    """`scripts` by words of the first message; each conversation extends its own requests alone."""

    def __init__(self, scripts: Mapping[str, Sequence[Any]]) -> None:
        super().__init__()
        self.models = {name: ScriptedModel(*replies) for name, replies in scripts.items()}

    def next(self, body: bytes) -> Turn:
        self.requests.append(json.loads(body))
        told = str(next(one["content"] for one in self.requests[-1]["messages"] if one["role"] == "user"))
        names = sorted((name for name in self.models if name in told), key=len)
        assert names, f"nobody has a script for {told[:200]!r}"
        return self.models[names[-1]].next(body)

    def tools(self, name: str) -> list[str]:
        """The tools that a conversation was offered."""
        return [one["function"]["name"] for one in self.models[name].requests[0].get("tools", [])]

    def told(self, name: str) -> list[dict[str, Any]]:
        """The messages of a conversation's last request."""
        return list(self.models[name].requests[-1]["messages"])


def results(session: Session) -> list[dict[str, Any]]:
    """What the calls of a session gave."""
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


def reports(session: Session) -> list[dict[str, Any]]:
    """The reports of all children, in the order of the tasks."""
    return [report for one in results(session) for report in one.get("results", [])]


@contextmanager
def family_events(session: Session) -> Iterator[list[Event]]:
    """The events of a session and all below it, as they come."""
    heard: list[Event] = []

    class Ear:
        def put(self, event: Event) -> None:
            heard.append(event)

    session.listeners.attach(Ear())
    yield heard


def task(goal: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """A call that hands a goal on."""
    return "delegate_task", {"goal": goal, **more}
