"""Hooks that were written for Claude Code run unchanged, in real processes, told and heard in its form."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.plugins.hook_commands import command_hooks, place_of
from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.settings import ShellHook
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.error import ConfigError
from hermes.types.event import Notice, TurnFinished
from hermes.types.message import Assistant, ToolResult, User
from tests.scenarios.family import FamilyModel

pytestmark = pytest.mark.anyio
Write = Callable[[str], str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Write:
    """A command that runs this Python, which has noted what it was given in `told`."""

    def written(code: str) -> str:
        file = tmp_path / f"hook{len(list(tmp_path.glob('hook*')))}.py"
        note = f"open({str(tmp_path / 'told')!r}, 'a').write(json.dumps(given) + chr(10))\n"
        file.write_text("import json, os, sys\ngiven = json.load(sys.stdin)\n" + note + code)
        return f"{sys.executable} {file}"

    return written


def told(tmp_path: Path) -> list[dict[str, Any]]:
    file = tmp_path / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def group(command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


@asynccontextmanager
async def opened(
    environ: dict[str, str], model: ScriptedModel, project: Path, *, accepted: Any = True, **hooks: Any
) -> AsyncIterator[Runtime]:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    settings = {"hooks": hooks, "terminal": {"cwd": str(project)}}
    (home / "config.yaml").write_text(json.dumps(settings))
    if accepted:
        accept(home, project, hooks)
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        yield runtime


def accept(home: Path, project: Path, hooks: dict[str, list[dict[str, Any]]]) -> None:
    settings = {event: [ShellHook(**one) for one in some] for event, some in hooks.items()}
    for one in command_hooks(settings):
        HookConsent(home).accept(one.event, one.hook, place_of(one, project))


async def asked(runtime: Runtime, project: Path, text: str = "go", **more: Any) -> tuple[Session, list[str]]:
    """The session after one turn, and what the user was told."""
    chosen = SessionOptions(
        base_url="http://127.0.0.1:1/v1",
        model="m",
        toolsets=("file", "terminal", "delegation", "code_execution"),
        cwd=project,
        attended=False,
        **more,
    )
    session = await runtime.session(chosen)
    async with session.stream(text) as events:
        notices = [one.text async for one in events if isinstance(one, Notice | TurnFinished)]
    await session.close()
    return session, notices


def results(session: Session) -> list[str]:
    return [one.content for one in session.log if isinstance(one, ToolResult)]


def words(session: Session) -> list[str]:
    return [one.text for message in session.log if isinstance(message, User) for one in message.blocks]


def blocked(why: str) -> str:
    return json.dumps({"error": why})


PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+two
*** Add File: sub/b.txt
+new
*** Delete File: c.txt
*** Update File: d.txt
*** Move to: e.txt
*** End Patch"""


def four_files(project: Path) -> None:
    for name in ("a", "c", "d"):
        (project / f"{name}.txt").write_text("one\n")


async def test_a_guard_of_commands_sees_what_a_script_and_a_running_program_are_given_too(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    guard = script(
        "if 'rm -rf' in given['tool_input']['command']: print('not that', file=sys.stderr); sys.exit(2)"
    )
    model = ScriptedModel(
        call("terminal", {"command": "rm -rf x"}),
        call("execute_code", {"code": "import os; os.system('rm -rf x')"}),
        call("process", {"action": "submit", "session_id": "p1", "data": "rm -rf x"}),
        say("done"),
    )
    async with opened(environ, model, project, PreToolUse=[group(guard, "Bash")]) as runtime:
        assert runtime.warnings == ()
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("not that")] * 3
    assert {one["tool_name"] for one in told(tmp_path)} == {"Bash"}


@pytest.mark.parametrize("name", ["a.txt", "sub/b.txt", "c.txt", "d.txt", "e.txt"])
async def test_a_guard_of_edits_is_shown_every_file_of_a_patch(
    environ: dict[str, str], project: Path, script: Write, name: str
) -> None:
    four_files(project)
    guard = script(
        f"if given['tool_input']['file_path'] == {str(project / name)!r}:\n"
        "    print(json.dumps({'decision': 'block', 'reason': 'kept'}))"
    )
    model = ScriptedModel(call("patch", {"mode": "patch", "patch": PATCH}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(guard, "Edit|Write")]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("kept")]
    assert sorted(one.name for one in project.iterdir()) == ["a.txt", "c.txt", "d.txt"]


