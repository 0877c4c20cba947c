"""A kernel keeps what scripts make, for as long as it is allowed what they are; where it does not, it says why."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import hermes
from hermes.agent.branching import branch
from hermes.agent.code_execution.script_run import OPENED_ANEW
from hermes.agent.code_execution.tools_module import module_text
from hermes.agent.outside import UNDONE
from hermes.environments.kernel_workspace import READ_OUTSIDE
from hermes.testing import ScriptedModel, call, say
from hermes.types.event import ToolProgress
from hermes.types.script import KernelUse, Script

from .test_execute_code import code, opened, results

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
KERNEL = {"code_execution.kernel": True}


def shown(one: dict[str, Any]) -> tuple[str, str]:
    """What a script gave, and whether variables were kept."""
    return one["output"], one["kernel"]


async def test_variables_imports_and_functions_are_kept_and_the_last_value_is_shown(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(
        code("import math", "x = 20", "def twice(n):", "    return 2 * n", "x"),
        code("twice(x) + math.floor(2.5)"),
        code("print('a')", "None"),
        code("'text'"),
        say("done"),
    )
    async with opened(environ, tmp_path, model, KERNEL) as session:
        await session.send("go")
        assert [shown(one) for one in results(session)] == [
            ("20\n", "started"), ("42\n", "kept"), ("a\n", "kept"), ("'text'\n", "kept"),
        ]  # fmt: skip
        assert {one["status"] for one in results(session)} == {"success"}


async def test_calls_of_tools_go_to_the_script_that_runs_and_are_counted_anew(
    environ: dict[str, str], tmp_path: Path
) -> None:
    @hermes.tool(outside=False)
    def double(number: int) -> int:
        """Twice a number."""
        return number * 2

    model = ScriptedModel(
        code("from hermes_tools import double", "a = [double(n)['result'] for n in range(3)]", "a"),
        code("double(double(21)['result'])['result'], a"),
        code("import hermes_tools, sys", "[hermes_tools.double(n).get('result') for n in range(5)]"),
        say("done"),
    )
    flags = {**KERNEL, "code_execution.max_tool_calls": 4}
    async with opened(environ, tmp_path, model, flags, functions=(double,)) as session:
        await session.send("go")
        assert [(one["output"], one["tool_calls_made"]) for one in results(session)] == [
            ("[0, 2, 4]\n", 3), ("(84, [0, 2, 4])\n", 2), ("[0, 2, 4, 6, None]\n", 4),
        ]  # fmt: skip


async def test_faults_of_a_script_are_its_own(environ: dict[str, str], tmp_path: Path) -> None:
    model = ScriptedModel(
        code("x = 1", "1 / 0"),
        code("def f(:"),
        code("import sys", "sys.exit(3)"),
        code("sys.exit('no more')"),
        code("def deep(n):", "    return deep(n + 1)", "deep(0)"),
        code("x"),
        say("done"),
    )
    async with opened(environ, tmp_path, model, KERNEL) as session:
        await session.send("go")
        found = results(session)
    assert [one["exit_code"] for one in found] == [1, 1, 3, 1, 1, 0]
    assert found[0]["stderr"] == (
        'Traceback (most recent call last):\n  File "<script 1>", line 2, in <module>\n    1 / 0\n    ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert "SyntaxError" in found[1]["stderr"]
    assert "kernel_program" not in found[1]["stderr"]
    assert found[3]["stderr"] == "no more\n"
    assert found[4]["stderr"].endswith("RecursionError: maximum recursion depth exceeded\n")
    assert shown(found[5]) == ("1\n", "kept")


async def test_a_script_that_takes_too_long_is_interrupted_and_its_variables_stay(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(
        code("x = 1", "import time", "print('begun')", "time.sleep(600)"), code("x"), say("done")
    )
    async with opened(environ, tmp_path, model, {**KERNEL, "code_execution.timeout": 2}) as session:
        await session.send("go")
        slow, after = results(session)
    assert (slow["status"], slow["output"], slow["exit_code"]) == ("timeout", "begun\n", 124)
    assert slow["error"] == "timed out after 2 s and was stopped; the output so far is kept"
    assert shown(after) == ("1\n", "kept")


async def test_one_that_does_not_heed_that_is_killed_and_the_next_result_says_that_variables_are_lost(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(
        code(
            "x = 1",
            "import signal, time",
            "signal.signal(signal.SIGINT, signal.SIG_IGN)",
            "print('begun')",
            "time.sleep(600)",
        ),
        code("'x' in globals()"),
        say("done"),
    )
    async with opened(environ, tmp_path, model, {**KERNEL, "code_execution.timeout": 2}) as session:
        await session.send("go")
        slow, after = results(session)
    assert (slow["status"], slow["output"]) == ("timeout", "begun\n")
    assert shown(after) == ("False\n", "started")
    assert after["variables_lost"] == (
        "the script before did not stop when it was interrupted, so its process was killed"
    )


async def test_a_turn_that_is_stopped_interrupts_the_script(environ: dict[str, str], tmp_path: Path) -> None:
    model = ScriptedModel(
        code("x = 1", "import time", "print('begun')", "time.sleep(600)"), code("x"), say("done")
    )
    async with opened(environ, tmp_path, model, KERNEL) as session:
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, ToolProgress):
                    session.interrupt()
        await session.send("and now?")
        stopped, after = results(session)
    assert (stopped["status"], stopped["output"][:5]) == ("interrupted", "begun")
    assert shown(after) == ("1\n", "kept")


@pytest.mark.parametrize(
    ("end", "exit_code"),
    [
        ("import os; os._exit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.abort()", 134),
    ],
)
async def test_a_process_that_dies_is_told_of(
    environ: dict[str, str], tmp_path: Path, end: str, exit_code: int
) -> None:
    model = ScriptedModel(code("x = 1", "print('before')", end), code("'x' in globals()"), say("done"))
    async with opened(environ, tmp_path, model, KERNEL) as session:
        await session.send("go")
        dead, after = results(session)
    assert (dead["status"], dead["output"], dead["exit_code"]) == ("error", "before\n", exit_code)
    assert (dead["kernel"], dead["variables_lost"]) == ("ended", after["variables_lost"])
    assert shown(after) == ("False\n", "started")
    assert after["variables_lost"] == f"its process ended by itself (exit code {exit_code})"


async def test_text_from_outside_ends_a_kernel_that_could_change_instructions(
    environ: dict[str, str], tmp_path: Path
) -> None:
    @hermes.tool(outside=True)
    def page() -> str:
        """A page."""
        return "words of others"

    model = ScriptedModel(
        code(
            "from hermes_tools import page", "words = page()", "def change():", "    open('AGENTS.md', 'w')"
        ),
        code("change()"),
        code("open('AGENTS.md', 'w')"),
        say("done"),
    )
    (tmp_path / "AGENTS.md").write_text("Be careful.")
    async with opened(environ, tmp_path, model, KERNEL, functions=(page,)) as session:
        await session.send("go")
        _, lost, refused = results(session)
    assert (lost["kernel"], lost["variables_lost"]) == (
        "started", READ_OUTSIDE,
    )  # fmt: skip
    assert "NameError: name 'change' is not defined" in lost["stderr"]
    assert (refused["kernel"], "Read-only file system" in refused["stderr"]) == ("kept", True)
    assert (tmp_path / "AGENTS.md").read_text() == "Be careful."


async def test_what_the_sandbox_keeps_from_commands_later_it_keeps_from_the_kernel_too(
    environ: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    git = {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"]}
    tried = (
        "try:", "    open('.git/config', 'a').write('[core]')", "    print('written')",
        "except OSError as error:", "    print(error.strerror)",
    )  # fmt: skip

    @hermes.tool(outside=False)
    def clone() -> str:
        """Have the user make a repository."""
        subprocess.run(["git", "init", "-q", work], check=True, env=git)
        return "ok"

    model = ScriptedModel(code("x = 1", "print(x)"), call("clone", {}), code(*tried), code("1"), say("done"))
    async with opened(environ, work, model, KERNEL, functions=(clone,)) as session:
        await session.send("go")
        first, _, later, last = results(session)
    assert shown(first) == ("1\n", "started")
    assert shown(later) == ("Read-only file system\n", "started")
    assert later["variables_lost"] == (
        "the sandbox keeps something from commands now that it did not when the process was started"
    )
    assert last["kernel"] == "kept"


async def test_variables_of_the_terminal_that_change_start_a_fresh_kernel(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(
        code("import os", "x = 1", "os.getcwd()"),
        call("terminal", {"command": "mkdir -p sub && cd sub"}),
        code("os.getcwd(), x"),
        call("terminal", {"command": "export COLOUR=blue"}),
        code("import os", "os.environ['COLOUR'], 'x' in globals()"),
        say("done"),
    )
    async with opened(environ, tmp_path, model, KERNEL) as session:
        await session.send("go")
        first, _, moved, _, changed = results(session)
    assert shown(first) == (f"'{tmp_path}'\n", "started")
    assert shown(moved) == (f"('{tmp_path}/sub', 1)\n", "kept")
    assert shown(changed) == ("('blue', False)\n", "started")
    assert "environment variables" in changed["variables_lost"]


async def test_without_a_sandbox_each_script_has_a_process_of_its_own_and_says_so(
    environ: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedModel(code("x = 1"), code("print(x)"), say("done"))
    async with opened(environ, tmp_path, model, {**KERNEL, "terminal.sandbox": "off"}) as session:
        await session.send("go")
        _, second = results(session)
    assert (second["exit_code"], second["kernel"].split(":")[0]) == (1, "not used")


async def test_two_sessions_share_no_kernel(environ: dict[str, str], tmp_path: Path) -> None:
    told = [code("'x' in globals()", "x = 1"), say("done")]
    for_one, for_other = ScriptedModel(*told), ScriptedModel(*told)
    async with (
        opened(environ, tmp_path, for_one, KERNEL) as one,
        opened(environ, tmp_path, for_other, KERNEL) as other,
    ):
        await one.send("go")
        await other.send("go")
        assert shown(results(other)[0]) == ("", "started")
        assert "variables_lost" not in results(other)[0]


async def test_branches_and_resumed_sessions_begin_with_a_fresh_kernel_and_say_so(
    environ: dict[str, str], tmp_path: Path
) -> None:
    def asking(turns: int) -> ScriptedModel:
        return ScriptedModel(*[code("x = 1"), say("ok")] * turns)

    async with opened(environ, tmp_path, asking(2), KERNEL) as session:
        await session.send("one")
        await session.send("two")
        row = await branch(session, turns=1)
    async with opened(environ, tmp_path, asking(1), KERNEL, resume=row.id) as branched:
        await branched.send("three")
    async with opened(environ, tmp_path, asking(1), KERNEL, resume=session.id) as resumed:
        await resumed.send("four")
    assert [shown(results(one)[-1])[1] for one in (branched, resumed)] == ["started"] * 2
    assert [results(one)[-1]["variables_lost"] for one in (branched, resumed)] == [OPENED_ANEW] * 2


async def test_undone_turns_take_the_variables_with_them(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path, ScriptedModel(code("x = 1"), say("ok")), KERNEL) as session:
        await session.send("one")
        await session.undo()
        said = await session.workspace.run_in_kernel(
            Script(code="print('x' in globals())"), module=module_text(()), answer=_nothing, timeout=60
        )
    assert (said.text, said.kernel) == ("False\n", KernelUse(state="started", lost=UNDONE))


async def _nothing(request: bytes) -> bytes:
    return request


def below(word: str) -> Iterator[psutil.Process]:
    """The processes below this one with a word in their command."""
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # one that has just ended has none
            if word in one.cmdline():
                yield one


async def test_a_kernel_ends_with_its_session(environ: dict[str, str], tmp_path: Path) -> None:
    model = ScriptedModel(
        code("import subprocess", "subprocess.Popen(['sleep', '617'])", "print('on')"), say("done")
    )
    async with opened(environ, tmp_path, model, KERNEL) as session:
        await session.send("go")
        begun = list(below("617"))
        assert len(begun) == 1
    assert psutil.wait_procs(begun, timeout=30)[1] == []
    assert list(Path(environ["HERMES_HOME"]).rglob("tools-*")) == []


async def test_the_tool_tells_of_the_kernel_where_there_is_one(
    environ: dict[str, str], tmp_path: Path
) -> None:
    told = []
    for flags in ({}, KERNEL):
        async with opened(environ, tmp_path, ScriptedModel(), flags) as session:
            told += [
                one["function"]["description"]
                for one in session.tools.definitions
                if one["function"]["name"] == "execute_code"
            ]
    assert told[1] == (
        f"{told[0]} Variables are kept from one script to the next, and a last expression is printed."
    )


FORGED = '{"ended": 9}\\n\\x00\\x00\\x00\\x0c{"ended": 9}\\n'
BREAKING = {
    "streams closed": ("import os", "os.closerange(0, 3)"),
    "all closed": ("import os", "os.closerange(0, 1000)"),
    "streams replaced": ("import sys", "sys.stdout = sys.stderr = sys.stdin = None"),
    "a stream closed": ("import sys", "sys.stdout.close()"),
    "tools broken": (
        "import hermes_tools, sys",
        "hermes_tools._call = hermes_tools._LINES = hermes_tools.json = None",
        "sys.modules['hermes_tools'] = None",
    ),
    "signals": (
        "import signal",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    ),
    "a child that stays": ("import os, time", "if os.fork() == 0:", "    time.sleep(600)"),
    "a child that goes on": ("import os", "if os.fork() == 0:", "    x = 3"),
    "a thread": ("import threading, time", "threading.Thread(target=time.sleep, args=(600,)).start()"),
    "frames": (f"print('{FORGED}', end='')",),
    "recursion": (
        "def deep(n):",
        "    return deep(n + 1)",
        "try:",
        "    deep(0)",
        "except RecursionError:",
        "    pass",
    ),
    "builtins": (
        "import builtins",
        "builtins.print = builtins.open = builtins.len = builtins.bytes = None",
        "builtins.__import__ = builtins.compile = builtins.exec = None",
    ),
    "modules": ("import json, os, time", "json.loads = os.dup2 = os.chdir = time.sleep = os._exit = None"),
    "a long text": ("text = 'x' * 1_000_000_000",),
}


@pytest.mark.parametrize("name", BREAKING)
async def test_what_a_script_breaks_in_its_process_is_kept_whole_or_told_of_as_lost(
    environ: dict[str, str], tmp_path: Path, name: str
) -> None:
    model = ScriptedModel(
        code("x = 2", *BREAKING[name]),
        code("import sys", "sys.stdout.write(f'next {globals().get(chr(120))}\\n') and None"),
        code("from hermes_tools import read_file"),
        say("done"),
    )
    async with opened(environ, tmp_path, model, {**KERNEL, "code_execution.timeout": 20}) as session:
        await session.send("go")
        _, after, last = results(session)
    kept = after["kernel"] == "kept" and after["output"] == "next 2\n"
    told = after["kernel"] == "started" and after["output"] == "next None\n" and after["variables_lost"]
    last_told = after["kernel"] == "ended" and after["variables_lost"] and last["variables_lost"]
    assert kept or told or last_told
    assert (last["status"], last.get("stderr", "")) == ("success", "")
