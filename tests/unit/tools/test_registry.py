import logging
import threading
from typing import Any

import pytest

from hermes.tools.registry import ToolRegistry, tool_error, tool_result

SCHEMA = {"name": "one", "description": "First.", "parameters": {"type": "object", "properties": {}}}


def handler(_args: dict[str, Any], **_keywords: Any) -> str:
    return "{}"


def other(_args: dict[str, Any], **_keywords: Any) -> str:
    return "[]"


def test_a_registered_tool_is_found_by_name_toolset_and_emoji() -> None:
    registry = ToolRegistry()
    registry.register(
        "one", "set", SCHEMA, handler, requires_env=["KEY"], emoji="🎯", max_result_size_chars=7
    )
    entry = registry.get_entry("one")
    assert entry is not None
    assert (entry.description, entry.requires_env, entry.is_async) == ("First.", ("KEY",), False)
    assert registry.get_toolset_for_tool("one") == "set"
    assert (registry.get_emoji("one"), registry.get_emoji("none"), registry.get_max_result_size("one")) == (
        "🎯",
        "⚡",
        7,
    )
    assert registry.get_tool_names_for_toolset("set") == ["one"]


def test_the_openai_function_form_of_a_schema_is_taken_too() -> None:
    registry = ToolRegistry()
    registry.register("one", "set", {"type": "function", "function": SCHEMA}, handler)
    assert registry.get_schema("one") == SCHEMA


@pytest.mark.parametrize(
    ("first", "second", "override", "kept"),
    [
        ("a", "a", False, other),
        ("a", "b", False, handler),
        ("a", "b", True, other),
        ("mcp-x", "mcp-y", False, other),
        ("mcp-x", "b", False, handler),
        ("a", "mcp-y", False, handler),
    ],
)
def test_a_name_belongs_to_its_toolset(
    first: str, second: str, override: bool, kept: object, caplog: pytest.LogCaptureFixture
) -> None:
    registry = ToolRegistry()
    registry.register("one", first, SCHEMA, handler)
    before = registry.generation
    with caplog.at_level(logging.INFO):
        registry.register("one", second, SCHEMA, other, override=override)
    entry = registry.get_entry("one")
    assert entry is not None
    assert entry.handler is kept
    refused = kept is handler
    assert registry.generation == before + (0 if refused else 1)
    assert ("refused" in caplog.text) == refused
    assert ("replaces" in caplog.text) == override


def test_every_mutation_raises_the_generation() -> None:
    registry = ToolRegistry()
    seen = [registry.generation]
    registry.register("one", "set", SCHEMA, handler)
    seen.append(registry.generation)
    registry.register_toolset_alias("alias", "set")
    seen.append(registry.generation)
    registry.deregister("one")
    seen.append(registry.generation)
    registry.deregister("one")
    assert seen == [0, 1, 2, 3]
    assert registry.generation == 3
    assert registry.get_toolset_alias_target("alias") == "set"


def test_many_threads_may_register_and_read_at_once() -> None:
    registry = ToolRegistry()

    def work(number: int) -> None:
        for step in range(50):
            registry.register(f"tool_{number}_{step}", "set", SCHEMA, handler)
            assert len(registry.entries()) > 0

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(registry.get_all_tool_names()), registry.generation) == (400, 400)


def test_results_and_errors_are_json_and_keep_other_alphabets() -> None:
    assert tool_result(city="Zürich", degrees=4) == '{"city": "Zürich", "degrees": 4}'
    assert tool_result([1, 2]) == "[1, 2]"
    assert tool_error("no", code=3) == '{"error": "no", "code": 3}'


@pytest.mark.parametrize("name", ["", "a\x1b[2Jb", "x" * 65, "größe", "a b", "a.b", "one\n"])
def test_a_name_that_providers_refuse_is_refused_with_a_sentence(name: str) -> None:
    registry = ToolRegistry()
    with pytest.raises(ValueError, match="letters, digits, _ and -, 64 at most"):
        registry.register(name, "set", SCHEMA, handler)
    assert registry.get_all_tool_names() == []
