import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from hermes.agent.log import Log, PairingError, replay
from hermes.types.message import (
    Assistant,
    Attachment,
    Compaction,
    ContextBlock,
    Message,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)

NOTE = ContextBlock(kind="note", text="faster")


def user(number: int = 0) -> User:
    return User(id=f"u{number}", at=0.0, text="hi")


def assistant(*calls: str) -> Assistant:
    return Assistant(id="a", at=0.0, calls=tuple(ToolCall(id=call, name="t", arguments={}) for call in calls))


def result(call: str) -> ToolResult:
    return ToolResult(id="r", at=0.0, call_id=call, name="t", content="{}")


@pytest.mark.parametrize(
    "messages",
    [
        (assistant(),),
        (user(), user()),
        (user(), result("c1")),
        (user(), assistant("c1"), user()),
        (user(), assistant("c1"), assistant()),
        (user(), assistant("c1", "c2"), result("c2")),
        (user(), assistant("c1"), result("c1"), result("c1")),
        (user(), assistant(), assistant()),
        (user(), assistant("c1"), Compaction(id="c", at=0.0, summary="s", first_kept="u0")),
    ],
)
def test_an_unpaired_or_misplaced_message_cannot_be_added(messages: tuple[Message, ...]) -> None:
    with pytest.raises(PairingError):
        replay(messages)


def blocks() -> st.SearchStrategy[tuple[ContextBlock, ...]]:
    kinds: st.SearchStrategy[Any] = st.sampled_from(["note", "child"])
    names = st.sampled_from(["", "telegram:1", "telegram:2", "page"])
    block = st.builds(ContextBlock, kind=kinds, text=st.just("t"), source=names, outside=names)
    return st.lists(block, max_size=2).map(tuple)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cli", "telegram:1"]), blocks(), st.lists(st.sampled_from(["", "page", "mail"]))
        ),
        min_size=1,
        max_size=5,
    )
)
def test_a_log_that_is_replayed_is_the_log_that_was_built(
    turns: list[tuple[str, tuple[ContextBlock, ...], list[str]]],
) -> None:
    log = Log()
    for origin, added, results in turns:
        log = log.add(replace(user(), origin=origin, blocks=added))
        log = log.add(assistant(*map(str, range(len(results)))))
        for number, outside in enumerate(results):
            log = log.add(replace(result(str(number)), outside=outside, blocks=added))
        log = log.add(assistant()) if results else log
    log = log.add(Compaction(id="c", at=0.0, summary="s", first_kept="u0")).add(user(1))
    assert replay(log.messages) == log
    assert log.waits_for_reply


class LogMachine(RuleBasedStateMachine):
    """Whatever is tried, the log stays one that every strict provider takes."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log()
        self.calls = 0

    def attempt(self, message: Message) -> None:
        try:
            self.log = self.log.add(message)
        except PairingError:
            return

    @rule()
    def says(self) -> None:
        self.attempt(user())

    @rule(count=st.integers(0, 3))
    def replies(self, count: int) -> None:
        self.attempt(assistant(*(f"c{self.calls + number}" for number in range(count))))
        self.calls += count

    @rule(number=st.integers(0, 12))
    def answers_any(self, number: int) -> None:
        self.attempt(result(f"c{number}"))

    @precondition(lambda self: self.log.open)
    @rule()
    def answers_next(self) -> None:
        self.attempt(result(self.log.open[0].id))

    @invariant()
    def is_valid_for_strict_providers(self) -> None:
        waiting: list[str] = []
        last = "assistant"
        for message in self.log.messages:
            if isinstance(message, ToolResult):
                assert waiting
                assert waiting.pop(0) == message.call_id
                last = "user"
                continue
            assert not waiting
            role = "assistant" if isinstance(message, Assistant) else "user"
            assert role != last
            last = role
            waiting = [call.id for call in message.calls] if isinstance(message, Assistant) else []


TestLogMachine = LogMachine.TestCase


@given(st.lists(st.integers(0, 3), max_size=6))
def test_open_calls_are_those_without_a_result(counts: list[int]) -> None:
    log = Log()
    for count in counts:
        log = log.add(user()) if not log.awaits else log
        log = log.add(assistant(*(f"c{number}" for number in range(count))))
        assert [call.id for call in log.open] == [f"c{number}" for number in range(count)]
        for number in range(count):
            log = log.add(result(f"c{number}"))
        log = log.add(assistant()) if log.awaits else log
    assert log.open == ()


def test_the_collector_visits_no_message_however_long_the_log_is() -> None:
    call = ToolCall(id="c", name="t", arguments={"paths": [{"path": "a"}]})
    log = (
        User(id="u", at=0.0, text="go", attachments=(Attachment(media_type="image/png", data=""),)),
        Assistant(id="a", at=0.0, calls=(call,), thinking=(Thinking(text="so"),), opaque=({"kept": [1]},)),
        ToolResult(id="r", at=0.0, call_id="c", name="t", content="{}", blocks=(NOTE,)),
        Compaction(id="k", at=0.0, summary="", first_kept="u"),
    )
    assert [gc.is_tracked(one) for one in (*log, call, log[0].attachments[0], NOTE)] == [False] * 7
