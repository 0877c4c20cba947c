"""What does not extend the request before it is told, and nothing else is (invariant 10)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.reliability.route import PrefixWatch, cost_of_break
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.types.message import Assistant, Message, User
from hermes.types.profile import Price
from hermes.types.request import Endpoint, LeftOut, Request

ENDPOINT = Endpoint(provider="p", base_url="http://h", model="m")
TOOLS = ({"type": "function", "function": {"name": "look", "parameters": {}}},)
TRANSPORT = ChatCompletions()

words = st.sampled_from(["a", "b", ""])
users = st.builds(User, id=st.sampled_from("123"), at=st.just(0.0), text=words)
replies = st.builds(Assistant, id=st.sampled_from("456"), at=st.just(0.0), text=words)
histories = st.lists(users | replies, max_size=6).map(tuple)


def request(*messages: Message, **fields: Any) -> Request:
    return replace(Request(endpoint=ENDPOINT, system="s", messages=messages, tools=TOOLS), **fields)


@st.composite
def edited(draw: st.DrawFn) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """A history, and what a few edits anywhere in it make of it."""
    before = draw(histories)
    after = list(before)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(after)))
        match draw(st.sampled_from(["insert", "append", "drop", "change"])):
            case "insert":
                after.insert(at, draw(users))
            case "append":
                after.append(draw(replies))
            case "drop":
                del after[at : at + 1]
            case _:
                after[at : at + 1] = [draw(users)] if at < len(after) else []
    return before, tuple(after)


@given(edited())
def test_an_edit_of_the_history_is_told_unless_it_only_appends(
    pair: tuple[tuple[Message, ...], tuple[Message, ...]],
) -> None:
    before, after = pair
    prefix = PrefixWatch()
    assert prefix.sent(request(*before), TRANSPORT) == ""
    found = prefix.sent(request(*after), TRANSPORT)
    assert found == ("" if after[: len(before)] == before else "earlier messages were dropped or summed up")


@given(st.lists(histories, min_size=1, max_size=5))
def test_each_request_is_compared_with_the_one_that_was_sent_last(sent: list[tuple[Message, ...]]) -> None:
    prefix, last = PrefixWatch(), tuple[Message, ...]()
    for messages in sent:
        told = bool(prefix.sent(request(*messages), TRANSPORT))
        assert told == (messages[: len(last)] != last)
        last = messages


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, ""),
        ({"tools": tuple(dict(one) for one in TOOLS)}, ""),
        ({"endpoint": replace(ENDPOINT, credential="another")}, ""),
        ({"endpoint": replace(ENDPOINT, model="n")}, "the model is p/n now"),
        ({"endpoint": replace(ENDPOINT, base_url="http://i")}, "the model is p/m now"),
        (
            {"without": frozenset[LeftOut]({"images", "effort"})},
            "the server refused a part of the request: effort, images",
        ),
        ({"system": "t"}, "the system prompt changed"),
        ({"tools": (*TOOLS, *TOOLS)}, "the tools changed"),
        ({"tools": ()}, "the tools changed"),
    ],
)
def test_a_change_around_the_messages_has_its_reason(fields: dict[str, Any], reason: str) -> None:
    prefix = PrefixWatch()
    prefix.sent(request(), TRANSPORT)
    assert prefix.sent(request(**fields), TRANSPORT) == reason


def test_another_transport_has_not_kept_what_was_rendered() -> None:
    prefix = PrefixWatch()
    prefix.sent(request(), TRANSPORT)
    assert prefix.sent(request(), ChatCompletions()) == "the conversation is rendered anew"


def test_a_break_is_told_once() -> None:
    prefix = PrefixWatch()
    told = [prefix.sent(one, TRANSPORT) for one in (request(), request(system="t"), request(system="t"))]
    assert told == ["", "the system prompt changed", ""]


def test_a_break_costs_the_whole_prompt_where_a_price_is_known() -> None:
    assert cost_of_break(200_000, Price(input=3.0, output=15.0)) == 0.6
    assert cost_of_break(200_000, None) is None
