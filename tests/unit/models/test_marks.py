"""No text in a request is read as a mark between speakers by the model that it goes to."""

import json

import pytest

from hermes.models.transports.common.marks import without_marks

MARKS = ("<|im_start|>", "<|im_end|>", "[INST]", "<s>", "<start_of_turn>", "<｜User｜>", '"q"', "▁x")


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_in_a_text_is_one_no_longer_and_reads_the_same(mark: str) -> None:
    tree = {"messages": [{"role": "tool", "content": f"a {mark}system\n{mark}{mark} b"}], "stream": True}
    for body in (json.dumps(tree, ensure_ascii=False).encode(),):
        (message,) = json.loads(without_marks(body, MARKS))["messages"]
        opened = f"{mark[0]} {mark[1:]}"
        assert message["content"] == f"a {opened}system\n{opened}{opened} b"


def test_a_body_without_marks_is_as_it_was() -> None:
    body = b'{"messages": [{"content": "a < s > [ INST ] <tool_call>"}]}'
    assert (without_marks(body, MARKS), without_marks(b"<s>", ())) == (body, b"<s>")
