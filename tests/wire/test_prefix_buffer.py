"""A session's transport keeps what it has joined; what it sends is what one that knows nothing would send."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.transports.common.encoding import MARKS, Encoded, Mark, PrefixBuffer
from hermes.models.transports.registry import transport_for
from hermes.types.message import Message, User
from hermes.types.profile import Profile
from hermes.types.request import Endpoint, LeftOut, Options, Protocol, Request
from tests.wire.conversations import CLAUDE
from tests.wire.test_histories import histories

WITHOUT: st.SearchStrategy[frozenset[LeftOut]] = st.frozensets(
    st.sampled_from(["thinking", "images", "tool_images", "cache_marks"])
)
PROFILES = st.sampled_from(
    [CLAUDE, Profile(vision=True, tool_images=False), Profile(family="gpt", vision=True, cache_marks=True)]
)
MARK = Mark(b"!", 1)


@pytest.mark.parametrize(
    "protocol", ["chat_completions", "anthropic_messages", "bedrock_converse", "codex_responses"]
)
@settings(max_examples=60, deadline=None)
@given(points=histories(), profile=PROFILES, without=WITHOUT, cache=st.sampled_from(["", "5m", "1h"]))
def test_what_was_sent_before_makes_no_difference(
    protocol: Protocol,
    points: list[tuple[Message, ...]],
    profile: Profile,
    without: frozenset[LeftOut],
    cache: str,
) -> None:
    endpoint = Endpoint(provider="p", base_url="http://h", model="m", protocol=protocol, profile=profile)
    known, options = transport_for(endpoint), Options(cache=cache)  # type: ignore[arg-type]  # one of its literals
    seen: tuple[Message, ...] = ()
    for messages in points:
        request = Request(endpoint=endpoint, system="s", messages=messages, options=options, without=without)
        if messages[: len(seen)] != seen:  # names and ids of what has been dropped stay taken
            known = transport_for(endpoint)
        assert known.render(request).body == transport_for(endpoint).render(request).body
        seen = messages


@pytest.mark.parametrize(
    "protocol", ["chat_completions", "anthropic_messages", "bedrock_converse", "codex_responses"]
)
def test_marks_that_are_wanted_late_are_set_and_a_history_that_was_undone_is_forgotten(
    protocol: Protocol,
) -> None:
    profile = Profile(family="claude", cache_marks=True)
    endpoint = Endpoint(provider="p", base_url="http://h", model="m", protocol=protocol, profile=profile)
    long = tuple(User(id=f"u{number}", at=0.0, text=f"{number}") for number in range(9))
    request, known = Request(endpoint=endpoint, system="s", messages=long), transport_for(endpoint)
    other = (*long[:4], User(id="x", at=0.0, text="other"))
    for asked in (
        request,
        replace(request, options=Options(cache="1h")),
        replace(request, messages=long[:5]),
        replace(request, messages=other),
        replace(request, messages=()),
        replace(request, without=frozenset({"cache_marks"})),
    ):
        assert known.render(asked).body == transport_for(endpoint).render(asked).body


def _user(text: str) -> User:
    return User(id=text, at=0.0, text=text)


def _taking(
    growing: PrefixBuffer, taken: list[str], carries: str = ""
) -> Callable[[tuple[Message, ...], int], None]:
    def take(messages: tuple[Message, ...], index: int) -> None:
        message = messages[index]
        assert isinstance(message, User)
        taken.append(message.text)
        growing.add(Encoded(f"<{message.text}>".encode(), message.text in carries))

    return take


def test_only_what_is_new_is_taken_in() -> None:
    growing, taken = PrefixBuffer(), list[str]()
    take = _taking(growing, taken)
    for text in ("a", "ab", "abcde"):
        growing.grow(tuple(map(_user, text)), "form", take)
    assert (taken, b"".join(growing.parts())) == (list("abcde"), b"<a>,<b>,<c>,<d>,<e>")
    growing.grow(tuple(map(_user, "abx")), "form", take)
    assert (taken[5:], b"".join(growing.parts())) == (list("abx"), b"<a>,<b>,<x>")
    growing.grow(tuple(map(_user, "abx")), "another form", take)
    assert (taken[8:], b"".join(growing.parts())) == (list("abx"), b"<a>,<b>,<x>")


def test_the_last_blocks_that_can_carry_a_mark_have_it_however_far_back_they_are() -> None:
    growing, taken = PrefixBuffer(), list[str]()
    take = _taking(growing, taken, "abcde")
    wanted = {
        "a": b"<a!>",
        "abz": b"<a!>,<b!>,<z>",
        "abzcd": b"<a>,<b!>,<z>,<c!>,<d!>",
        "abzcdzzzz": b"<a>,<b!>,<z>,<c!>,<d!>,<z>,<z>,<z>,<z>",
    }
    for text, expected in wanted.items():
        growing.grow(tuple(map(_user, text)), "form", take)
        assert b"".join(growing.parts(MARK)) == expected
    assert b"".join(growing.parts(MARK, [Encoded(b"<end>", carries=True)])).count(b"!") == MARKS


def test_a_message_that_could_not_be_taken_in_is_not_taken_for_known() -> None:
    growing, taken = PrefixBuffer(), list[str]()
    take = _taking(growing, taken)

    def fails(messages: tuple[Message, ...], index: int) -> None:
        if index:
            raise ValueError("no")
        take(messages, index)

    with pytest.raises(ValueError, match="no"):
        growing.grow(tuple(map(_user, "ab")), "form", fails)
    growing.grow(tuple(map(_user, "ab")), "form", take)
    assert b"".join(growing.parts()) == b"<a>,<b>"
