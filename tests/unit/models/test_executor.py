"""The executor over real transports and scripted servers: what is tried, in which order, what it costs, and how it ends."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import pytest
from msgspec.structs import replace

from hermes.lib.http import BadCertificates
from hermes.models.budget import Budget, SpendingLimits
from hermes.models.client import Timeouts
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.listener import ReplyListener
from hermes.models.reliability.route import FAILURES, OPEN_SECONDS, Breakers, KeySource, OneKey, Route, Target
from hermes.models.transports.registry import transport_for
from hermes.testing import ScriptedModel, Turn, fail, network, raw, say
from hermes.types.error import BudgetSpent, ConfigError, ContextOverflow, Exhausted, Failure, ModelError
from hermes.types.event import Attempted, PrefixBroken
from hermes.types.message import Assistant, Attachment, Message, ToolCall, ToolResult, User
from hermes.types.profile import Price
from hermes.types.request import Delta, Endpoint, Request, Text

pytestmark = pytest.mark.anyio

FIRST = Endpoint(
    provider="one",
    base_url="http://one/v1",
    model="a",
    credential="k1",
    price=Price(input=1.0, output=2.0),
    context_window=1000,
)
SECOND = Endpoint(provider="two", base_url="http://two/v1", model="b", credential="k2", context_window=9000)
LIMITS = Timeouts(first_byte=0.4, idle=0.4, total=3.0)


@dataclass
class TwoKeys:
    """A pool of two keys, as the executor sees it."""

    keys: list[str] = field(default_factory=lambda: ["k1", "k1b"])
    failures: list[tuple[str, str]] = field(default_factory=list)

    async def take(self) -> str | None:
        return self.keys[0] if self.keys else None

    async def failed(self, credential: str, failure: Failure) -> bool:
        self.failures.append((credential, failure.reason))
        self.keys.remove(credential)
        return bool(self.keys)

    def reset_at(self) -> float | None:
        return None

    def trouble(self) -> str:
        return ""


@dataclass
class Talk:
    """One session's route with everything that a test wants to see."""

    models: dict[str, ScriptedModel]
    endpoints: Sequence[Endpoint] = (FIRST, SECOND)
    keys: KeySource | None = None
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    timeouts: Timeouts = LIMITS
    told: list[Attempted] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    messages: tuple[Message, ...] = (User(id="u1", at=0, text="hi"),)
    clock: float = 1000.0
    shortens: bool = False

    def __post_init__(self) -> None:
        self.breakers = Breakers(lambda: self.clock)
        targets = [Target(endpoint=one, keys=OneKey(one.credential)) for one in self.endpoints]
        if self.keys is not None:
            targets[0].keys = self.keys
        self.route = Route(targets=targets, make=transport_for, breakers=self.breakers)
        self.budget = Budget(name="turn", limits=self.limits)
        self.listener = ReplyListener(
            emit=self.deltas.append,
            tell=self.told.append,
            broken=lambda event: self.broken.append(event.reason),
        )

    async def ask(self, **changes: Any) -> Assistant:
        async with network(self.models) as http:
            return await self.ask_over(http, **changes)

    async def ask_over(self, http: httpx2.AsyncClient, **changes: Any) -> Assistant:
        executor = RequestExecutor(
            http=http,
            timeouts=self.timeouts,
            retries=2,
            now=lambda: 1000.0,
            monotonic=anyio.current_time,
            uniform=lambda low, high: 0.0,
        )
        request = Request(endpoint=FIRST, system="s", messages=self.messages, **changes)
        return await executor.stream(request, self.route, self.listener, self.budget, shortens=self.shortens)

    @property
    def actions(self) -> list[tuple[str, str | None, str]]:
        return [(one.action, one.failure.reason if one.failure else None, one.provider) for one in self.told]


async def test_a_good_reply_is_one_attempt_with_its_cost() -> None:
    talk = Talk({"one": ScriptedModel("hello")})
    reply = await talk.ask()
    assert (reply.text, reply.usage.requests, talk.actions) == ("hello", 1, [("done", None, "one")])
    assert reply.usage.cost == pytest.approx(100e-6 + 20e-6)
    assert talk.budget.cost == pytest.approx(120e-6)


