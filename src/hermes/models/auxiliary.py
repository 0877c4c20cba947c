"""Side calls: small requests beside the conversation, each task with its own chain of models, on the same ladder and budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hermes.models.attempt import Ladder, Listener
from hermes.models.route import Route
from hermes.models.spending import Purse
from hermes.types.error import ModelError
from hermes.types.event import Attempted
from hermes.types.message import Attachment, User
from hermes.types.request import Endpoint, Options, Request

Task = Literal["compression", "title", "web_extract", "vision", "approval", "search_summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What one task may take: its models in order, seconds, and the longest reply in tokens (None leaves it to the server)."""

    chain: Sequence[Endpoint]
    seconds: float
    max_output: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One side call: instructions, and the text (and images) that they are about."""

    instructions: str
    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCalls:
    """Asks models on the side. `route` makes the way along a chain, `count` writes down what a request of a task has used."""

    ladder: Ladder
    errand: Callable[[Task], Errand]
    route: Callable[[Sequence[Endpoint]], Route]
    count: Callable[[Task, Attempted], None]

    async def ask(self, task: Task, question: Question, purse: Purse) -> str | None:
        """The answer's text; None when there is no model for the task or none of them answered. BudgetSpent when no call may start."""
        errand = self.errand(task)
        if not errand.chain:
            return None
        request = Request(
            endpoint=errand.chain[0],
            system=question.instructions,
            messages=(User(id=task, at=0.0, text=question.text, attachments=question.attachments),),
            options=Options(max_output=errand.max_output),
        )
        listener = Listener(emit=lambda _: None, tell=lambda event: self.count(task, event), broken=lambda _: None)
        try:
            reply = await self.ladder.stream(request, self.route(errand.chain), listener, purse, seconds=errand.seconds)
        except ModelError as error:
            if error.failure.reason == "budget":
                raise
            return None
        return reply.text.strip() or None
