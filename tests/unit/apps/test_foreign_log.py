"""Messages of another program become a log that any strict provider takes, whatever is missing among them."""

import json

import pytest

from hermes.agent.log import misplaced
from hermes.apps.cli.homes.log_maker import NOT_KEPT, ForeignMessage, made_log
from hermes.types.message import Assistant, Message, ToolResult, User


def row(role: str, content: str = "", *calls: str, of: str = "") -> ForeignMessage:
    told = [{"id": one, "function": {"name": "ls", "arguments": '{"path": "."}'}} for one in calls]
    return ForeignMessage(
        role=role,
        at=1.0,
        content=content,
        tool_calls=json.dumps(told) if calls else "",
        tool_call_id=of,
    )


def told(message: Message) -> str:
    match message:
        case User(text=text):
            return f"user {text}"
        case Assistant(text=text, calls=calls):
            return " ".join(["assistant", *filter(None, [text, *(one.id for one in calls)])])
        case ToolResult(call_id=call_id, content=content):
            return f"{call_id} {content}"
    raise AssertionError(message)


CASES = {
    "nothing": ((), []),
    "only what a program says": ((row("system", "Be brief."), row("session_meta")), []),
    "an answer": ((row("user", "a"), row("assistant", "b")), ["user a", "assistant b"]),
    "no answer": ((row("user", "a"),), ["user a", f"assistant {NOT_KEPT}"]),
    "twice the user": ((row("user", "a"), row("user", "b")), ["user a\n\nb", f"assistant {NOT_KEPT}"]),
    "no question": ((row("assistant", "b"),), [f"user {NOT_KEPT}", "assistant b"]),
    "twice the model": (
        (row("user", "a"), row("assistant", "b"), row("assistant", "c", "1")),
        ["user a", "assistant b\n\nc 1", f"1 {NOT_KEPT}", f"assistant {NOT_KEPT}"],
    ),
    "results in another order": (
        (
            row("user", "a"),
            row("assistant", "", "1", "2"),
            row("tool", "two", of="2"),
            row("tool", "one", of="1"),
            row("assistant", "c"),
        ),
        ["user a", "assistant 1 2", "1 one", "2 two", "assistant c"],
    ),
    "a result of no call": (
        (row("user", "a"), row("tool", "x", of="9"), row("assistant", "b")),
        ["user a", "assistant b"],
    ),
    "calls that nobody answered": (
        (row("user", "a"), row("assistant", "", "1"), row("user", "b")),
        [
            "user a",
            "assistant 1",
            f"1 {NOT_KEPT}",
            f"assistant {NOT_KEPT}",
            "user b",
            f"assistant {NOT_KEPT}",
        ],
    ),
    "calls that are no JSON": (
        (row("user", "a"), ForeignMessage(role="assistant", at=1.0, content="b", tool_calls="[{")),
        ["user a", "assistant b"],
    ),
    "parts": (
        (
            row("user", '\0json:[{"type": "text", "text": "a"}, {"type": "image_url"}]'),
            row("assistant", "b"),
        ),
        ["user a\n\n[image_url: not taken over]", "assistant b"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_log_is_made_of_what_there_is(case: str) -> None:
    rows, expected = CASES[case]
    log = made_log(rows)
    assert [told(one) for one in log] == expected
    assert misplaced(log) is None
    assert len({one.id for one in log}) == len(log)


def test_text_that_no_file_can_hold_is_mended() -> None:
    rows = (row("user", '\0json:[{"type": "text", "text": "\\ud800a"}]'), row("assistant", "b"))
    assert made_log(rows)[0] == User(id="imported-0", at=1.0, text="\N{REPLACEMENT CHARACTER}a")