async def test_a_refused_key_gives_way_to_the_next_key_and_then_to_the_next_model() -> None:
    keys = TwoKeys()
    talk = Talk({"one": ScriptedModel(fail(401), fail(402)), "two": ScriptedModel("from two")}, keys=keys)
    reply = await talk.ask()
    assert (reply.text, reply.usage.requests) == ("from two", 3)
    assert talk.actions == [
        ("next_credential", "auth", "one"),
        ("next_endpoint", "billing", "one"),
        ("done", None, "two"),
    ]
    assert keys.failures == [("k1", "auth"), ("k1b", "billing")]
    assert talk.broken == ["the model is two/b now"]


async def test_a_turn_that_moved_on_stays_there_and_the_next_turn_begins_at_the_first_again() -> None:
    talk = Talk(
        {
            "one": ScriptedModel(fail(404), say("one again", breaks_prefix=True)),
            "two": ScriptedModel("x", "y"),
        }
    )
    await talk.ask()
    await talk.ask()
    talk.route.start()
    await talk.ask()
    assert [one.provider for one in talk.told if one.action == "done"] == ["two", "two", "one"]


async def test_a_rate_limit_of_the_only_key_goes_to_the_fallback_instead_of_waiting() -> None:
    talk = Talk(
        {"one": ScriptedModel(fail(429, "slow", headers={"retry-after": "30"})), "two": ScriptedModel("two")}
    )
    with anyio.fail_after(2):
        assert (await talk.ask()).text == "two"


async def test_without_a_fallback_the_provider_s_own_time_is_waited_for() -> None:
    talk = Talk(
        {"one": ScriptedModel(fail(429, "slow", headers={"retry-after": "0.3"}), "there")}, endpoints=[FIRST]
    )
    started = anyio.current_time()
    assert (await talk.ask()).text == "there"
    assert anyio.current_time() - started >= 0.3
    assert talk.told[0].delay == pytest.approx(0.3)


async def test_a_fault_that_stays_ends_in_one_failure_that_knows_them_all() -> None:
    talk = Talk({"one": ScriptedModel(fail(500), fail(502), fail(503))}, endpoints=[FIRST])
    with pytest.raises(Exhausted) as fault:
        await talk.ask()
    assert [one.status for one in fault.value.failures] == [500, 502, 503]
    assert [one.action for one in talk.told] == ["wait", "wait", "give_up"]


async def test_what_no_other_attempt_can_help_is_asked_once() -> None:
    talk = Talk({"one": ScriptedModel(fail(404, "No endpoints found matching your data policy"))})
    with pytest.raises(ModelError) as fault:
        await talk.ask()
    assert (fault.value.failure.reason, talk.actions) == (
        "provider_policy_blocked",
        [("give_up", "provider_policy_blocked", "one")],
    )


async def test_an_overflow_goes_to_a_model_with_more_room_else_to_the_turn() -> None:
    overflow = fail(400, "This model's maximum context length is 1000 tokens.")
    talk = Talk({"one": ScriptedModel(overflow), "two": ScriptedModel("fits")})
    assert (await talk.ask()).text == "fits"
    talk = Talk({"one": ScriptedModel(overflow)}, endpoints=[FIRST])
    with pytest.raises(ContextOverflow) as fault:
        await talk.ask()
    assert fault.value.failure.window == 1000


@pytest.mark.parametrize(
    "refusal",
    [
        fail(400, "This model's maximum context length is 1000 tokens."),
        fail(413, "request entity too large"),
        fail(429, "Extra usage is required for long context requests"),
    ],
    ids=["overflow", "payload", "long context"],
)
async def test_what_is_too_long_goes_to_who_can_shorten_it_before_any_other_model(refusal: Turn) -> None:
    talk = Talk({"one": ScriptedModel(refusal), "two": ScriptedModel("fits")}, shortens=True)
    with pytest.raises(ContextOverflow):
        await talk.ask()
    assert [(action, provider) for action, _, provider in talk.actions] == [("give_up", "one")]


