import json
from enum import Enum
from typing import Any, Literal

import msgspec
import pytest

import hermes
from hermes.tools.dispatch import Dispatcher

pytestmark = pytest.mark.anyio


class Unit(Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


class Spot(msgspec.Struct):
    x: int
    y: int = 0


@hermes.tool
def everything(
    name: str,
    count: int = 1,
    tags: list[str] | None = None,
    unit: Unit = Unit.METRIC,
    mode: Literal["a", "b"] = "a",
    spot: Spot | None = None,
) -> dict[str, Any]:
    """Does everything.

    More words that are not for the model.

    name: what it is about
    count (int): how often
    """
    return {"name": name, "count": count, "tags": tags, "unit": unit, "mode": mode, "spot": spot}


async def run(tool: Any, **args: Any) -> Any:
    return json.loads((await Dispatcher().call(tool.entry, args, {"ctx": "the context"})).content)


def test_the_schema_comes_from_annotations_and_docstring() -> None:
    schema = everything.entry.schema
    assert (schema["name"], schema["description"]) == ("everything", "Does everything.")
    parameters = schema["parameters"]
    assert parameters["required"] == ["name"]
    assert parameters["properties"]["name"] == {"type": "string", "description": "what it is about"}
    assert parameters["properties"]["count"] == {"type": "integer", "description": "how often", "default": 1}
    assert parameters["properties"]["mode"] == {"enum": ["a", "b"], "default": "a"}
    assert parameters["$defs"]["Spot"]["required"] == ["x"]


async def test_arguments_arrive_in_their_types_and_the_result_is_json() -> None:
    assert await run(everything, name="n", count="3", unit="imperial", spot={"x": 1}) == {
        "name": "n", "count": 3, "tags": None, "unit": "imperial", "mode": "a", "spot": {"x": 1, "y": 0},
    }  # fmt: skip


async def test_a_wrong_argument_is_told() -> None:
    assert "mode: 'c' is not one of ['a', 'b']" in (await run(everything, name="n", mode="c"))["error"]


def test_the_function_is_still_a_function() -> None:
    assert everything("n")["count"] == 1


def test_a_parameter_without_annotation_is_refused_when_the_tool_is_made() -> None:
    with pytest.raises(TypeError, match="@tool bare: annotate thing"):

        @hermes.tool
        def bare(thing) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
            return "x"


async def test_async_functions_and_the_context_work() -> None:
    @hermes.tool
    async def shout(word: str, ctx: Any) -> str:
        """Shout."""
        return f"{word.upper()} {ctx}"

    assert list(shout.entry.schema["parameters"]["properties"]) == ["word"]
    assert await run(shout, word="hey") == {"result": "HEY the context"}
