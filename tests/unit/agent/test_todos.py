"""The plan is what the last good result of `todo` says."""

import json

import pytest

from hermes.agent.todos import from_log, last_plan
from hermes.types.message import ToolResult

ITEM = {"id": "1", "content": "look", "status": "pending"}


def result(content: str, name: str = "todo", *, failed: bool = False) -> ToolResult:
    return ToolResult(id=f"r{content}", at=0.0, call_id="c", name=name, content=content, failed=failed)


def test_the_last_good_result_of_the_tool_holds_the_plan() -> None:
    log = [
        result(json.dumps({"todos": []})),
        result(json.dumps({"todos": [ITEM], "summary": {}})),
        result("{}", "terminal"),
        result(json.dumps({"todos": []}), failed=True),
    ]
    assert (last_plan(log), from_log(log).read(), last_plan([]), from_log([]).read()) == (1, [ITEM], -1, [])


@pytest.mark.parametrize(
    "content", ["no JSON", "[]", '{"todos": 1}', '{"todos": [{"id": "1"}]}', '{"todos": [1]}']
)
def test_what_is_no_plan_is_an_empty_one(content: str) -> None:
    assert from_log([result(content)]).read() == []