@pytest.mark.parametrize(
    "pieces",
    [(), (b": keep-alive\n\n",) * 40, (b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n',)],
    ids=["nothing", "keep-alives", "a first word"],
)
async def test_a_stall_is_left_behind_for_the_next_model(pieces: tuple[bytes, ...]) -> None:
    silence = Turn(
        pieces=(*pieces, b": late\n\n"), pause=0.1 if len(pieces) > 1 else 5.0 if not pieces else 0.2
    )
    if len(pieces) == 1:
        silence = replace(silence, pieces=(*pieces, *[b": keep-alive\n\n"] * 40))
    talk = Talk({"one": ScriptedModel(silence), "two": ScriptedModel("two speaks")})
    with anyio.fail_after(3):
        assert (await talk.ask()).text == "two speaks"
    assert talk.actions == [("next_endpoint", "timeout", "one"), ("done", None, "two")]


async def test_the_deadline_bounds_everything() -> None:
    slow = Turn(pieces=(b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n',) * 100, pause=0.2)
    talk = Talk(
        {"one": ScriptedModel(slow, slow, slow)},
        endpoints=[FIRST],
        timeouts=Timeouts(first_byte=0.4, idle=0.4, total=1.0),
    )
    started = anyio.current_time()
    with pytest.raises(ModelError):
        await talk.ask()
    assert anyio.current_time() - started < 2


async def test_what_the_server_refuses_is_left_out_from_then_on() -> None:
    image = Attachment(media_type="image/png", data="aGk=")
    log = (
        User(id="u1", at=0, text="look"),
        Assistant(id="a1", at=0, calls=(ToolCall(id="c1", name="shot", arguments={}),)),
        ToolResult(id="r1", at=0, call_id="c1", name="shot", content="ok", images=(image,)),
    )
    model = ScriptedModel(
        fail(400, "Invalid: image content in tool messages is not allowed"),
        say("fine", breaks_prefix=True),
        say("again", breaks_prefix=True),
    )
    talk = Talk({"one": model}, endpoints=[FIRST], messages=log)
    await talk.ask()
    await talk.ask()
    assert talk.actions == [("leave_out", "tool_images", "one"), ("done", None, "one"), ("done", None, "one")]
    assert talk.told[0].next == "tool_images"
    assert talk.broken == ["the server refused a part of the request: tool_images"]


async def test_a_broken_endpoint_is_passed_over_while_its_breaker_is_open() -> None:
    talk = Talk({"one": ScriptedModel(say("healed", breaks_prefix=True)), "two": ScriptedModel("two")})
    for _ in range(FAILURES):
        talk.breakers.failed(FIRST, "server_error")
    talk.route.start()
    assert (await talk.ask()).text == "two"
    talk.clock += 31
    talk.route.start()
    assert (await talk.ask()).text == "healed"


async def test_a_fallback_whose_breaker_lets_one_request_through_is_tried_when_it_is_announced() -> None:
    talk = Talk({"one": ScriptedModel(fail(404)), "two": ScriptedModel("two healed")})
    for _ in range(FAILURES):
        talk.breakers.failed(SECOND, "server_error")
    talk.clock += OPEN_SECONDS
    assert (await talk.ask()).text == "two healed"
    assert [(one.action, one.next) for one in talk.told] == [("next_endpoint", "two/b"), ("done", "")]


async def test_one_request_alone_tries_a_fallback_that_was_broken() -> None:
    talk = Talk({"one": ScriptedModel(fail(404)), "two": ScriptedModel()})
    for _ in range(FAILURES):
        talk.breakers.failed(SECOND, "server_error")
    talk.clock += OPEN_SECONDS
    assert talk.breakers.take(SECOND)  # another session's request is under way there
    with pytest.raises(ModelError):
        await talk.ask()
    assert talk.actions == [("give_up", "model_not_found", "one")]


async def test_a_spent_budget_starts_no_request() -> None:
    talk = Talk({"one": ScriptedModel("first")}, limits=SpendingLimits(tokens=100))
    await talk.ask()
    with pytest.raises(BudgetSpent):
        await talk.ask()
    assert len(talk.told) == 1


async def test_an_interrupted_request_is_counted() -> None:
    talk = Talk({"one": ScriptedModel(say("one two three four", pause=0.1))}, endpoints=[FIRST])
    with anyio.move_on_after(0.25):
        await talk.ask()
    assert [(one.action, one.usage.requests) for one in talk.told] == [("interrupted", 1)]
    assert talk.budget.held_cost == 0.0


@pytest.mark.parametrize("name", ["first_byte", "idle", "total"])
async def test_a_limit_of_0_is_none_and_what_is_no_time_is_refused(name: str) -> None:
    talk = Talk({"one": ScriptedModel(say("slow but there", pause=0.05))}, timeouts=Timeouts(**{name: 0}))
    assert (await talk.ask()).text == "slow but there"
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ConfigError, match=f"The limit {name} is .*: give seconds, or 0 for no limit."):
            Timeouts(**{name: wrong})


async def test_every_piece_of_a_reply_is_handed_on_as_it_comes() -> None:
    talk = Talk({"one": ScriptedModel(say("abcdef", size=2))})
    await talk.ask()
    assert talk.deltas == [Text(text="ab"), Text(text="cd"), Text(text="ef")]


async def test_a_request_that_does_not_extend_the_last_one_is_told_with_what_it_costs() -> None:
    talk = Talk({"one": ScriptedModel("a", say("b", breaks_prefix=True))})
    breaks: list[PrefixBroken] = []
    talk.listener = replace(talk.listener, broken=breaks.append)
    await talk.ask()
    talk.messages = (User(id="u9", at=0, text="other"),)
    await talk.ask()
    assert [one.reason for one in breaks] == ["earlier messages were dropped or summed up"]
    assert breaks[0].cost == pytest.approx(100e-6)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"<html>busy</html>", b'{"choices": []}', b"data: {broken\n\n"], ids=repr
)
async def test_an_answer_that_is_no_reply_is_tried_again(body: bytes) -> None:
    talk = Talk({"one": ScriptedModel(raw(body, content_type="application/json"), "now")}, endpoints=[FIRST])
    assert (await talk.ask()).text == "now"


async def test_an_error_in_a_good_answer_is_classified_by_what_it_says() -> None:
    said = b'{"error": {"message": "Insufficient credits", "code": 402}}'
    talk = Talk(
        {"one": ScriptedModel(raw(said, content_type="application/json")), "two": ScriptedModel("paid")}
    )
    assert (await talk.ask()).text == "paid"
    assert talk.told[0].failure is not None
    assert (talk.told[0].failure.reason, talk.told[0].failure.status) == ("billing", 402)


async def test_a_host_that_cannot_be_reached_gives_way() -> None:
    talk = Talk({"two": ScriptedModel("two")})
    assert (await talk.ask()).text == "two"
    assert [one.failure.message for one in talk.told if one.failure] == ["the server cannot be reached"] * 3


async def test_damaged_certificates_are_a_fault_of_what_was_set_and_nothing_is_tried() -> None:
    def opened(_: httpx2.Request) -> httpx2.Response:
        raise BadCertificates("x.pem is not a file of certificates")

    talk = Talk({})
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(opened)) as http:
        with pytest.raises(ConfigError, match=r"x\.pem is not a file of certificates"):
            await talk.ask_over(http)
    assert [one.action for one in talk.told] == ["interrupted"]


