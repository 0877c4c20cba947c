"""Which files a log's calls wrote, which they may have written, and of which tools nobody can say it."""

from hermes.agent.delegation.changed_files import FileCalls
from hermes.types.message import Assistant, ToolCall, ToolResult
from hermes.types.tool import ToolEffect, ToolEntry, ToolManifest


def unused() -> str:
    return ""


def entry(name: str, *effects: ToolEffect) -> ToolEntry:
    manifest = ToolManifest(effects=effects, parallel="by_path", paths=("path",))
    return ToolEntry(name=name, toolset="t", schema={"name": name}, handler=unused, manifest=manifest)


TOOLS = {"write": entry("write", "files"), "look": entry("look")}


def asked(*calls: tuple[str, str, str]) -> Assistant:
    made = tuple(ToolCall(id=id_, name=name, arguments={"path": path}) for id_, name, path in calls)
    return Assistant(id="a", at=1.0, calls=made)


def answered(call_id: str, *, failed: bool = False) -> ToolResult:
    return ToolResult(id=f"r{call_id}", at=2.0, call_id=call_id, name="t", content="", failed=failed)


def test_files_are_those_of_calls_that_went_well_and_maybe_those_that_were_cut() -> None:
    log = (
        asked(("1", "write", "a"), ("2", "write", "b"), ("3", "look", "c"), ("4", "gone", "d")),
        *(answered("1"), answered("2", failed=True), answered("3"), answered("4")),
        asked(("5", "write", "a"), ("6", "write", "e"), ("7", "write", "f"), ("8", "lost", "g")),
        answered("5"),
    )
    found = FileCalls(log, TOOLS, "/w")
    assert found.changed == ("/w/a",)
    assert (found.cut(["6", "8"]), found.unknown_tools(["6", "8"])) == (("/w/e",), ("gone", "lost"))


def test_an_id_that_is_used_again_stands_for_two_calls() -> None:
    log = (asked(("1", "write", "a")), answered("1"), asked(("1", "write", "b")), answered("1"))
    assert FileCalls(log, TOOLS, "/w").changed == ("/w/a", "/w/b")
    assert FileCalls((*log, asked(("1", "write", "c"))), TOOLS, "/w").cut(["1"]) == ("/w/c",)
