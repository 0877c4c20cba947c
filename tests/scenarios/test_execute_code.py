"""A script's calls are calls: the same gate, journal, redaction and provenance, counted and shown below it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.agent.step_limit import StepLimit, only_scripts
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, Turn, call, say
from hermes.types.event import Asked, ToolFinished, ToolProgress, ToolStarted
from hermes.types.message import ToolCall, ToolResult
from hermes.types.question import Approve, Deny

from .conftest import Talk

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
TOOLS = ("file", "terminal", "code_execution", "clarify", "memory", "delegation")


def code(*lines: str) -> Turn:
    return call("execute_code", {"code": "\n".join(lines)})


@asynccontextmanager
async def opened(
    environ: dict[str, str], folder: Path, model: ScriptedModel, flags: dict[str, Any], **options: Any
) -> AsyncIterator[Session]:
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        given = {
            "base_url": "http://127.0.0.1:1/v1",
            "model": "m",
            "toolsets": TOOLS,
            "cwd": folder,
            **options,
        }
        session = await runtime.session(SessionOptions(**given))
        yield session
        await session.close()


def results(session: Session) -> list[dict[str, Any]]:
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


async def test_a_script_reads_and_writes_through_tools_and_only_what_it_prints_comes_back(
    talk: Talk, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / "work" / f"{number}.txt").write_text(f"line {number}\n")
    model = ScriptedModel(
        code(
            "from hermes_tools import read_file, write_file, terminal",
            "texts = [read_file(f'{n}.txt')['content'] for n in range(3)]",
            "write_file('all.txt', '\\n'.join(texts))",
            "print(terminal('wc -l < all.txt')['output'].strip())",
        ),
        say("done"),
    )
    async with talk(model, toolsets=TOOLS) as session:
        async with session.stream("go") as stream:
            seen = [one async for one in stream if isinstance(one, ToolStarted | ToolFinished)]
        (result,) = results(session)
        assert {name: one for name, one in result.items() if name != "duration_seconds"} == {
            "status": "success", "output": "2\n", "exit_code": 0, "tool_calls_made": 5, "stdout_truncated": False,
        }  # fmt: skip
        (outer,) = [one.call.id for one in seen if isinstance(one, ToolStarted) and not one.parent]
        nested = [(one.call.name, one.parent) for one in seen if isinstance(one, ToolStarted) and one.parent]
        names = [*["read_file"] * 3, "write_file", "terminal"]
        assert nested == [(name, outer) for name in names]
        finished = [one.call_id for one in seen if isinstance(one, ToolFinished)]
        assert finished == [*(f"{outer}/{number}" for number in range(1, 6)), outer]


async def test_a_script_calls_the_sessions_functions_and_no_tool_that_talks_lasts_or_nests(
    talk: Talk,
) -> None:
    @hermes.tool
    def double(number: int) -> int:
        """Twice a number."""
        return number * 2

    names = ["clarify", "memory", "delegate_task", "execute_code", "process", "nothing"]
    model = ScriptedModel(
        code(
            "import json, hermes_tools",
            "print(hermes_tools.double(21)['result'], hermes_tools.double.__doc__)",
            f"print(json.dumps([hermes_tools._call(name, {{}})['error'].split(';')[0] for name in {names}]))",
            "print(hermes_tools._call('terminal', {'command': 'sleep 60', 'background': True})['error'])",
        ),
        say("done"),
    )
    async with talk(model, toolsets=TOOLS, functions=(double,)) as session:
        await session.send("go")
        (result,) = results(session)
        first, refused, background = result["output"].strip().split("\n")
        assert first == "42 Twice a number."
        assert json.loads(refused) == [f"A script cannot call {name}" for name in names]
        assert background == "A script cannot use background of terminal: what it starts ends with it."
        assert result["tool_calls_made"] == 1


async def test_calls_beyond_the_limit_are_not_run(environ: dict[str, str], tmp_path: Path) -> None:
    ran: list[int] = []

    @hermes.tool
    def note(number: int) -> int:
        """Note a number."""
        ran.append(number)
        return number

    model = ScriptedModel(
        code("from hermes_tools import note", "print([note(n) for n in range(4)][-1]['error'])"), say("done")
    )
    flags = {"code_execution.max_tool_calls": 3}
    async with opened(environ, tmp_path, model, flags, functions=(note,)) as session:
        await session.send("go")
        assert (ran, results(session)[0]["tool_calls_made"]) == ([0, 1, 2], 3)
        assert results(session)[0]["output"] == (
            "This call was not run: a script may make 3 calls (code_execution.max_tool_calls).\n"
        )


async def test_a_call_of_a_script_needs_the_same_yes_as_a_models(talk: Talk) -> None:
    model = ScriptedModel(
        code(
            "from hermes_tools import terminal",
            "print(terminal('echo x', needs={'network': True})['status'])",
        ),
        say("done"),
    )
    async with talk(model, toolsets=TOOLS) as session:
        asked = []
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, Asked):
                    asked.append(event.question)
                    session.answer(event.id, Deny())
        assert [one.command for one in asked if isinstance(one, Approve)] == ["echo x"]
        assert results(session)[0]["output"] == "blocked\n"


async def test_a_script_that_would_do_harm_is_asked_about_with_its_whole_text(
    environ: dict[str, str], tmp_path: Path
) -> None:
    text = "import shutil\nshutil.rmtree('/var/lib/nowhere')\nprint('gone')"
    model = ScriptedModel(code(text), say("done"))
    async with opened(environ, tmp_path, model, {"terminal.sandbox": "off"}) as session:
        asked = []
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, Asked):
                    asked.append(event.question)
                    session.answer(event.id, Deny())
        assert [text in one.command for one in asked if isinstance(one, Approve)] == [True]
        assert results(session)[0]["status"] == "blocked"


async def test_what_a_script_reads_from_outside_makes_its_result_so(talk: Talk) -> None:
    @hermes.tool(outside=True)
    def page() -> str:
        """A page."""
        return "words of others"

    model = ScriptedModel(code("from hermes_tools import page", "page()", "print('mine')"), say("done"))
    async with talk(model, toolsets=TOOLS, functions=(page,)) as session:
        await session.send("go")
        (result,) = [one for one in session.log if isinstance(one, ToolResult)]
        assert result.outside == "the tool page"


async def test_secrets_are_hidden_from_a_script_and_from_what_it_prints(
    environ: dict[str, str], tmp_path: Path
) -> None:
    secret = "sk-very-secret-4711-value-of-mine"

    @hermes.tool
    def leak() -> str:
        """Say too much."""
        return f"it is {secret}"

    model = ScriptedModel(
        code(
            "import os, hermes_tools",
            "print(hermes_tools.leak() == 'it is ' + '-'.join(['sk', 'very', 'secret', '4711', 'value', 'of', 'mine']))",
            "print('-'.join(['sk', 'very', 'secret', '4711', 'value', 'of', 'mine']))",
            "print(os.environ.get('MY_API_KEY'))",
        ),
        say("done"),
    )
    async with opened({**environ, "MY_API_KEY": secret}, tmp_path, model, {}, functions=(leak,)) as session:
        shown = []
        async with session.stream("go") as stream:
            async for event in stream:
                shown += [event.text] if isinstance(event, ToolProgress) else []
        said = results(session)[0]["output"]
        assert (said.split("\n")[0], said.split("\n")[2]) == ("False", "None")
        assert secret not in said + "".join(shown)


async def test_a_script_is_stopped_with_the_turn_and_what_it_printed_is_kept(talk: Talk) -> None:
    model = ScriptedModel(
        code(
            "import signal, time",
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
            "print('begun')",
            "time.sleep(600)",
        ),
        say("never"),
    )
    async with talk(model, toolsets=TOOLS) as session:
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, ToolProgress):
                    session.interrupt()
        (result,) = results(session)
        assert (result["status"], result["output"].rstrip(), result["tool_calls_made"]) == (
            "interrupted",
            "begun",
            0,
        )


async def test_a_script_that_takes_too_long_ends_with_what_it_printed(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(code("import time", "print('begun')", "time.sleep(600)"), say("done"))
    async with opened(environ, tmp_path, model, {"code_execution.timeout": 2}) as session:
        await session.send("go")
        (result,) = results(session)
        assert (result["status"], result["output"].split("\n")[0], result["exit_code"]) == (
            "timeout",
            "begun",
            124,
        )
        assert result["error"] == "timed out after 2 s and was killed; the output so far is kept"


async def test_errors_come_apart_and_each_stream_has_its_own_bounds(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(
        code("import sys", "print('out')", "print('err', file=sys.stderr)", "1 / 0"),
        code("import sys", "print('x' * 999 + 'ä')", "print('e' * 50, file=sys.stderr)"),
        code("import sys", "print('y')", "sys.stderr.write('begin' + '.\\n' * 1500 + 'end')"),
        say("done"),
    )
    flags = {"tool_output.max_bytes": 500, "code_execution.max_stderr_chars": 1000}
    async with opened(environ, tmp_path, model, flags) as session:
        await session.send("go")
        plain, cut, loud = results(session)
    assert (plain["status"], plain["output"], plain["stderr"].split("\n")[0]) == ("error", "out\n", "err")
    assert plain["stderr"].endswith("ZeroDivisionError: division by zero\n")
    assert not any(name.startswith("stdout_bytes") for name in plain)
    assert (cut["stdout_truncated"], cut["stderr"]) == (True, "e" * 50 + "\n")
    captured = len(cut["output"].encode())
    assert (cut["stdout_bytes_captured"], cut["stdout_bytes_total"], cut["stdout_bytes_omitted"]) == (
        captured, 1002, 1002 - captured,
    )  # fmt: skip
    assert Path(cut["full_output"]).read_text() == "x" * 999 + "ä\n"
    assert (loud["output"], loud["stdout_truncated"], len(loud["stderr"]) <= 1100) == ("y\n", False, True)
    assert (loud["stderr"][:5], loud["stderr"][-3:]) == ("begin", "end")
    assert Path(loud["full_stderr"]).read_text() == "begin" + ".\n" * 1500 + "end"


async def test_strict_scripts_begin_in_an_empty_folder(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    script = (
        "import os",
        "print(os.listdir())",
        "from hermes_tools import terminal",
        "print(terminal('ls *.py')['output'])",
    )
    model = ScriptedModel(code(*script), code(*script), say("done"))
    async with opened(environ, tmp_path, model, {"code_execution.mode": "strict"}) as session:
        await session.send("go")
        assert [one["output"] for one in results(session)] == ["[]\nmine.py\n\n"] * 2


async def test_the_folder_of_a_strict_script_goes_with_it_whatever_it_left_there(
    environ: dict[str, str], tmp_path: Path
) -> None:
    script = ("import os", "open('mine.txt', 'w').write('x')", "os.makedirs('a/b')", "print(os.getcwd())")
    model = ScriptedModel(code(*script), say("done"))
    async with opened(environ, tmp_path, model, {"code_execution.mode": "strict"}) as session:
        await session.send("go")
        assert results(session)[0]["output"].endswith("/empty\n")
        assert [*Path(environ["HERMES_HOME"]).rglob("mine.txt"), *tmp_path.rglob("mine.txt")] == []


async def test_a_step_that_only_runs_scripts_does_not_count_as_often_as_the_limit(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(*[code("print(1)")] * 8, say("closing words"))
    async with opened(environ, tmp_path, model, {}, max_steps=3) as session:
        end = await session.send("go")
        ran = [one for one in results(session) if one.get("output") == "1\n"]
        # Three are given back; then come those of the limit, whose last one is told that it is.
        assert (len(ran), end.outcome) == (6, "budget")


async def test_no_folder_of_a_script_stays(talk: Talk, environ: dict[str, str]) -> None:
    model = ScriptedModel(code("import hermes_tools", "print(hermes_tools.__file__)"), say("done"))
    async with talk(model, toolsets=TOOLS) as session:
        await session.send("go")
        assert results(session)[0]["output"].strip().endswith("hermes_tools.py")
    assert list(Path(environ["HERMES_HOME"]).rglob("tools-*")) == []


async def test_without_a_python3_the_result_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    model = ScriptedModel(code("print(1)"), say("done"))
    async with opened({**environ, "PATH": str(tmp_path / "bin")}, tmp_path, model, {}) as session:
        await session.send("go")
        (result,) = results(session)
        assert (result["status"], result["exit_code"], result["error"]) == (
            "error",
            127,
            "There is no python3 where commands run, which execute_code needs.",
        )


async def test_a_script_that_makes_a_failing_call_on_and_on_is_stopped_where_that_is_set(
    environ: dict[str, str], tmp_path: Path
) -> None:
    ran: list[int] = []

    @hermes.tool
    def fails() -> str:
        """Fail."""
        ran.append(1)
        raise ValueError("no")

    model = ScriptedModel(
        code("from hermes_tools import fails", "print([fails() for _ in range(9)][-1]['error'])"), say("done")
    )
    flags = {"tool_loop_guardrails.hard_stop_enabled": True}
    async with opened(environ, tmp_path, model, flags, functions=(fails,)) as session:
        await session.send("go")
        assert (len(ran), results(session)[0]["output"].split(":")[0]) == (5, "This call was not run")


async def test_steps_given_back_are_given_back_to_a_turn_that_goes_on() -> None:
    limit = StepLimit(max_steps=3, taken=4, refunded=0)
    for _ in range(9):
        limit.refund()
    assert limit.refunded == 3
    assert [(one.number, one.kind) for one in limit] == [
        (5, "plain"), (6, "last"), (7, "grace"), (8, "summary"),
    ]  # fmt: skip


def test_only_a_step_of_nothing_but_scripts_is_given_back() -> None:
    script, other = (ToolCall(id="1", name=name, arguments={}) for name in ("execute_code", "terminal"))
    assert [only_scripts(calls) for calls in ((), (script,), (script, script), (script, other))] == [
        False, True, True, False,
    ]  # fmt: skip


async def test_a_flood_of_requests_and_what_is_no_call_is_answered_and_counts_nothing(talk: Talk) -> None:
    model = ScriptedModel(
        code(
            "import json, hermes_tools",
            "line = hermes_tools._LINES[0]",
            "sent = [b'{', b'[]', b'null', b'\\xff', b'{\"tool\": 1}', b'{\"tool\": \"read_file\", \"arguments\": []}']",
            "said = [json.loads(json.loads(line.ask(one))['result'])['error'] for one in sent * 50]",
            "print(len(said), set(said))",
        ),
        say("done"),
    )
    async with talk(model, toolsets=TOOLS) as session:
        await session.send("go")
        (result,) = results(session)
        told = "This is no call: it takes a tool's name and its arguments."
        assert (result["output"], result["tool_calls_made"]) == (f'300 {{"{told}"}}\n', 0)
