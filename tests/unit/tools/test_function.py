import json
from collections.abc import Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

import hermes
from hermes.tools.dispatch import Dispatcher
from hermes.tools.registry import tool_error, tool_result

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


def positional(x: int, /) -> int:
    return x


def several(*xs: int) -> int:
    return len(xs)


def named(**xs: int) -> int:
    return len(xs)


def strange(x: Dispatcher) -> int:
    return 0


def unknown(x: "NoSuchType") -> int:  # type: ignore[name-defined]  # noqa: F821
    return 0


def yielding(x: int) -> Iterator[int]:
    yield x


BY_NAME = "a parameter that can be given by name (no /, * or **), for the model names each argument."


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (positional, f"@tool positional: make x {BY_NAME}"),
        (several, f"@tool several: make xs {BY_NAME}"),
        (named, f"@tool named: make xs {BY_NAME}"),
        (strange, "@tool strange: x has a type that JSON cannot carry (<class 'hermes.tools.dispatch.Dispatcher'>); use plain types, dataclasses, pydantic models or msgspec.Struct."),
        (unknown, "@tool unknown: an annotation cannot be looked up (name 'NoSuchType' is not defined); import what it names at the top of the module, not under TYPE_CHECKING."),
        (yielding, "@tool yielding: return one value instead of yielding several."),
        pytest.param(partial(several, 1), f"@tool takes a function with a name, not {partial(several, 1)!r}.", id="nameless"),
    ],
)  # fmt: skip
def test_a_function_that_a_model_cannot_call_is_refused_in_one_sentence(function: Any, told: str) -> None:
    with pytest.raises(TypeError) as refused:
        hermes.tool(function)
    assert str(refused.value) == told


async def test_defaults_that_json_does_not_have_are_filled_in_by_the_function_alone() -> None:
    @hermes.tool
    def limits(
        high: float = float("inf"), low: float = float("nan"), unit: Unit = Unit.METRIC
    ) -> list[float]:
        """Give back."""
        return [high, low, 1.0]

    assert limits.entry.schema["parameters"]["properties"] == {
        "high": {"type": "number"}, "low": {"type": "number"}, "unit": {"$ref": "#/$defs/Unit"},
    }  # fmt: skip
    assert await run(limits) == {"result": [None, None, 1.0]}


def test_results_and_errors_are_json_whatever_numbers_are_in_them() -> None:
    assert tool_result(a=float("nan"), b=[float("inf"), (1.5, "ü")]) == '{"a": null, "b": [null, [1.5, "ü"]]}'
    assert tool_error("no", seconds=float("-inf")) == '{"error": "no", "seconds": null}'


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (
            {"parallell": True},
            "@tool takes no parallell; it takes outside, requires_env, parallel, read_only, manifest.",
        ),
        ({"requires_env": "SHOP_TOKEN"}, "@tool: requires_env is a list of names, not 'SHOP_TOKEN'."),
    ],
)
def test_what_a_tool_cannot_declare_is_refused_in_one_sentence(declared: Any, told: str) -> None:
    with pytest.raises(TypeError) as refused:
        hermes.tool(**declared)
    assert str(refused.value) == told


def google(city: str, unit: Literal["c", "f"] = "c") -> str:
    """The weather of a place,
    as it is now.

    Measured at its airport.

    Args:
        city: The name of the city,
            in English.
        unit (str): Celsius or Fahrenheit.

    Returns:
        What it is like.
    """
    return city + unit


def numpy(city: str, unit: Literal["c", "f"] = "c") -> str:
    """The weather of a place, as it is now.

    Parameters
    ----------
    city : str
        The name of the city, in English.
    unit : {"c", "f"}, optional
        Celsius or Fahrenheit.

    Returns
    -------
    str
        What it is like.
    """
    return city + unit


def sphinx(city: str, unit: Literal["c", "f"] = "c") -> str:
    """The weather of a place, as it is now.

    :param city: The name of the city, in English.
    :param str unit: Celsius or Fahrenheit.
    :returns: What it is like.
    """
    return city + unit


def plain(city: str, unit: Literal["c", "f"] = "c") -> str:
    """The weather of a place, as it is now.

    city: The name of the city, in English.
    unit: Celsius or Fahrenheit.
    """
    return city + unit


def annotated(
    city: Annotated[str, "The name of the city, in English."],
    unit: Annotated[Literal["c", "f"], pydantic.Field(description="Celsius or Fahrenheit.")] = "c",
) -> str:
    """The weather of a place, as it is now.

    Args:
        unit: This stands behind what the annotation says.
    """
    return city + unit


@pytest.mark.parametrize("function", [google, numpy, sphinx, plain, annotated])
def test_parameters_are_described_in_each_common_style(function: Any) -> None:
    assert hermes.tool(function).entry.schema == {
        "name": function.__name__,
        "description": "The weather of a place, as it is now.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The name of the city, in English."},
                "unit": {"enum": ["c", "f"], "description": "Celsius or Fahrenheit.", "default": "c"},
            },
            "required": ["city"],
        },
    }


@pytest.mark.parametrize(
    "doc", ["Args:\n  nothing that is one", "x\n\nParameters\n---\n", ":param", "Args:", ""]
)
def test_no_docstring_makes_a_function_no_tool(doc: str) -> None:
    def given(city: str) -> str:
        return city

    given.__doc__ = doc
    assert list(hermes.tool(given).entry.schema["parameters"]["properties"]) == ["city"]


class Leg(pydantic.BaseModel):
    to: str
    then: "Leg | None" = None


@hermes.tool
def travel(start: Path, legs: list[Leg], best: Leg | None = None) -> dict[str, Any]:
    """Travel."""
    assert isinstance(start, Path)
    assert isinstance(legs[0], Leg)
    return {"start": start / "x", "legs": legs, "best": best}


async def test_paths_and_pydantic_models_arrive_as_such_and_are_given_back_as_json() -> None:
    parameters = travel.entry.schema["parameters"]
    assert parameters["properties"]["start"] == {"type": "string", "format": "path"}
    assert parameters["properties"]["legs"] == {"type": "array", "items": {"$ref": "#/$defs/Leg"}}
    assert [*parameters["$defs"]] == ["Leg"]
    assert await run(travel, start="/a", legs=[{"to": "b", "then": {"to": "c"}}]) == {
        "start": "/a/x",
        "legs": [{"to": "b", "then": {"to": "c", "then": None}}],
        "best": None,
    }
    told = (await run(travel, start="/a", legs=[{"too": "b"}]))["error"]
    assert "'to' is a required property" in told


async def test_a_result_that_json_cannot_carry_is_told() -> None:
    @hermes.tool
    def odd() -> Any:
        """Odd."""
        return object()

    assert "JSON cannot carry the type object" in (await run(odd))["error"]


def test_two_types_of_one_name_are_refused() -> None:
    def near(here: Any, there: Any) -> str:
        return ""

    near.__annotations__ = {"here": Leg, "there": msgspec.defstruct("Leg", [("x", int)])}
    with pytest.raises(TypeError, match="two types are called Leg"):
        hermes.tool(near)