@pytest.mark.parametrize("matcher", ["Edit", "Write"])
async def test_a_file_that_is_moved_is_one_that_is_edited_and_one_that_is_written(
    environ: dict[str, str], project: Path, script: Write, matcher: str
) -> None:
    four_files(project)
    guard = script(
        "if given['tool_input']['file_path'].endswith('e.txt'): print('kept', file=sys.stderr); sys.exit(2)"
    )
    model = ScriptedModel(call("patch", {"mode": "patch", "patch": PATCH}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(guard, matcher)]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("kept")]


async def test_a_guard_that_cannot_be_shown_a_call_blocks_it(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(script(""))]) as runtime:
        (Path(environ["HERMES_HOME"]) / "shell-hooks-allowlist.json").write_text("{")
        session, _ = await asked(runtime, project)
    (result,) = results(session)
    assert json.loads(result)["error"].startswith("Its hooks could not be shown this call: ")
    assert told(tmp_path) == []


async def test_each_task_is_shown_also_where_a_model_gives_them_as_text(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    guard = script(
        "if 'second' in given['tool_input']['prompt']: print('not that', file=sys.stderr); sys.exit(2)"
    )
    tasks = json.dumps([{"goal": "first"}, {"goal": "second"}])
    model = ScriptedModel(call("delegate_task", {"tasks": tasks}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(guard, "Task")]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("not that")]
    assert [one["tool_input"]["description"] for one in told(tmp_path)] == ["first", "second"]


async def test_what_a_hook_tells_the_user_hides_known_secrets(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    environ["OPENROUTER_API_KEY"] = "sk-or-v1-0123456789abcdef"
    loud = script("print(json.dumps({'systemMessage': 'the key is sk-or-v1-0123456789abcdef'}))")
    async with opened(
        environ, ScriptedModel(say("done")), project, UserPromptSubmit=[group(loud)]
    ) as runtime:
        _, notices = await asked(runtime, project)
    assert [one.startswith("the key is ") for one in notices[:1]] == [True]
    assert "0123456789abcdef" not in str(notices)


async def test_a_command_reads_a_call_in_the_form_that_it_was_written_for(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    four_files(project)
    note = script("")
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    model = ScriptedModel(call("patch", edit), call("write_file", {"path": "n", "content": "x"}), say("done"))
    hooks = {"PreToolUse": [group(note, "*")], "PostToolUse": [group(note, "Write")]}
    async with opened(environ, model, project, **hooks) as runtime:
        session, _ = await asked(runtime, project)
    base = {"session_id": session.id, "transcript_path": "", "cwd": str(project)}
    ids = [one.call_id for one in session.log if isinstance(one, ToolResult)]
    file = str(project / "a.txt")
    pair = {"old_string": "one", "new_string": "two"}
    before, then, after = told(tmp_path)
    assert before == {
        **base,
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_use_id": ids[0],
        "tool_input": {**edit, "file_path": file, "edits": [pair]},
    }
    written = {"path": "n", "content": "x", "file_path": str(project / "n")}
    assert then == {
        **base,
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_use_id": ids[1],
        "tool_input": written,
    }
    response = after.pop("tool_response")
    assert after == {**then, "hook_event_name": "PostToolUse"}
    assert (response["filePath"], response["success"]) == (str(project / "n"), True)


async def test_a_formatter_after_an_edit_works_on_the_file_and_its_words_reach_the_model(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    four_files(project)
    formatter = (
        "file=$("
        + sys.executable
        + ' -c \'import json,sys; print(json.load(sys.stdin)["tool_input"]["file_path"])\');'
        ' [[ "$file" == *.txt ]] && tr a-z A-Z < "$file" > "$file.new" && mv "$file.new" "$file"'
    )
    complaint = script("print('a.txt: too loud', file=sys.stderr); sys.exit(2)")
    both = {"matcher": "Edit|MultiEdit|Write", "hooks": [{"command": formatter}, {"command": complaint}]}
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    async with opened(
        environ, ScriptedModel(call("patch", edit), say("done")), project, PostToolUse=[both]
    ) as runtime:
        session, _ = await asked(runtime, project)
    assert (project / "a.txt").read_text() == "TWO\n"
    assert json.loads(results(session)[0])["hook"] == "a.txt: too loud"


async def test_a_failed_call_is_told_at_its_own_event_alone(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    note = script("")
    hooks = {name: [group(note)] for name in ("PostToolUse", "PostToolUseFailure")}
    model = ScriptedModel(call("read_file", {"path": "gone"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        await asked(runtime, project)
    assert [(one["hook_event_name"], one["tool_name"]) for one in told(tmp_path)] == [
        ("PostToolUseFailure", "Read")
    ]
    assert told(tmp_path)[0]["tool_response"]["success"] is False


ASK = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look"}}
DENY = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "never"}}
OTHER = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "echo b"}}}
SAME = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "echo a"}}}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (DENY, "never"),
        (ASK, "Nobody can be asked here"),
        (OTHER, "wants other arguments; make the call with these, if that is what you want: {'command'"),
        ({"continue": False, "stopReason": "enough"}, "enough"),
        (SAME, '"exit_code": 0'),
        ({"decision": "approve"}, '"exit_code": 0'),
    ],
)
async def test_a_command_decides_in_json(
    environ: dict[str, str], project: Path, script: Write, answer: dict[str, Any], expected: str
) -> None:
    command = script(f"print(json.dumps({answer!r}))")
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(command, "Bash")]) as runtime:
        session, _ = await asked(runtime, project)
    said = " ".join([*results(session), *(one.text for one in session.log if isinstance(one, Assistant))])
    assert expected in said
    assert ('"exit_code": 0' in said) == (expected == '"exit_code": 0')
    assert len(model.requests) == (1 if "continue" in answer else 2)


