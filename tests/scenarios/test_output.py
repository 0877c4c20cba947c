"""An answer of a given form: typed, checked, asked for again, constrained where the server can."""

import dataclasses
import typing
from pathlib import Path
from typing import Any, Literal

import msgspec
import pydantic
import pytest

import hermes
import hermes.sync
from hermes.agent.output import ATTEMPTS, output_by
from hermes.testing import ScriptedModel, call, fail, say
from hermes.types.event import Event, TurnStarted
from hermes.types.message import User
from tests.scenarios.conftest import Talk

pytestmark = pytest.mark.anyio


@dataclasses.dataclass
class Place:
    city: str
    degrees: float


class Trip(typing.TypedDict):
    days: int
    stops: list[str]


class Report(msgspec.Struct):
    place: Place
    others: list[Place]


class Weather(pydantic.BaseModel):
    degrees: int
    unit: Literal["c", "f"] = "c"


OSLO = Place("Oslo", 4.0)
KINDS: list[tuple[Any, str, Any]] = [
    (Place, '{"city": "Oslo", "degrees": 4}', OSLO),
    (Trip, '{"days": 2, "stops": ["Oslo"]}', {"days": 2, "stops": ["Oslo"]}),
    (Report, '{"place": {"city": "Oslo", "degrees": 4}, "others": []}', Report(OSLO, [])),
    (Weather, 'Here it is:\n```json\n{"degrees": 4}\n```', Weather(degrees=4)),
    (int, '{"result": 42}', 42),
    (int, "42", 42),
    (list[int], "[1, 2]", [1, 2]),
    (dict[int, int], '{"1": 2}', {1: 2}),
    (list[Place], '{"result": [{"city": "Oslo", "degrees": 4}]}', [OSLO]),
]


@pytest.mark.parametrize(("kind", "said", "value"), KINDS, ids=lambda one: str(one)[:20])
async def test_an_answer_is_a_value_of_the_type_that_was_asked_for(
    talk: Talk, kind: Any, said: str, value: Any
) -> None:
    async with talk(ScriptedModel(said)) as session:
        assert await session.ask("How is it?", kind) == value


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong(talk: Talk) -> None:
    model = ScriptedModel("It is cold.", '{"city": "Oslo"}', '{"city": "Oslo", "degrees": 4}')
    async with talk(model) as session:
        assert await session.ask("How is it?", Place) == OSLO
        said = [message.text for message in session.log if isinstance(message, User)]
    assert said == [
        "How is it?",
        (
            "That answer does not fit the JSON Schema: it is not one JSON value. Answer once more, with the JSON"
            " value alone."
        ),
        (
            "That answer does not fit the JSON Schema: Object missing required field `degrees`. Answer once more,"
            " with the JSON value alone."
        ),
    ]


async def test_it_is_given_up_after_some_answers_with_the_last_one(talk: Talk) -> None:
    model = ScriptedModel(*["cold"] * ATTEMPTS)
    async with talk(model) as session:
        with pytest.raises(hermes.OutputInvalid, match=r"^No answer of the form came: it is not") as given_up:
            await session.ask("How is it?", Place)
    assert (given_up.value.text, len(model.requests)) == ("cold", ATTEMPTS)


async def test_a_failed_request_is_no_answer_and_is_not_asked_again(talk: Talk) -> None:
    model = ScriptedModel(fail(401, "Incorrect API key provided"))
    async with talk(model) as session:
        with pytest.raises(hermes.OutputInvalid, match="No answer came: .*Incorrect API key"):
            await session.ask("How is it?", Place)
    assert len(model.requests) == 1


@hermes.tool
def measure(city: str) -> float:
    """The temperature."""
    return 4.0


async def test_tools_are_used_before_an_answer_of_a_form(talk: Talk) -> None:
    model = ScriptedModel(call("measure", {"city": "Oslo"}), '{"city": "Oslo", "degrees": 4}')
    async with talk(model, functions=(measure,)) as session:
        assert await session.ask("How is it?", Place) == OSLO
    assert [request.get("response_format") for request in model.requests] == [None, None]
    assert '"degrees"' in model.requests[0]["messages"][-1]["content"]


async def test_a_server_is_told_the_schema_where_no_tool_could_be_kept_from_being_called(talk: Talk) -> None:
    model = ScriptedModel('{"city": "Oslo", "degrees": 4}', "plain again")
    async with talk(model) as session:
        await session.ask("How is it?", Place)
        await session.send("Thanks.")
    assert model.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}},
                "required": ["city", "degrees"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
    assert "response_format" not in model.requests[1]


async def test_a_server_that_knows_no_schemas_is_asked_in_words(talk: Talk) -> None:
    refusal = fail(400, "Unsupported parameter: 'response_format' is not supported with this model.")
    model = ScriptedModel(refusal, '{"city": "Oslo", "degrees": 4}')
    async with talk(model) as session:
        assert await session.ask("How is it?", Place) == OSLO
    assert [("response_format" in request) for request in model.requests] == [True, False]


async def test_what_json_cannot_carry_is_refused_before_anything_is_sent(talk: Talk) -> None:
    model = ScriptedModel()
    async with talk(model) as session:
        with pytest.raises(TypeError, match="An answer cannot be of the type .*: JSON cannot carry it"):
            await session.ask("How is it?", type(session))
    assert model.requests == []


async def test_the_events_of_each_try_are_heard(talk: Talk) -> None:
    seen: list[Event] = []
    async with talk(ScriptedModel("cold", '{"result": 4}')) as session:
        with session.watch() as events:
            assert await session.ask("How is it?", int) == 4
            await session.close()
            seen += [event async for event in events]
    assert sum(isinstance(event, TurnStarted) for event in seen) == 2


def test_plain_code_asks_for_a_type(environ: dict[str, str], tmp_path: Path) -> None:
    model = ScriptedModel('{"city": "Oslo", "degrees": 4}')
    with hermes.sync.open(
        base_url="http://x/v1", model="m", environ=environ, http=model.http(), cwd=tmp_path
    ) as agent:
        assert agent.ask("How is it?", Place) == OSLO


async def test_a_schema_that_was_asked_for_stays_in_words_in_the_log(talk: Talk) -> None:
    async with talk(ScriptedModel(say("{}"))) as session:
        await session.send("Say.", output_schema={"type": "object"})
        (block,) = next(message for message in session.log if isinstance(message, User)).blocks
    assert (block.kind, block.text.endswith('{"type":"object"}')) == ("output", True)


@pytest.mark.parametrize("target", ["#/nope", "http://127.0.0.1:1/schema.json", "other.json"])
def test_a_schema_that_leads_elsewhere_is_refused_and_nothing_is_fetched(target: str) -> None:
    with pytest.raises(ValueError, match=r"^\$ref '.*' leads nowhere in it; nothing is fetched$"):
        output_by({"type": "object", "properties": {"a": {"$ref": target}}})
    whole = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert output_by(whole).value('{"a": 1}') == {"a": 1}
