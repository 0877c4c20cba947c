"""A scripted model with a judge beside it, and a goal pursued as apps do."""

import json
from collections.abc import Sequence

import anyio

from hermes.agent import goals
from hermes.agent.goal_judge import JUDGING
from hermes.agent.session import Session
from hermes.testing import ScriptedModel, Turn, say
from hermes.testing.script import Reply
from hermes.types.event import TurnFinished


class JudgedModel(ScriptedModel):
    """`replies` of the session's model, and those of the judge, whose requests are `judge.requests`."""

    def __init__(self, replies: Sequence[Reply | str], judge: Sequence[Reply | str]) -> None:
        super().__init__(*replies)
        self.judge = ScriptedModel(*(fresh(one) for one in judge))

    def next(self, body: bytes) -> Turn:
        asked = json.loads(body)["messages"][0]
        return self.judge.next(body) if asked["content"] == JUDGING else super().next(body)

    @property
    def records(self) -> list[str]:
        """What the judge was shown."""
        return [one["messages"][-1]["content"] for one in self.judge.requests]


def fresh(reply: Reply | str) -> Reply:
    """A reply to a request that extends no other."""
    return say(reply, breaks_prefix=True) if isinstance(reply, str) else reply


def verdict(said: str, reason: str = "so it is") -> str:
    return json.dumps({"verdict": said, "reason": reason})


async def pursue(session: Session, text: str) -> TurnFinished:
    """Set a goal, and send its turns until none follows."""
    words = await goals.begin(session, text)
    return await go_on(session, words)


async def go_on(session: Session, words: str) -> TurnFinished:
    while words:
        end = await session.send(words)
        words = await goals.after_turn(session, end, anyio.CancelScope())
    return end