DENIES = '{"decision": "block", "reason": "never"}'
UNREAD: Sequence[tuple[str, str]] = (
    (f"print({DENIES!r}.replace('never', 'x' * 1_000_000))", "it is longer than 1000000 bytes."),
    ('print(\'{"decision": "block", \')', "it is no JSON: "),
    (f"sys.stdout.buffer.write({DENIES!r}.encode('utf-16'))", "it is no JSON: "),
    ("print(chr(0) + '{}')", "it is no JSON: "),
    ('print(\'{"decision": "DENY"}\')', "decision takes approve, allow, block or deny, not 'DENY'."),
    (
        "print(json.dumps({'hookSpecificOutput': {'permissionDecision': 'DENY'}}))",
        "hookSpecificOutput.permissionDecision takes allow, deny, ask or defer, not 'DENY'.",
    ),
    ('print(\'{"continue": "false"}\')', "continue: expected"),
    ("print('{\"a\":' * 100_000)", "it is no JSON: "),
)


@pytest.mark.parametrize(("code", "why"), UNREAD)
async def test_an_answer_that_cannot_be_read_blocks_what_its_command_guards_and_is_told_elsewhere(
    environ: dict[str, str], project: Path, script: Write, code: str, why: str
) -> None:
    command = script(code)
    hooks = {"PreToolUse": [group(command, "Bash")], "UserPromptSubmit": [group(command)]}
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        session, notices = await asked(runtime, project)
    said = f"{command} has given an answer that cannot be read: {why}"
    assert json.loads(results(session)[0])["error"].startswith(f"hook PreToolUse: {said}")
    assert notices[0].startswith(f"hook UserPromptSubmit: {said}")


@pytest.mark.parametrize(("code", "why"), UNREAD)
async def test_a_command_in_our_form_blocks_with_an_answer_that_cannot_be_read(
    environ: dict[str, str], project: Path, script: Write, code: str, why: str
) -> None:
    command = script(code)
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, PreToolUse=[{"command": command}]) as runtime:
        session, _ = await asked(runtime, project)
    said = f"hook PreToolUse: {command} has given an answer that cannot be read: {why}"
    assert json.loads(results(session)[0])["error"].startswith(said)


async def test_words_of_a_command_in_our_form_are_as_many_as_a_model_may_read(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    command, model = script("print('{begins' + 'x' * 2_000_000)"), ScriptedModel(say("done"))
    async with opened(environ, model, project, UserPromptSubmit=[{"command": command}]) as runtime:
        session, _ = await asked(runtime, project)
    (said,) = words(session)
    assert ("{beginsxx" in said, len(said) < 20_100) == (True, True)


@pytest.mark.parametrize("answer", ["chr(0xfeff) + deny", "json.dumps({'permissionDecision': 'deny'})"])
async def test_a_mark_before_an_answer_is_passed_over_and_a_decision_holds_at_its_top_too(
    environ: dict[str, str], project: Path, script: Write, answer: str
) -> None:
    command = script(f"deny = {DENIES!r}\nsys.stdout.buffer.write(({answer}).encode())")
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(command, "Bash")]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) in ([blocked("never")], [blocked(f"hook PreToolUse: {command} blocked it.")])


