"""Commands of `hooks` run in real processes, once a person has said yes to them, and answer as they should."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import hermes
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.plugins.hook_consent import HookConsent, files_named
from hermes.plugins.settings import ShellHook
from hermes.plugins.shell_hooks import CommandHook
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.error import ConfigError
from hermes.types.event import Notice
from hermes.types.message import ToolResult, User

pytestmark = pytest.mark.anyio
Write = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Write:
    """A command that runs this Python."""

    def written(code: str) -> str:
        file = tmp_path / "hook.py"
        file.write_text("import json, os, sys\ngiven = json.load(sys.stdin)\n" + code)
        return f"{sys.executable} {file}"

    return written


@asynccontextmanager
async def opened(
    environ: dict[str, str], model: ScriptedModel, *, accepted: Any = True, **hooks: Any
) -> AsyncIterator[Runtime]:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(json.dumps({"hooks": hooks}))
    if accepted:
        accept(home, hooks)
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        yield runtime


def accept(home: Path, hooks: dict[str, list[dict[str, Any]]]) -> None:
    for event, some in hooks.items():
        for one in some:
            HookConsent(home).accept(event, ShellHook(**one))


@hermes.tool
async def look(where: str) -> str:
    """Look.

    where: at what
    """
    return f"seen {where}"


def options(cwd: Path) -> SessionOptions:
    return SessionOptions(
        base_url="http://127.0.0.1:1/v1", model="m", toolsets=(), cwd=cwd, functions=(look,)
    )


async def asked(runtime: Runtime, cwd: Path) -> Session:
    session = await runtime.session(options(cwd))
    await session.send("go")
    await session.close()
    return session


def results(session: Session) -> list[str]:
    return [one.content for one in session.log if isinstance(one, ToolResult)]


def looking() -> ScriptedModel:
    return ScriptedModel(call("look", {"where": "moon"}), say("done"), say("more"))


def model_again() -> ScriptedModel:
    return ScriptedModel(call("look", {"where": "moon"}), call("look", {"where": "moon"}), say("done"))


SEEN, NOT_NOW = '{"result": "seen moon"}', '{"error": "not now"}'
DENIES = "{'hookSpecificOutput': {'permissionDecision': 'deny', 'permissionDecisionReason': 'not now'}}"


@pytest.mark.parametrize(
    ("event", "matcher", "code", "expected"),
    [
        ("pre_tool_call", "", "print('not now', file=sys.stderr); sys.exit(2)", NOT_NOW),
        ("PreToolUse", "look|see", "print('not now', file=sys.stderr); sys.exit(2)", NOT_NOW),
        ("PreToolUse", "loo", "sys.exit(2)", SEEN),
        ("PreToolUse", "", "print(json.dumps({'decision': 'block', 'reason': 'not now'}))", NOT_NOW),
        ("PreToolUse", "", "print(json.dumps({'action': 'block', 'message': 'not now'}))", NOT_NOW),
        ("PreToolUse", "", f"print(json.dumps({DENIES}))", NOT_NOW),
        ("PreToolUse", "", "sys.exit(1)", SEEN),
        ("PreToolUse", "", "print('words')", SEEN),
        ("transform_tool_result", "", "print(json.dumps({'x': 1}))", SEEN),
        ("transform_tool_result", "", "print('other')", "other"),
    ],
)
async def test_a_command_answers_by_its_exit_code_or_in_json(
    environ: dict[str, str], tmp_path: Path, script: Write, event: str, matcher: str, code: str, expected: str
) -> None:
    hook = {"command": script(code), "matcher": matcher}
    async with opened(environ, looking(), **{event: [hook]}) as runtime:
        assert runtime.warnings == ()
        assert results(await asked(runtime, tmp_path)) == [expected]


async def test_a_command_reads_what_the_point_offers_and_gets_no_secret(
    environ: dict[str, str], tmp_path: Path, script: Write
) -> None:
    told = tmp_path / "told.json"
    hook = {"command": script(f"json.dump([given, dict(os.environ)], open({str(told)!r}, 'w'))")}
    environ["SHOP_TOKEN"] = "s3cret-token-value"
    async with opened(environ, looking(), PreToolUse=[hook]) as runtime:
        session = await asked(runtime, tmp_path)
    given, variables = json.loads(told.read_text())
    extra = given.pop("extra")
    assert given == {
        "hook_event_name": "PreToolUse",
        "tool_name": "look",
        "tool_input": {"where": "moon"},
        "session_id": session.id,
        "cwd": str(Path.cwd()),
    }
    assert (extra["task_id"], extra["turn_id"]) == (session.id, f"{session.id}:1")
    assert {"SHOP_TOKEN", "HERMES_HOME"} & set(variables) == set()


async def test_what_a_command_prints_at_a_prompt_is_added_and_a_stop_hook_has_the_turn_go_on(
    environ: dict[str, str], tmp_path: Path, script: Write
) -> None:
    code = (
        "if given['hook_event_name'] == 'UserPromptSubmit': print('today is Monday')\n"
        "elif given['extra']['attempt'] == 1: print('look again', file=sys.stderr); sys.exit(2)\n"
    )
    hook = {"command": script(code)}
    async with opened(environ, looking(), UserPromptSubmit=[hook], Stop=[hook]) as runtime:
        session = await runtime.session(options(tmp_path))
        async with session.stream("go") as events:
            told = [one.text async for one in events if isinstance(one, Notice)]
        await session.close()
    assert told == ["A hook has the turn go on: look again"]
    blocks = [one.text for message in session.log if isinstance(message, User) for one in message.blocks]
    assert blocks == ["today is Monday", "look again"]


async def test_a_command_is_run_only_after_a_yes_and_not_when_its_script_has_changed_since(
    environ: dict[str, str], tmp_path: Path, script: Write, caplog: pytest.LogCaptureFixture
) -> None:
    command = script("sys.exit(2)")
    told = (
        f"hook PreToolUse: {command} is not run: nobody has said yes to it as it is now;"
        " hermes hooks accept PreToolUse asks."
    )
    hooks = {"PreToolUse": [{"command": command}]}
    async with opened(environ, model_again(), accepted=False, **hooks) as runtime:
        assert runtime.warnings == (told,)
        assert results(await asked(runtime, tmp_path)) == [SEEN, SEEN]
    assert caplog.messages.count(told) == 0
    async with opened(environ, model_again(), **hooks) as runtime:
        (tmp_path / "hook.py").write_text("print('{}')")
        found = [json.loads(one)["error"] for one in results(await asked(runtime, tmp_path))]
    changed = f"hook PreToolUse: {command} guards this, and was changed since the user's yes."
    assert [one.startswith(changed) for one in found] == [True, True]
    assert caplog.messages.count(told) == 1
    async with opened(environ, looking(), accepted=False, **hooks) as runtime:
        assert runtime.warnings == (told,)


COMMANDS = {
    "a program of a shell": "sh -c 'echo x; . {0}/in.sh'",
    "a program of Python": "python3 -c 'import runpy; runpy.run_path(\"{0}/in.sh\")'",
    "behind an equals sign": "bash --rcfile={0}/in.sh -i",
    "by a folder": "sh -c 'cd {0} && sh in.sh'",
    "by a variable": "sh -c '. $HOME/in.sh'",
    "by a variable in braces": 'sh -c ". ${{HOME}}/in.sh"',
    "below the home, in quotes": "sh -c '. ~/in.sh'",
    "by a pattern": "sh -c 'cat {0}/*.sh | sh'",
    "by a name with a space": "sh '{0}/a folder/in.sh'",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_yes_is_one_to_each_file_that_a_command_names_however_it_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a folder").mkdir()
    files = [tmp_path / "in.sh", tmp_path / "a folder" / "in.sh"]
    for file in files:
        file.write_text("echo one")
    consent, hook = HookConsent(tmp_path / "home"), ShellHook(command=command.format(tmp_path))
    consent.accept("Stop", hook)
    before = consent.covers("Stop", hook)
    for file in files:
        file.write_text("echo two")
    assert (before, consent.covers("Stop", hook)) == (True, False)


def test_a_yes_lasts_while_a_command_writes_its_journal(tmp_path: Path) -> None:
    (tmp_path / "in.sh").write_text("echo one")
    consent = HookConsent(tmp_path / "home")
    for written in (">>", "2>> ", ">", "> "):
        hook = ShellHook(command=f"sh {tmp_path}/in.sh {written}{tmp_path}/journal", shell=True)
        consent.accept("Stop", hook)
        (tmp_path / "journal").write_text(written)
        assert consent.covers("Stop", hook)
        assert [one.name for one in files_named(hook)] == ["in.sh"]


async def test_the_user_may_want_no_command_asked_about_and_the_safe_mode_runs_none(
    environ: dict[str, str], tmp_path: Path, script: Write
) -> None:
    hooks = {"PreToolUse": [{"command": script("print('not now', file=sys.stderr); sys.exit(2)")}]}
    for flags, expected in (
        ({"hooks_auto_accept": True}, NOT_NOW),
        ({"plugins.safe_mode": True}, SEEN),
    ):
        async with opened(environ, looking(), accepted=False, **hooks):
            pass
        async with open_runtime(environ=environ, http=looking().http(), flags=flags) as runtime:
            assert (runtime.warnings, results(await asked(runtime, tmp_path))) == ((), [expected])


async def test_no_shell_reads_a_command_unless_the_user_wants_one(
    environ: dict[str, str], tmp_path: Path
) -> None:
    for more in ({}, {"shell": True}):
        mark = tmp_path / f"mark{len(more)}"
        hook = {"command": f"true ; touch {mark}", **more}
        async with opened(environ, looking(), PreToolUse=[hook]) as runtime:
            await asked(runtime, tmp_path)
    assert sorted(one.name for one in tmp_path.glob("mark*")) == ["mark1"]


async def test_a_command_that_does_not_end_is_killed_with_what_it_started(
    environ: dict[str, str], tmp_path: Path, script: Write
) -> None:
    pids = tmp_path / "pids"
    code = (
        "import subprocess, time\nchild = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids)!r} + '.part', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.part', {str(pids)!r})\ntime.sleep(60)\n"
    )
    hook = {"command": script(code), "timeout": 2.0}
    async with opened(environ, looking(), PreToolUse=[hook]) as runtime:
        assert results(await asked(runtime, tmp_path)) == [SEEN]
    with anyio.fail_after(20):
        while any(is_alive(int(pid)) for pid in pids.read_text().split()):  # noqa: ASYNC110  # nobody tells
            await anyio.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_program_that_is_not_there_is_a_failure_of_that_command_alone(
    environ: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(environ, looking(), PreToolUse=[{"command": "/nowhere/hook --x"}]) as runtime:
        assert results(await asked(runtime, tmp_path)) == [SEEN]
    assert "hook PreToolUse: /nowhere/hook --x failed with 127" in caplog.text


@pytest.mark.parametrize(
    ("event", "hook", "fault"),
    [
        ("PreCompact", {"command": "true"}, "hooks.PreCompact is no hook point; there are "),
        ("Stop", {"command": "true", "matcher": "("}, "hook Stop: true: its matcher is no pattern: "),
        (
            "Stop",
            {"command": "echo 'x"},
            'The command "echo \'x" of hooks cannot be read: No closing quotation.',
        ),
        (
            "Stop",
            {"command": "true", "timeout": 301},
            "hooks.Stop[0] is not as it should be: timeout: expected",
        ),
        (
            "Stop",
            {"command": "true", "comand": "x"},
            "hooks.Stop[0] is not as it should be: it takes command, ",
        ),
    ],
)
async def test_a_fault_of_the_settings_is_told_at_once(
    environ: dict[str, str], event: str, hook: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        async with opened(environ, ScriptedModel(), accepted=False, **{event: [hook]}):
            pass
    assert fault in str(raised.value)


def test_a_command_of_the_home_is_found_there(environ: dict[str, str]) -> None:
    one = CommandHook(event="Stop", hook=ShellHook(command="~/hook.sh --x"))
    assert one.argv == [str(Path("~/hook.sh").expanduser()), "--x"]
