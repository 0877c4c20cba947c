"""What a session may do at most: tools, folders, hosts, secrets and tokens; no answer and no --yolo goes beyond it."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError, StoreError
from hermes.types.event import Asked
from hermes.types.message import ToolResult
from hermes.types.question import Grant
from hermes.types.tool import ToolContext
from tests.escapes.ground import outside_tmp

from .conftest import Talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def aside() -> Iterator[Path]:
    """A folder of a user, not in /tmp: the sandbox has its own."""
    with TemporaryDirectory(prefix="hermes-bounds-", dir=outside_tmp()) as folder:
        (Path(folder) / "diary.txt").write_text("canary-4711\n")
        yield Path(folder).resolve()


def results(session: Session) -> list[dict[str, Any]]:
    return [json.loads(message.content) for message in session.log if isinstance(message, ToolResult)]


async def answered(session: Session) -> int:
    """Run a turn in which everything that is asked gets a yes; how many questions there were."""
    asked = 0
    async with session.stream("go") as stream:
        async for event in stream:
            if isinstance(event, Asked):
                asked += 1
                assert session.answer(event.id, Grant())
    return asked


async def test_only_the_tools_that_it_may_use_are_offered_and_run(talk: Talk) -> None:
    model = ScriptedModel(call("terminal", {"command": "id"}), call("todo", {}), say("ok"))
    bounds = Capabilities(tools=("todo", "read_*"))
    async with talk(model, toolsets=("terminal", "file", "todo"), capabilities=bounds) as session:
        await session.send("go")
    offered = [one["function"]["name"] for one in model.requests[0]["tools"]]
    assert (sorted(offered), "error" in results(session)[0]) == (["read_file", "todo"], True)


@pytest.mark.parametrize("yolo", [False, True])
async def test_no_yes_opens_what_is_beyond_its_bounds(talk: Talk, aside: Path, *, yolo: bool) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "id", "needs": {"unconfined": True}}),
        call("terminal", {"command": "id", "needs": {"network": True}}),
        call("terminal", {"command": "id", "needs": {"hosts": ["example.org"]}}),
        call("terminal", {"command": "id", "needs": {"paths": [str(aside)]}}),
        call("write_file", {"path": f"{aside}/x", "content": "x"}),
        say("ok"),
    )
    bounds = Capabilities(hosts=("docs.test",), write=(".",), unconfined=False)
    async with talk(
        model, toolsets=("terminal", "file"), capabilities=bounds, attended=True, yolo=yolo
    ) as session:
        asked = await answered(session)
    told = [one["error"] for one in results(session)]
    reasons = (
        "no command of this session may leave the sandbox",
        "this session may not use all of the network",
        "this session may not reach example.org",
        f"this session may not write in {aside}",
        f"{aside}/x is outside of what this session may write",
    )
    assert [reason in text for reason, text in zip(reasons, told, strict=True)] == [True] * 5
    assert (asked, sorted(path.name for path in aside.iterdir())) == (0, ["diary.txt"])


async def test_a_session_with_bounds_never_leaves_the_sandbox_that_keeps_it_to_them(
    talk: Talk, aside: Path
) -> None:
    model = ScriptedModel(
        call("terminal", {"command": f"echo x > {aside}/x", "needs": {"unconfined": True}}), say("ok")
    )
    async with talk(
        model, toolsets=("terminal",), capabilities=Capabilities(write=()), attended=True, yolo=True
    ) as session:
        asked = await answered(session)
    assert (asked, (aside / "x").exists()) == (0, False)


async def test_within_its_bounds_a_question_is_put_as_ever(talk: Talk, aside: Path) -> None:
    model = ScriptedModel(
        call("terminal", {"command": f"echo x > {aside}/x", "needs": {"paths": [str(aside)]}}), say("ok")
    )
    bounds = Capabilities(write=(".", str(aside)))
    async with talk(model, toolsets=("terminal",), capabilities=bounds, attended=True) as session:
        asked = await answered(session)
    assert (asked, (aside / "x").read_text()) == (1, "x\n")


async def test_commands_and_file_tools_write_in_a_part_of_the_workspace_alone(
    talk: Talk, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    for name in ("notes", "code"):
        (work / name).mkdir(parents=True)
    model = ScriptedModel(
        call(
            "terminal",
            {"command": "echo a > notes/a; echo a > code/a; echo a > a; echo a > /tmp/a; cat /tmp/a"},
        ),
        call("write_file", {"path": "notes/b", "content": "b"}),
        call("write_file", {"path": "code/b", "content": "b"}),
        say("ok"),
    )
    async with talk(
        model, toolsets=("terminal", "file"), capabilities=Capabilities(write=("notes",))
    ) as session:
        await session.send("go")
    there = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
    command, _, refused = results(session)
    assert (there, command["output"].splitlines()[-1]) == (["notes/a", "notes/b"], "a")
    assert "is outside of what this session may write" in refused["error"]


async def test_a_session_that_may_write_nothing_reads_and_runs(talk: Talk, tmp_path: Path) -> None:
    model = ScriptedModel(call("terminal", {"command": "cat a; echo b > b; ls"}), say("ok"))
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "a").write_text("a\n")
    async with talk(model, toolsets=("terminal",), capabilities=Capabilities(write=())) as session:
        await session.send("go")
    output = results(session)[0]["output"]
    assert (output.splitlines()[0], output.splitlines()[-1], "Read-only file system" in output) == (
        "a",
        "a",
        True,
    )


async def test_folders_that_it_may_not_read_are_empty_to_commands_and_closed_to_tools(
    talk: Talk, aside: Path
) -> None:
    model = ScriptedModel(
        call(
            "terminal",
            {"command": f"cat {aside}/diary.txt; ls /srv /home /root $HOME; python3 -c 'print(6*7)'; pwd"},
        ),
        call("read_file", {"path": f"{aside}/diary.txt"}),
        call("search_files", {"pattern": "canary", "path": str(aside)}),
        say("ok"),
    )
    async with talk(model, toolsets=("terminal", "file"), capabilities=Capabilities(read=(".",))) as session:
        await session.send("go")
    command, read, found = results(session)
    assert ("42" in command["output"], "canary-4711" in json.dumps(results(session))) == (True, False)
    assert "is outside of what this session may read" in read["error"]
    assert "is outside of what this session may read" in found["error"]


@hermes.tool(requires_env=["PROBE_LOGIN"])
def enter(ctx: ToolContext) -> str:
    """Log in."""
    return f"in with {len(ctx.secret('PROBE_LOGIN'))} letters"


@pytest.mark.parametrize(
    ("secrets", "word"), [(("PROBE_*",), "in with 6"), (("OTHER",), "is not among the secrets")]
)
async def test_a_tool_gets_the_secrets_that_the_session_may_have(
    environ: dict[str, str], tmp_path: Path, secrets: tuple[str, ...], word: str
) -> None:
    model = ScriptedModel(call("enter", {}), say("ok"))
    async with open_runtime(environ={**environ, "PROBE_LOGIN": "sesame"}, http=model.http()) as runtime:
        session = await runtime.session(
            SessionOptions(
                model="scripted",
                base_url="http://127.0.0.1:1/v1",
                cwd=tmp_path,
                toolsets=(),
                functions=(enter,),
                capabilities=Capabilities(secrets=secrets),
            )
        )
        await session.send("go")
        told = [message.content for message in session.log if isinstance(message, ToolResult)]
        await session.close()
    assert word in told[0]


async def test_it_spends_no_more_than_its_tokens(talk: Talk) -> None:
    model = ScriptedModel("one", "two")
    async with talk(model, capabilities=Capabilities(tokens=1)) as session:
        ends = [await session.send("go"), await session.send("go on")]
    assert [end.outcome for end in ends] == ["done", "budget"]


async def test_a_child_has_what_its_parent_has_at_most_also_when_it_is_resumed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel("a", "b", "c")
    common = SessionOptions(
        model="scripted", base_url="http://127.0.0.1:1/v1", cwd=tmp_path, toolsets=("file", "todo")
    )

    def options(**more: Any) -> SessionOptions:
        return replace(common, **more)

    narrow = Capabilities(tools=("todo", "read_file"), hosts=("*.test",), tokens=500_000)
    wide = Capabilities(hosts=("a.test", "b.example"), unconfined=False)
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        parent = await runtime.session(options(capabilities=narrow))
        live = await runtime.session(options(parent=parent.id, capabilities=wide))
        met = live.spec.capabilities
        assert met == replace(narrow, tools=("read_file", "todo"), hosts=("a.test",), unconfined=False)
        await parent.send("go")
        await live.send("go")
        await parent.close()
        await live.close()
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        again = await runtime.session(options(resume=live.id))
        late = await runtime.session(options(parent=parent.id, capabilities=Capabilities(tools=("read_*",))))
        assert (again.spec.capabilities, late.spec.capabilities.tools) == (met, ("read_file",))
        assert (sorted(again.tools.tools), list(late.tools.tools)) == (["read_file", "todo"], ["read_file"])
        with pytest.raises(StoreError):
            await runtime.session(options(parent="20200101_000000_nobody"))
        await again.close()
        await late.close()


async def test_the_settings_of_a_home_bound_every_session(environ: dict[str, str], talk: Talk) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("capabilities: {tools: [todo], asks: false}\n")
    async with talk(ScriptedModel(), toolsets=("file", "todo"), attended=True) as session:
        assert (list(session.tools.tools), session.spec.attended) == (["todo"], False)
    (home / "config.yaml").write_text("capabilities: {hosts: ['http://x']}\n")
    with pytest.raises(ConfigError, match="capabilities.hosts: 'http://x' is no host"):
        async with talk(ScriptedModel()):
            pass


@pytest.mark.parametrize("write", [("/",), (".",)])
async def test_a_folder_that_may_be_read_and_written_is_both_to_commands(
    talk: Talk, write: tuple[str, ...]
) -> None:
    model = ScriptedModel(call("terminal", {"command": "echo a > a && cat a"}), say("ok"))
    bounds = Capabilities(read=(".",), write=write)
    async with talk(model, toolsets=("terminal",), capabilities=bounds) as session:
        await session.send("go")
    assert results(session)[0]["output"] == "a\n"


async def test_a_folder_of_its_bounds_that_is_not_there_keeps_no_command_from_running(talk: Talk) -> None:
    model = ScriptedModel(call("terminal", {"command": "echo a; echo b > b"}), say("ok"))
    async with talk(model, toolsets=("terminal",), capabilities=Capabilities(write=("nowhere",))) as session:
        await session.send("go")
    assert (results(session)[0]["exit_code"], results(session)[0]["output"].splitlines()[0]) == (1, "a")


async def test_bounds_are_several_names_and_hold_the_folder_of_the_session(talk: Talk) -> None:
    with pytest.raises(TypeError, match="write takes several names"):
        Capabilities(write="/notes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="has to read the folder it works in"):
        async with talk(ScriptedModel(), capabilities=Capabilities(read=("src",))):
            pass
