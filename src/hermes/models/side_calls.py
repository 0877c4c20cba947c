"""Side calls: small requests beside the conversation, on the same executor and budget, each task with its
own models.

Those that the settings name for it come first, else the session's own provider is asked. The words of a
session go to no service that the user did not choose for them; a key in the environment chooses nothing.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from hermes.config.sections import Settings
from hermes.models.budget import Budget
from hermes.models.catalog.catalogue import Provider, known_provider, known_providers, provider
from hermes.models.catalog.endpoint import resolve, sibling
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.listener import ReplyListener
from hermes.models.reliability.route import Route
from hermes.models.settings import AuxiliarySettings, ModelSettings, TaskSettings
from hermes.types.error import ConfigError, ModelError
from hermes.types.event import Attempted
from hermes.types.message import Attachment, User
from hermes.types.request import CUSTOM, Endpoint, Options, Request

Task = Literal[
    "compression",
    "title",
    "web_extract",
    "vision",
    "approval",
    "session_search",
    "goal_judge",
    "skills_hub",
    "mcp",
]


class SideTask(Struct, frozen=True, kw_only=True):
    """What one task may take: its models in order, seconds, and the longest reply in tokens (None leaves it
    to the server).
    """

    chain: Sequence[Endpoint]
    seconds: float
    max_output: int | None = None


class SideQuestion(Struct, frozen=True, kw_only=True):
    """One side call: instructions, and the text (and images) that they are about."""

    instructions: str
    text: str
    attachments: tuple[Attachment, ...] = ()


class SideCalls(Struct, frozen=True, kw_only=True):
    """Asks models on the side.

    `route` makes the way along a chain, `count` writes down what a request of a task has used.
    """

    executor: RequestExecutor
    side_task: Callable[[Task], SideTask]
    route: Callable[[Sequence[Endpoint]], Route]
    count: Callable[[Task, Attempted], None]

    async def ask(self, task: Task, question: SideQuestion, budget: Budget) -> str | None:
        """The answer's text; None when there is no model for the task or none of them answered.

        BudgetSpent when no call may start.
        """
        side_task = self.side_task(task)
        if not side_task.chain:
            return None
        request = Request(
            endpoint=side_task.chain[0],
            system=question.instructions,
            messages=(User(id=task, at=0.0, text=question.text, attachments=question.attachments),),
            options=Options(max_output=side_task.max_output),
        )
        listener = ReplyListener(
            emit=lambda _: None, tell=lambda event: self.count(task, event), broken=lambda _: None
        )
        try:
            reply = await self.executor.stream(
                request, self.route(side_task.chain), listener, budget, seconds=side_task.seconds
            )
        except ModelError as error:
            if error.failure.reason == "budget":
                raise
            return None
        return reply.text.strip() or None


SMALL_ENOUGH: frozenset[Task] = frozenset({"title", "session_search", "web_extract", "approval"})
"""Tasks that a provider's small model does as well as its large one."""
SMALL: Final = 16_384
"""A session's own model with no larger window writes no records of it: it takes long and misses much."""
SHORT: Mapping[Task, int] = {
    "title": 200,
    "approval": 400,
    "goal_judge": 2000,
    "skills_hub": 2000,
    "mcp": 4096,
}
OWN, SERVER, KEYS = "main", CUSTOM, "keys"
"""Words of `auxiliary.chain` and `vision_chain` beside providers: the session's own, the server of
`model.base_url`, and every provider that has a key.
"""


def side_task(
    task: Task,
    main: Endpoint,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    stored: Collection[str] = (),
) -> SideTask:
    """The models for a task of a session whose model is `main`; what is set and cannot be had is a
    ConfigError.
    """
    auxiliary = settings[AuxiliarySettings]
    own: TaskSettings = getattr(auxiliary, task)
    choice = _TaskModels(task, main, settings, environ, stored)
    listed = (task == "vision" and auxiliary.vision_chain) or auxiliary.chain
    found = choice.named(own) or choice.chain(listed)
    once = {(one.base_url, one.model): one for one in found if choice.can_do(one)}
    if not own.timeout >= 0:
        raise ConfigError(
            f"auxiliary.{task}.timeout is {own.timeout}: give seconds, or 0 for no limit.",
            key=f"auxiliary.{task}.timeout",
        )
    longest = own.max_tokens or own.max_output or SHORT.get(task)
    return SideTask(chain=tuple(once.values()), seconds=own.timeout or math.inf, max_output=longest)


class _TaskModels(Struct, frozen=True):
    """What a choice of models is made from."""

    task: Task
    main: Endpoint
    settings: Settings
    environ: Mapping[str, str]
    stored: Collection[str]

    def can_do(self, one: Endpoint) -> bool:
        """Whether a model is of use for the task."""
        if self.task == "vision":
            return one.profile.vision
        return self.task != "compression" or one != self.main or one.context_window > SMALL

    def named(self, own: TaskSettings) -> tuple[Endpoint, ...]:
        """What the user set for the task, and the session's own model after it."""
        main = self.main
        if not (own.provider or own.model or own.base_url):
            return ()
        if own.provider in {"", OWN} and not own.base_url and "/" not in own.model:
            return (sibling(main, own.model, self.settings), main) if own.model else (main,)
        name = f"{own.provider}/{own.model}" if own.provider and own.provider != OWN else own.model
        set_ = resolve(self.settings, self.environ, model=name, base_url=own.base_url, stored=self.stored)
        return (set_, main)

    def chain(self, names: Collection[str]) -> Iterator[Endpoint]:
        """The listed providers, as far as they can be used, then the session's own."""
        for name in names:
            if name == OWN:
                yield from self.near()
            elif name == SERVER and self.settings[ModelSettings].base_url:
                yield resolve(self.settings, self.environ, stored=self.stored)
            elif name == KEYS:
                usable = (one for one in known_providers(self.settings).values() if self.has_key(one))
                yield from filter(None, map(self.small, usable))
            elif name != SERVER:
                one = provider(name, known_providers(self.settings))
                found = self.small(one) if self.has_key(one) else None
                if found is not None:
                    yield found
        yield from self.near()

    def near(self) -> Iterator[Endpoint]:
        """The small model of the session's own provider at the session's own address, then the session's own
        model.
        """
        main, task = self.main, self.task
        own = known_provider(main.provider, self.settings)
        small = self.small(own) if own and task in SMALL_ENOUGH else None
        if small is not None and urlsplit(small.base_url).netloc == urlsplit(main.base_url).netloc:
            yield small
        if task != "title":  # a name is worth a small model's time, not the large one's
            yield main

    def has_key(self, one: Provider) -> bool:
        """Whether the user has given a credential of that provider."""
        return one.name in self.stored or any(self.environ.get(name) for name in one.keys)

    def small(self, one: Provider) -> Endpoint | None:
        """A provider's small model; None when it has none, or cannot be used as it is set up."""
        try:
            return (
                resolve(self.settings, self.environ, model=f"{one.name}/{one.small}", stored=self.stored)
                if one.small
                else None
            )
        except ConfigError:
            return None
