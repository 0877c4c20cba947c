"""A log that names children which are none of the session's gets nothing of them (invariant 15)."""

import json
from pathlib import Path

import pytest

from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, say
from hermes.types.message import Assistant, ToolCall, ToolResult, User

pytestmark = pytest.mark.anyio


async def test_the_words_of_a_session_that_is_no_child_are_told_to_nobody(environ: dict[str, str]) -> None:
    model = ScriptedModel("The secret is heron.", say("Fine.", breaks_prefix=True))
    options = SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=Path(environ["HOME"]), attended=False
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        other = await runtime.session(options)
        await other.send("What is the secret?")
        session = await runtime.session(options)
        started = json.dumps({"status": "started", "children": [{"session_id": other.id}]})
        await session.append(User(id="u", at=1.0, text="go"))
        await session.append(
            Assistant(id="a", at=1.0, calls=(ToolCall(id="c", name="delegate_task", arguments={}),))
        )
        await session.settle(ToolResult(id="r", at=1.0, call_id="c", name="delegate_task", content=started))
        await session.append(Assistant(id="b", at=1.0, text="It works."))
        await session.close()
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        again = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), resume=session.id, attended=False
            )
        )
        await again.send("and?")
        await again.close()
    assert "heron" not in json.dumps(model.requests[-1])
