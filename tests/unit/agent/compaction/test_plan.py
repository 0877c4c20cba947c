"""The plan stands once in what a model sees after room was made: as it was last written."""

import json
from itertools import chain

import pytest

from hermes.agent.compaction.summary import PLAN
from hermes.agent.log import Log
from hermes.types.message import Assistant, Compaction, Message, ToolCall, ToolResult, User

from .test_any_session import compacted


def said(turn: int, *plan: str) -> list[Message]:
    """A turn with long words, in which a plan is written where there is one."""
    items = [{"id": str(at), "content": one, "status": "pending"} for at, one in enumerate(plan)]
    call = ToolCall(id=f"c{turn}", name="todo", arguments={})
    written = ToolResult(
        id=f"r{turn}", at=0.0, call_id=call.id, name="todo", content=json.dumps({"todos": items})
    )
    step: list[Message] = [Assistant(id=f"w{turn}", at=0.0, calls=(call,)), written] if plan else []
    return [
        User(id=f"u{turn}", at=0.0, text=f"turn {turn} " + "look " * 400),
        *step,
        Assistant(id=f"a{turn}", at=0.0, text="done " * 400),
    ]


def recorded(*turns: list[Message]) -> str:
    """What stands word for word beside the record that stands for the first of these turns."""
    log = Log()
    for message in [*chain.from_iterable(turns), User(id="last", at=0.0, text="go on")]:
        log = log.add(message)
    entry = compacted(log, "good", 8_000, "").messages[-1]
    assert isinstance(entry, Compaction)
    assert entry.dropped
    return entry.verbatim


@pytest.mark.parametrize(
    ("turns", "plan"),
    [
        ([said(0), said(1, "plant"), said(2, "water"), *map(said, range(3, 12))], "- water (pending)"),
        ([said(0), said(1, "plant"), *map(said, range(2, 11)), said(11, "water")], ""),
    ],
    ids=["left out", "kept"],
)
def test_a_record_tells_the_plan_as_it_is_and_none_where_that_stands_in_what_is_kept(
    turns: list[list[Message]], plan: str
) -> None:
    told = recorded(*turns)
    assert told.partition(PLAN)[2].partition("\n\n")[0].strip() == plan
