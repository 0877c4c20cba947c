"""Conversations as training examples: who wrote what in exact marks, and nothing that was not meant to stay."""

import json
from pathlib import Path

import pytest

from hermes.agent.trajectories import COMPLETED, FAILED, add_to, trajectory
from hermes.testing import ScriptedModel, calls, fail, say
from hermes.types.message import (
    Assistant,
    Compaction,
    ContextBlock,
    Thinking,
    ToolCall,
    ToolResult,
    User,
)

from .conftest import Talk

pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "read", "parameters": {}}}
LOG = (
    User(id="u", at=1.0, text="Grüße 你好", blocks=(ContextBlock(kind="memory", text="likes tea"),)),
    Assistant(
        id="a", at=2.0, text="Let me look.", provider="p", stop="calls",
        thinking=(Thinking(text="hm"), Thinking(text="", signature="x", redacted=True)),
        calls=(ToolCall(id="c1", name="read", arguments={"path": "ä"}), ToolCall(id="c2", name="read", arguments={})),
    ),
    ToolResult(id="r1", at=3.0, call_id="c1", name="read", content='{"text": "key sk-secret"}'),
    ToolResult(id="r2", at=3.0, call_id="c2", name="read", content="no json"),
    Compaction(id="k", at=3.5, summary="short", first_kept="r1"),
    Assistant(id="b", at=4.0, text="Done.", provider="p"),
)  # fmt: skip


def example(*log: object) -> dict[str, object]:
    return trajectory(
        log,  # type: ignore[arg-type]
        system="be good",
        tools=[TOOL],
        model="m",
        at=1e9,
        redact=lambda text: text.replace("sk-secret", "[key]"),
    )


def test_each_part_stands_in_its_marks_and_credentials_nowhere() -> None:
    found = example(*LOG)
    assert found["conversations"] == [
        {
            "from": "system",
            "value": f"be good\n\n<tools>\n{json.dumps(TOOL, separators=(',', ':'))}\n</tools>",
        },
        {"from": "human", "value": "Grüße 你好"},
        {
            "from": "gpt",
            "value": "<think>\nhm\n</think>\nLet me look."
            '\n<tool_call>\n{"name":"read","arguments":{"path":"ä"}}\n</tool_call>'
            '\n<tool_call>\n{"name":"read","arguments":{}}\n</tool_call>',
        },
        {
            "from": "tool",
            "value": '<tool_response>\n{"tool_call_id":"c1","name":"read","content":{"text":"key [key]"}}'
            '\n</tool_response>\n<tool_response>\n{"tool_call_id":"c2","name":"read","content":"no json"}'
            "\n</tool_response>",
        },
        {"from": "gpt", "value": "Done."},
    ]
    assert (found["model"], found["completed"], str(found["timestamp"])[:4]) == ("m", True, "2001")


@pytest.mark.parametrize(
    "log",
    [
        (),
        LOG[:4],
        LOG[:2],
        (LOG[0], Assistant(id="x", at=1.0, text="(stopped by the user)", model="m")),
        (LOG[0], Assistant(id="x", at=1.0, text="cut", provider="p", stop="length")),
    ],
)
def test_what_no_model_ended_is_a_failed_one(log: tuple[object, ...], tmp_path: Path) -> None:
    found = example(*log)
    assert found["completed"] is False
    assert all("stopped by" not in str(one) for one in found["conversations"])  # type: ignore[attr-defined]
    assert add_to(tmp_path, found).name == FAILED


async def test_sessions_are_added_when_they_are_closed_if_that_is_set(
    talk: Talk, environ: dict[str, str]
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("trajectories: {save: true}\n")
    for model in (ScriptedModel(calls(("todo", {})), say("ää")), ScriptedModel(fail(400, "no"))):
        async with talk(model, toolsets=("todo",), ephemeral="answer in rhymes") as session:
            await session.send("question")
    folder = home / "trajectories"
    lines = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    assert {name: len(found) for name, found in lines.items()} == {COMPLETED: 1, FAILED: 1}
    assert ("ää" in lines[COMPLETED][0], "rhymes" in lines[COMPLETED][0]) == (True, False)
    roles = [[one["from"] for one in json.loads(found[0])["conversations"]] for found in lines.values()]
    assert sorted(roles) == [["system", "human"], ["system", "human", "gpt", "tool", "gpt"]]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


async def test_nothing_is_added_unless_it_is_set(talk: Talk, environ: dict[str, str]) -> None:
    async with talk(ScriptedModel(say("1"))) as session:
        await session.send("one")
    assert not (Path(environ["HERMES_HOME"]) / "trajectories").exists()
