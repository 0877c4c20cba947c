"""What programs are told that a call printed."""

import json

import pytest

from hermes.present.outcome import printed
from hermes.types.message import ToolResult


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"output": "1\n", "exit_code": 0}, "1\n"),
        ({"output": "1\n", "stderr": "KeyError: 3\n", "exit_code": 1}, "1\nKeyError: 3\n"),
        ({"content": "1|x"}, '{"content": "1|x"}'),
    ],
)
def test_errors_stand_behind_what_was_printed(fields: dict[str, object], told: str) -> None:
    assert printed(ToolResult(id="r", at=0, call_id="c", name="t", content=json.dumps(fields))) == told
