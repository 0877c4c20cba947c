"""Another context manager than ours, chosen by a setting."""

from pathlib import Path

import pytest

from hermes.agent.context import ContextRequest
from hermes.agent.log import Log
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, say
from hermes.types.error import ConfigError, ContextOverflow
from hermes.types.message import Compaction, Message

pytestmark = pytest.mark.anyio
OPTIONS = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), attended=False)


class LastTwo:
    """Shows the last two turns and no record."""

    def messages(self, log: Log) -> tuple[Message, ...]:
        begins = [number for number, one in enumerate(log.messages) if one.kind == "user"]
        return log.messages[begins[-2] if len(begins) > 1 else 0 :]

    def is_full(self, wanted: ContextRequest) -> bool:
        return False

    async def make_room(
        self, wanted: ContextRequest, *, overflow: ContextOverflow | None = None, focus: str | None = None
    ) -> Compaction | None:
        return None


def chosen(environ: dict[str, str], name: str) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"context: {{engine: {name}}}")


async def test_the_engine_that_the_setting_names_decides_what_the_model_sees(
    environ: dict[str, str],
) -> None:
    chosen(environ, "last_two")
    model = ScriptedModel(*[say(f"answer {number}", breaks_prefix=True) for number in range(4)])
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        runtime.context_engines.register("last_two", lambda _settings: LastTwo())
        session = await runtime.session(OPTIONS)
        for number in range(4):
            await session.send(f"question {number}")
        await session.close()
    told = [one["content"] for one in model.requests[-1]["messages"] if one["role"] != "system"]
    assert told == ["question 2", "answer 2", "question 3"]


async def test_an_engine_that_is_not_there_is_told_before_a_session_is_made(environ: dict[str, str]) -> None:
    chosen(environ, "lossless")
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        with pytest.raises(ConfigError, match="^context.engine is lossless; there are: compressor.$"):
            await runtime.session(OPTIONS)
        assert await runtime.store.recent(limit=1) == []


async def test_a_name_is_given_once_and_before_the_first_session(environ: dict[str, str]) -> None:
    async with open_runtime(environ=environ, http=ScriptedModel().http()) as runtime:
        with pytest.raises(ValueError, match="There is a context manager compressor already"):
            runtime.context_engines.register("compressor", lambda _settings: LastTwo())
        session = await runtime.session(OPTIONS)
        with pytest.raises(ValueError, match="Sessions are open already"):
            runtime.context_engines.register("last_two", lambda _settings: LastTwo())
        await session.close()