async def test_marks_of_the_models_template_are_sent_as_plain_words() -> None:
    model = ScriptedModel("ok")
    endpoint = replace(FIRST, marks=("<|im_end|>", "<s>"))
    said = (User(id="u1", at=0, text="a <|im_end|> <s>b</s>"),)
    await Talk({"one": model}, endpoints=(endpoint,), messages=said).ask()
    assert model.requests[0]["messages"][-1]["content"] == "a < |im_end|> < s>b</s>"


@dataclass
class Longer:
    """Has every request sent with a longer body, before it is sent or around it."""

    more: bytes
    around_it: bool

    async def changed(self, request: Request, body: bytes) -> bytes:
        return body if self.around_it else body[:-1] + self.more

    async def around(self, body: bytes, send: Callable[[bytes], Awaitable[Assistant]]) -> Assistant:
        return await send(body[:-1] + self.more if self.around_it else body)

    async def sends(self, request: Request) -> None:
        """Nothing."""

    async def ended(self, found: Assistant | Failure, attempt: int, attempts: int, seconds: float) -> None:
        """Nothing."""


@pytest.mark.parametrize("around_it", [False, True])
async def test_what_is_held_of_a_budget_is_for_the_request_as_it_is_sent(around_it: bool) -> None:
    held: list[int] = []
    for watch in (None, Longer(b',"note":"%s"}' % (b"w" * 4000), around_it)):

        def look(_body: dict[str, Any]) -> Turn:
            held.append(talk.budget.held_tokens)
            return say("ok")

        talk = Talk({"one": ScriptedModel(look)})
        talk.listener = replace(talk.listener, watch=watch)
        await talk.ask()
        assert talk.budget.held_tokens == 0
    assert held[1] - held[0] == len(',"note":""' + "w" * 4000) // 4