LONG = "'begins' + 'x' * 500_000 + 'ends'"


@pytest.mark.parametrize(
    "code",
    [
        f"print({LONG}, file=sys.stderr); sys.exit(2)",
        f"print(json.dumps({{'decision': 'block', 'reason': {LONG}}}))",
        f"print(json.dumps({{'hookSpecificOutput': {{'updatedInput': {{'command': {LONG}}}}}}}))",
    ],
)
async def test_a_reason_is_as_long_as_a_model_may_read(
    environ: dict[str, str], project: Path, script: Write, code: str
) -> None:
    command = script(f"if given['hook_event_name'] == 'PreToolUse':\n    {code}")
    context = script(f"print(json.dumps({{'systemMessage': {LONG}}})) if 0 else print({LONG})")
    hooks = {
        "PreToolUse": [group(command, "Bash"), {"command": command}],
        "UserPromptSubmit": [group(context)],
    }
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        session, _ = await asked(runtime, project)
    given = [*results(session), *words(session)[1:]]
    assert [("begins" in one, "x ends" in one or "xends" in one, len(one) < 20_100) for one in given] == [
        (True, True, True)
    ] * len(given)


async def test_an_allowing_hook_allows_nothing_that_the_rules_refuse(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    allow = script("print(json.dumps({'hookSpecificOutput': {'permissionDecision': 'allow'}}))")
    model = ScriptedModel(call("write_file", {"path": "~/.ssh/config", "content": "x"}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(allow)]) as runtime:
        session, _ = await asked(runtime, project)
    assert json.loads(results(session)[0])["status"] == "blocked"


async def test_words_of_the_start_and_of_the_prompt_go_with_the_first_message(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    start = script(
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'SessionStart',"
        " 'additionalContext': 'branch main'}, 'systemMessage': 'welcome'}))"
    )
    prompt = script("print('today is Monday')")
    hooks = {
        "SessionStart": [group(start, "startup"), group(script("print('again')"), "resume")],
        "UserPromptSubmit": [group(prompt, "ignored here")],
    }
    async with opened(environ, ScriptedModel(say("a"), say("b")), project, **hooks) as runtime:
        session, _ = await asked(runtime, project)
        again, _ = await asked(runtime, project, resume=session.id)
    assert words(again) == ["branch main\ntoday is Monday", "again\ntoday is Monday"]
    assert [one.get("source", one.get("prompt")) for one in told(tmp_path)] == [
        "startup",
        "go",
        "resume",
        "go",
    ]


@pytest.mark.parametrize("form", ["theirs", "ours"])
async def test_a_python_of_a_hook_imports_nothing_that_a_session_may_have_written(
    environ: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(project)
    for folder in (project, project / "scripts"):
        folder.mkdir(exist_ok=True)
        (folder / "json.py").write_text("raise SystemExit(0)\n")
    hooks = project / ".claude/hooks"
    hooks.mkdir(parents=True)
    (hooks / "reason.py").write_text("WHY = 'not now'\n")
    guard = "import json, sys\ntry:\n    from reason import WHY\nexcept ImportError:\n    WHY = 'no reason'\n"
    guard += "json.load(sys.stdin)\nprint(WHY, file=sys.stderr)\nsys.exit(2)\n"
    for file in (hooks / "guard.py", project / "scripts/guard.py"):
        file.write_text(guard)
    short = "import json, sys; print(sys.flags.safe_path, file=sys.stderr); sys.exit(2)"
    found = []
    for words in (f'-c "{short}"', ".claude/hooks/guard.py", "scripts/guard.py"):
        command = f"{sys.executable} {words}"
        given = group(command) if form == "theirs" else {"command": command}
        model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
        async with opened(environ, model, project, PreToolUse=[given]) as runtime:
            session, _ = await asked(runtime, project)
        found += results(session)
    assert found == [blocked("True"), blocked("not now"), blocked("no reason")]


async def test_words_for_the_model_hide_known_secrets(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    environ["OPENROUTER_API_KEY"] = "sk-or-v1-0123456789abcdef"
    loud = script("print('the key is sk-or-v1-0123456789abcdef')")
    stop = script("print('sk-or-v1-0123456789abcdef', file=sys.stderr)\nsys.exit(2)")
    hooks = {"SessionStart": [group(loud)], "UserPromptSubmit": [group(loud)], "Stop": [group(stop)]}
    model = ScriptedModel(*(say("done") for _ in range(4)))
    async with opened(environ, model, project, **hooks) as runtime:
        session, _ = await asked(runtime, project)
    assert len(model.requests) == 4
    assert "0123456789abcdef" not in json.dumps(model.requests) + str(words(session))
    assert str(words(session)).count("the key is") == 2


async def test_a_session_that_makes_a_repository_of_its_folder_keeps_its_guards(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    folder = project / "below"
    folder.mkdir()
    (project / ".git").mkdir()
    guard = script("if 'x' in str(given['tool_input']): print('not now', file=sys.stderr); sys.exit(2)")
    model = ScriptedModel(
        call("terminal", {"command": "mkdir .git"}), call("terminal", {"command": "echo x"}), say("done")
    )
    async with opened(environ, model, project, PreToolUse=[group(guard, "Bash")]) as runtime:
        session, _ = await asked(runtime, folder)
    assert ((folder / ".git").is_dir(), results(session)[1]) == (True, blocked("not now"))


async def test_a_session_below_the_top_of_its_repository_is_told_with_its_own_folder(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    folder = project / "below"
    folder.mkdir()
    (project / ".git").mkdir()
    hooks = {name: [group(script(""))] for name in ("SessionStart", "UserPromptSubmit", "PreToolUse")}
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        await asked(runtime, folder)
    assert [(one["hook_event_name"], one["cwd"]) for one in told(tmp_path)] == [
        (name, str(folder)) for name in ("SessionStart", "UserPromptSubmit", "PreToolUse")
    ]


async def test_a_stopped_prompt_is_neither_heard_by_the_model_nor_kept(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    guard = script("if 'secret' in given['prompt']: print('a secret', file=sys.stderr); sys.exit(2)")
    model = ScriptedModel(say("heard"))
    async with opened(environ, model, project, UserPromptSubmit=[group(guard)]) as runtime:
        session = await runtime.session(
            SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", cwd=project)
        )
        refused = await session.send("my secret")
        assert (session.turns, session.log, session.title, model.requests) == (0, (), "", [])
        heard = await session.send("hello")
        await session.close()
        kept = await runtime.store.load(session.id)
    assert (refused.outcome, refused.turn, refused.reason) == (
        "interrupted",
        1,
        "a secret The message was not sent, and is not kept.",
    )
    assert (heard.outcome, heard.turn, [one.text for one in kept.log if isinstance(one, User)]) == (
        "done",
        1,
        ["hello"],
    )
    assert "my secret" not in json.dumps(model.requests)


async def test_undo_takes_back_a_turn_whole_that_a_hook_had_go_on(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    wants = script('if not given[\'stop_hook_active\']: print(\'{"decision": "block", "reason": "more"}\')')
    model = ScriptedModel(say("zero"), say("first"), say("second"), say("third", breaks_prefix=True))
    async with opened(environ, model, project, Stop=[group(wants)]) as runtime:
        session = await runtime.session(
            SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", cwd=project)
        )
        await session.send("hello")
        assert (session.turns, len(session.log)) == (1, 4)
        assert await session.undo() == "hello"
        assert (session.turns, session.log) == (0, ())
        await session.close()


async def test_a_stop_hook_has_the_turn_go_on_until_it_is_satisfied(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    wants = script(
        "if not given['stop_hook_active']: print(json.dumps({'decision': 'block', 'reason': 'run the tests'}))"
    )
    model = ScriptedModel(say("first"), say("second"))
    async with opened(environ, model, project, Stop=[group(wants)]) as runtime:
        session, _ = await asked(runtime, project)
    assert words(session) == ["run the tests"]
    assert [(one["stop_hook_active"], one["last_assistant_message"]) for one in told(tmp_path)] == [
        (False, "first"),
        (True, "second"),
    ]


async def test_a_child_has_the_events_of_children_and_the_guards_of_its_parent(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    note = script("")
    guard = script("print('not now', file=sys.stderr); sys.exit(2)")
    events = (
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    )
    hooks: dict[str, Any] = {name: [group(note)] for name in events}
    hooks["PreToolUse"] = [group(note, "Task"), group(guard, "Bash")]
    model = FamilyModel(
        {
            "go": [call("delegate_task", {"goal": "look", "context": "here"}), say("done")],
            "look": [call("terminal", {"command": "echo a"}), say("seen")],
        }
    )
    async with opened(environ, model, project, **hooks) as runtime:
        await asked(runtime, project)
    seen = [(one["hook_event_name"], one.get("tool_name", "")) for one in told(tmp_path)]
    assert seen == [
        ("SessionStart", ""),
        ("UserPromptSubmit", ""),
        ("PreToolUse", "Task"),
        ("SubagentStart", ""),
        ("PreToolUse", "Bash"),
        ("SubagentStop", ""),
        ("Stop", ""),
        ("SessionEnd", ""),
    ]
    assert told(tmp_path)[2]["tool_input"]["prompt"] == "look\n\nhere"
    assert "not now" in json.dumps(model.requests)


async def test_a_guard_that_nobody_has_said_yes_to_in_a_project_is_told_there_once(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    guard, again = script("sys.exit(2)"), call("terminal", {"command": "echo a"})
    words = f"hook PreToolUse: {guard} is not run: nobody has said yes to it as it is now; hermes hooks"
    model = ScriptedModel(again, again, say("done"), replace(again, breaks_prefix=True), say("done"))
    found = []
    async with opened(environ, model, project, PreToolUse=[group(guard)]) as runtime:
        assert runtime.warnings == ()
        for name in ("other", "third"):
            (tmp_path / name).mkdir()
            session, notices = await asked(runtime, tmp_path / name)
            found.append([one for one in notices if "is not run" in one])
            assert all("exit_code" in one for one in results(session))
    assert found == [[f"{words} accept PreToolUse asks."]] * 2


async def test_a_guard_that_fails_is_told_and_one_that_is_too_slow_too(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    broken, slow = script("print('no module', file=sys.stderr); sys.exit(1)"), "sleep 60"
    gone = "/nowhere/guard.sh"
    hooks = {"PreToolUse": [group(gone), group(broken), group(slow, timeout=0.2)]}
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        session, notices = await asked(runtime, project)
    assert [one.replace("\n", "") for one in notices[:3]] == [
        f"hook PreToolUse: {gone} failed with 127: /bin/bash: line 1: {gone}: No such file or directory",
        f"hook PreToolUse: {broken} failed with 1: no module",
        "hook PreToolUse: sleep 60 was not done in time",
    ]
    assert "exit_code" in results(session)[0]


async def test_a_formatter_runs_also_where_a_plugin_replaces_the_result(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "plugins/loud"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: loud\n")
    code = "def register(ctx):\n    ctx.register_hook('transform_tool_result', lambda result: 'LOUD')\n"
    (folder / "__init__.py").write_text(code)
    model = ScriptedModel(call("write_file", {"path": "n", "content": "x"}), say("done"))
    hooks = {"PostToolUse": [group(script(""), "Write")], "transform_tool_result": [{"command": "echo flat"}]}
    flags = {"plugins.enabled": ["loud"]}
    async with opened(environ, model, project, **hooks):
        pass
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        session, _ = await asked(runtime, project)
    assert [one["tool_name"] for one in told(tmp_path)] == ["Write"]
    assert results(session) == ["flat"]


async def test_what_has_no_place_here_is_told_at_the_start_and_the_rest_runs(
    environ: dict[str, str], project: Path, script: Write
) -> None:
    guard = script("print('not now', file=sys.stderr); sys.exit(2)")
    unheard = "if changes nothing here: it is run each time that its matcher fits, and waited for."
    hooks = {
        "PreCompact": [group("echo x")],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done?", "model": "m"}]}],
        "PreToolUse": [group(guard, "Bash", **{"if": "Bash(git *)", "statusMessage": "…"})],
    }
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        assert runtime.warnings == (
            "hook PreCompact: echo x is not run: PreCompact is no hook point here.",
            "hook Stop: a hook of the type prompt is not run: hooks of the type prompt have no place here.",
            f"hook PreToolUse: {guard}: {unheard}",
        )
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("not now")]


@pytest.mark.parametrize(
    ("hooks", "fault"),
    [
        ({"Stop": [group("true", tmeout=3)]}, "hook Stop: true is not run: it takes command, "),
        ({"Stop": [group("true", timeout="5 s")]}, "hook Stop: true is not run: timeout: expected a number"),
        ({"Stop": [{"hooks": [{"type": "command"}]}]}, "hook Stop: a hook of the type command is not run: "),
        ({"PreTool": [group("true")]}, "hook PreTool: true is not run: PreTool is no event of Claude Code's"),
        (
            {"PreToolUse": [group("true", "Bash(*.txt)")]},
            "hook PreToolUse: true is not run: its matcher Bash(*.txt) is no pattern: nothing to repeat",
        ),
    ],
)
async def test_an_entry_with_a_fault_is_left_out_and_told_and_the_rest_runs(
    environ: dict[str, str], project: Path, script: Write, hooks: dict[str, Any], fault: str
) -> None:
    guard = group(script("print('not now', file=sys.stderr); sys.exit(2)"), "^(?<kind>B)ash$")
    hooks = {**hooks, "PreToolUse": [*hooks.get("PreToolUse", []), guard]}
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, **hooks) as runtime:
        (warning,) = runtime.warnings
        session, _ = await asked(runtime, project)
    assert warning.startswith(fault)
    assert results(session) == [blocked("not now")]


async def test_a_command_of_many_lines_is_told_in_one(environ: dict[str, str], project: Path) -> None:
    command = f"cat > /dev/null\n{'# why' * 100}\nexit 2"
    model = ScriptedModel(call("terminal", {"command": "echo a"}), say("done"))
    async with opened(environ, model, project, accepted=False, PreToolUse=[group(command)]) as runtime:
        (warning,) = runtime.warnings
    async with opened(environ, model, project, PreToolUse=[group(command)]) as runtime:
        session, _ = await asked(runtime, project)
    (result,) = results(session)
    line = json.loads(result)["error"].removesuffix(" blocked it.")
    assert (line[:34], line[-6:], len(line)) == ("hook PreToolUse: cat > /dev/null #", "exit 2", 205)
    assert warning.startswith(f"{line} is not run: ")


@pytest.mark.parametrize(
    ("hooks", "fault"),
    [
        ({"Stop": [{"matcher": "x"}]}, "expected either command, or hooks as Claude Code has them"),
        ({"Stop": [{**group("true"), "command": "true"}]}, "expected either command, or hooks as"),
        ({"Stop": [{**group("true"), "timeout": 5}]}, "expected timeout and shell beside each command"),
    ],
)
async def test_a_fault_of_a_group_is_told_at_once(
    environ: dict[str, str], project: Path, hooks: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        async with opened(environ, ScriptedModel(), project, accepted=False, **hooks):
            pass
    assert fault in str(raised.value)


SCRIPT = "echo {} >&2; exit 2\n"
COMMANDS: Sequence[str] = (
    'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh',
    'sh "${CLAUDE_PROJECT_DIR}/.claude/hooks/check.sh"',
    "sh ${CLAUDE_PROJECT_DIR:-.}/.claude/hooks/check.sh",
    "bash -c '. \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh'",
    'cd "$CLAUDE_PROJECT_DIR" && sh .claude/hooks/check.sh',
    "sh .claude/hooks/check.sh",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["project", "a project"])
async def test_a_script_of_a_project_runs_as_it_was_when_it_was_accepted_there_and_nowhere_else(
    environ: dict[str, str], tmp_path: Path, command: str, name: str
) -> None:
    if " " in name and "${CLAUDE_PROJECT_DIR:-.}" in command:
        command = command.replace("${CLAUDE_PROJECT_DIR:-.}", '"${CLAUDE_PROJECT_DIR:-.}"')
    first, other = tmp_path / name, tmp_path / "other"
    hooks = {"PreToolUse": [group(command, "Bash")]}
    for folder in (first, other):
        (folder / ".claude/hooks").mkdir(parents=True)
        (folder / ".claude/hooks/check.sh").write_text(SCRIPT.format("checked"))

    async def said(folder: Path) -> str:
        model = ScriptedModel(call("terminal", {"command": "echo ran"}), say("done"))
        async with opened(environ, model, folder, accepted=False, **hooks) as runtime:
            session, _ = await asked(runtime, folder)
        (result,) = results(session)
        return next(
            (one for one in ("checked", "was changed since the user's yes") if one in result), "not run"
        )

    accept(Path(environ["HERMES_HOME"]), first, hooks)
    before = [await said(first), await said(other)]
    (first / ".claude/hooks/check.sh").write_text("touch owned\n" + SCRIPT.format("checked"))
    assert (before, await said(first)) == (["checked", "not run"], "was changed since the user's yes")
    assert not (first / "owned").exists()


def test_a_yes_elsewhere_is_told_in_the_question(tmp_path: Path) -> None:
    consent, hook = HookConsent(tmp_path / "home"), ShellHook(command="npm run lint", shell=True)
    consent.accept("PostToolUse", hook, tmp_path / "mine")
    assert [consent.covers("PostToolUse", hook, tmp_path / one) for one in ("mine", "hostile")] == [
        True,
        False,
    ]
    assert consent.news("PostToolUse", hook, tmp_path / "hostile") == "Your yes was for another project."


async def test_a_call_that_is_too_many_for_its_guards_is_not_made(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    many = "".join(f"*** Add File: {n}.txt\n+x\n" for n in range(51))
    model = ScriptedModel(call("patch", {"mode": "patch", "patch": many}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(script(""), "Write")]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) == [
        blocked("This call is 51 at once for its hooks; make it in parts of 50 at most.")
    ]
    assert (told(tmp_path), [*project.iterdir()]) == ([], [])


ODD: Sequence[tuple[str, dict[str, Any]]] = (
    ("write_file", {"path": ".env", "content": "\ud800"}),
    ("write_file", {"path": "x/../.env", "content": "x"}),
    ("write_file", {"path": "./.env", "content": float("nan")}),
    ("patch", {"mode": "patch", "patch": "*** Add File: .env\n+x"}),
    ("patch", {"mode": "patch", "patch": "*** Add File:   .env  \n+x"}),
    ("patch", {"mode": "patch", "patch": "junk\n*** Add File: a\n+x\n*** Add File: .env\n+x\n*** End Patch"}),
    ("patch", {"patch": "*** Add File: .env\n+x", "mode": "patch", "path": "other"}),
    ("execute_code", {"code": "from hermes_tools import write_file\nwrite_file('.env', 'x')"}),
)


@pytest.mark.parametrize(("tool", "arguments"), ODD, ids=range(len(ODD)))
async def test_a_protected_file_stays_away_however_a_call_names_it(
    environ: dict[str, str], project: Path, script: Write, tool: str, arguments: dict[str, Any]
) -> None:
    guard = script("if os.path.basename(given['tool_input'].get('file_path', '')) == '.env': sys.exit(2)")
    model = ScriptedModel(call(tool, arguments), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(guard, "Edit|MultiEdit|Write")]) as runtime:
        await asked(runtime, project)
    assert not (project / ".env").exists()


@pytest.mark.parametrize("tool", ["write_file", "patch", "read_file"])
async def test_a_guard_is_shown_the_file_that_a_link_leads_to(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write, tool: str
) -> None:
    (project / ".env").write_text("KEY=1\n")
    (project / "notes.txt").symlink_to(".env")
    more = {
        "write_file": {"content": "KEY=2\n"},
        "patch": {"old_string": "KEY=1", "new_string": "KEY=2"},
        "read_file": {},
    }
    guard = script(
        "if os.path.basename(given['tool_input']['file_path']) == '.env': print('kept', file=sys.stderr); sys.exit(2)"
    )
    model = ScriptedModel(call(tool, {"path": "notes.txt", **more[tool]}), say("done"))
    async with opened(environ, model, project, PreToolUse=[group(guard, "Read|Edit|Write")]) as runtime:
        session, _ = await asked(runtime, project)
    assert results(session) == [blocked("kept")]
    assert [Path(one["tool_input"]["file_path"]).name for one in told(tmp_path)] == ["notes.txt", ".env"]
    assert (project / ".env").read_text() == "KEY=1\n"


async def test_a_path_is_told_from_the_folder_that_commands_have_moved_to(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    (project / "sub").mkdir()
    model = ScriptedModel(
        call("terminal", {"command": "cd sub"}),
        call("write_file", {"path": "n", "content": "x"}),
        say("done"),
    )
    async with opened(environ, model, project, PreToolUse=[group(script(""), "Write")]) as runtime:
        await asked(runtime, project)
    (one,) = told(tmp_path)
    assert (one["tool_input"]["file_path"], one["cwd"]) == (str(project / "sub/n"), str(project / "sub"))


async def test_somebody_is_notified_that_a_person_is_waited_for(
    environ: dict[str, str], project: Path, tmp_path: Path, script: Write
) -> None:
    model = ScriptedModel(call("write_file", {"path": "~/.bashrc", "content": "x"}), say("done"))
    notify = {"Notification": [group(script(""), "permission_prompt"), group(script(""), "idle_prompt")]}
    async with opened(environ, model, project, **notify) as runtime:
        await asked(runtime, project)
    assert [one["notification_type"] for one in told(tmp_path)] == ["permission_prompt"]
    assert told(tmp_path)[0]["message"].startswith("Hermes needs your permission: ")
