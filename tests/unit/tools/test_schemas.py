from typing import Any

import pytest

from hermes.tools.registry import ToolRegistry
from hermes.tools.schemas import Checks, Schemas, get_tool_definitions


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def add(registry: ToolRegistry, name: str, toolset: str = "bench", description: str = "", **more: Any) -> None:
    registry.register(
        name, toolset, {"name": name, "description": description, "parameters": {"type": "object"}}, lambda _a, **_: "{}", **more
    )


def names(schemas: Schemas, *toolsets: str) -> list[str]:
    return [one["function"]["name"] for one in schemas.snapshot(toolsets).definitions]


def test_definitions_are_sorted_and_in_the_openai_function_form() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "b", description="Second.")
    add(schemas.registry, "a")
    assert schemas.snapshot(("bench",)).definitions[1] == {
        "type": "function",
        "function": {"name": "b", "description": "Second.", "parameters": {"type": "object"}},
    }
    assert names(schemas, "bench") == ["a", "b"]


def test_a_check_is_asked_once_for_all_its_tools_and_remembered_for_30_seconds() -> None:
    asked: list[float] = []
    clock = Clock()

    def check() -> bool:
        asked.append(clock.now)
        return True

    schemas = Schemas(ToolRegistry(), Checks(clock=clock))
    for name in ("a", "b", "c"):
        add(schemas.registry, name, check_fn=check)
    assert names(schemas, "bench") == ["a", "b", "c"]
    clock.now = 29.0
    add(schemas.registry, "d", check_fn=check)
    assert names(schemas, "bench") == ["a", "b", "c", "d"]
    clock.now = 31.0
    names(schemas, "bench")
    assert asked == [0.0, 31.0]


def test_a_check_that_raises_means_unavailable() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a", check_fn=lambda: 1 / 0)
    add(schemas.registry, "b", toolset="fine")
    assert names(schemas, "bench", "fine") == ["b"]
    assert (schemas.is_toolset_available("bench"), schemas.is_toolset_available("fine")) == (False, True)


def test_disabled_toolsets_are_subtracted() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a", toolset="x")
    add(schemas.registry, "b", toolset="y")
    assert [one["function"]["name"] for one in schemas.snapshot(None, ("y",)).definitions] == ["a"]


def test_a_sentence_that_names_an_absent_tool_is_left_out() -> None:
    schemas = Schemas(ToolRegistry())
    words = "Opens a page. For plain text web_extract is faster. Gives a snapshot."
    add(schemas.registry, "browse", description=words)
    add(schemas.registry, "web_extract", toolset="web", check_fn=lambda: False)
    (alone,) = schemas.snapshot(("bench",)).definitions
    assert alone["function"]["description"] == "Opens a page. Gives a snapshot."
    add(schemas.registry, "web_extract", toolset="web")
    together = {one["function"]["name"]: one["function"]["description"] for one in schemas.snapshot(("bench", "web")).definitions}
    assert together["browse"] == words


def test_dynamic_overrides_replace_parts_of_a_schema() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a", description="Static.", dynamic_schema_overrides=lambda: {"description": "Live."})
    assert schemas.snapshot(("bench",)).definitions[0]["function"]["description"] == "Live."


def test_answers_are_remembered_by_generation_and_configuration() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a")
    first = schemas.snapshot(("bench",))
    assert schemas.snapshot(("bench",)) is first
    add(schemas.registry, "b")
    assert schemas.snapshot(("bench",)) is not first


def test_a_snapshot_does_not_change_when_the_registry_does() -> None:
    schemas = Schemas(ToolRegistry())
    add(schemas.registry, "a")
    kept = schemas.snapshot(("bench",))
    schemas.registry.deregister("a")
    assert list(kept.tools) == ["a"]


def test_the_documented_function_takes_its_documented_arguments() -> None:
    assert [one["function"]["name"] for one in get_tool_definitions(["todo"], None, True)] == ["todo"]
    with pytest.raises(Exception, match="There is no toolset 'nowhere'"):
        get_tool_definitions(["nowhere"])


def test_a_tool_is_offered_when_the_secrets_it_names_are_set_or_when_its_own_check_says_so() -> None:
    environ = {"ONE_KEY": "1", "EMPTY_KEY": ""}
    schemas = Schemas(ToolRegistry(), environ=environ)
    add(schemas.registry, "has", requires_env=["ONE_KEY"])
    add(schemas.registry, "lacks", requires_env=["ONE_KEY", "EMPTY_KEY", "NO_KEY"])
    add(schemas.registry, "either", requires_env=["ONE_KEY", "NO_KEY"], check_fn=lambda: True)
    add(schemas.registry, "neither", requires_env=["ONE_KEY"], check_fn=lambda: False)
    assert names(schemas, "bench") == ["either", "has"]
    assert {name: schemas.lacking(entry) for name, entry in schemas.registry.entries().items()} == {
        "either": (),
        "has": (),
        "lacks": ("EMPTY_KEY", "NO_KEY"),
        "neither": (),
    }
    environ |= {"EMPTY_KEY": "2", "NO_KEY": "3"}
    assert names(schemas, "bench") == ["either", "has", "lacks"]
