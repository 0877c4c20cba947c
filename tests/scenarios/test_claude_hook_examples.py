"""A whole `hooks` of a settings.json, pasted into config.yaml as it is, with the kinds of hooks that people have."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult, User

pytestmark = pytest.mark.anyio
PYTHON = sys.executable
PASTED = {
    "PreToolUse": [
        {
            "matcher": "Bash",
            "hooks": [
                {"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/no-rm.py"},
                {
                    "type": "command",
                    "command": f"{PYTHON} .claude/hooks/log.py >> $CLAUDE_PROJECT_DIR/commands.log",
                },
            ],
        },
        {
            "matcher": "Edit|MultiEdit|Write",
            "hooks": [
                {
                    "type": "command",
                    "command": f'{PYTHON} -c "import json, sys; '
                    "path = json.load(sys.stdin).get('tool_input', {}).get('file_path', ''); "
                    "sys.exit(2 if any(part in path for part in ['.env', 'package-lock.json', '.git/']) else 0)\"",
                }
            ],
        },
    ],
    "PostToolUse": [
        {
            "matcher": "Edit|MultiEdit|Write",
            "hooks": [
                {
                    "type": "command",
                    "command": 'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/tidy.sh',
                    "timeout": 20,
                }
            ],
        }
    ],
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"{PYTHON} .claude/hooks/prompt.py"}]}],
    "Notification": [{"matcher": "", "hooks": [{"type": "command", "command": "cat > asked.json"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": f"{PYTHON} .claude/hooks/tests_first.py"}]}],
    "SessionStart": [
        {
            "matcher": "startup",
            "hooks": [{"type": "command", "command": "echo Open tasks: $(cat tasks.txt)"}],
        },
        {"matcher": "compact", "hooks": [{"type": "command", "command": "echo never"}]},
    ],
}
SCRIPTS = {
    "no-rm.py": f"""#!{PYTHON}
import json, re, sys
words = json.load(sys.stdin)["tool_input"].get("command", "")
if re.search(r"\\brm\\s+(-[a-z]*[rf][a-z]*\\s*)+", words):
    print(json.dumps({{"hookSpecificOutput": {{"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "Move it to the bin."}}}}))
""",
    "log.py": """import json, sys
given = json.load(sys.stdin)
print(given["tool_name"], given["tool_input"]["command"], sep=": ")
""",
    "tidy.sh": """file=$(sed 's/.*"file_path":"\\([^"]*\\)".*/\\1/')
case "$file" in
  *.py) sed -i 's/[ ]*$//' "$file"; grep -q 'import \\*' "$file" && { echo "name what you import" >&2; exit 2; };;
esac
exit 0
""",
    "prompt.py": """import json, sys
if "password" in json.load(sys.stdin)["prompt"]:
    print(json.dumps({"decision": "block", "reason": "No passwords here."}))
else:
    print("Answer briefly.")
""",
    "tests_first.py": """import json, pathlib, sys
if not json.load(sys.stdin)["stop_hook_active"] and not pathlib.Path("tested").exists():
    print("Run the tests first.", file=sys.stderr)
    sys.exit(2)
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    hooks = tmp_path / "project/.claude/hooks"
    hooks.mkdir(parents=True)
    for name, text in SCRIPTS.items():
        (hooks / name).write_text(text)
        (hooks / name).chmod(0o755)
    (tmp_path / "project/tasks.txt").write_text("write docs")
    return tmp_path / "project"


@asynccontextmanager
async def opened(environ: dict[str, str], model: ScriptedModel, project: Path) -> AsyncIterator[Runtime]:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    pasted = json.dumps({"hooks": PASTED}, indent=2)[1:-1]  # as it stands in settings.json, within its braces
    (home / "config.yaml").write_text(f"{{{pasted}, 'terminal': {{'cwd': {str(project)!r}}}}}\n")
    flags = {"hooks_auto_accept": True}
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        assert runtime.warnings == ()
        yield runtime


async def asked(runtime: Runtime, project: Path, text: str = "go") -> Session:
    chosen = SessionOptions(
        base_url="http://127.0.0.1:1/v1",
        model="m",
        toolsets=("file", "terminal"),
        cwd=project,
        attended=False,
    )
    session = await runtime.session(chosen)
    await session.send(text)
    await session.close()
    return session


def results(session: Session) -> list[dict[str, object]]:
    return [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]


def added(session: Session) -> list[str]:
    return [one.text for message in session.log if isinstance(message, User) for one in message.blocks]


async def test_guards_of_commands_and_files_hold_and_a_log_has_what_was_tried(
    environ: dict[str, str], project: Path
) -> None:
    patch = "*** Add File: ok.txt\n+x\n*** Add File: web/package-lock.json\n+{}\n"
    model = ScriptedModel(
        call("terminal", {"command": "rm -fr build"}),
        call("terminal", {"command": "echo fine"}),
        call("write_file", {"path": ".env.local", "content": "x"}),
        call("patch", {"mode": "patch", "patch": patch}),
        say("done"),
        say("really"),
    )
    async with opened(environ, model, project) as runtime:
        session = await asked(runtime, project)
    first, second, *files = results(session)
    assert first == {"error": "Move it to the bin."}
    assert second["exit_code"] == 0
    assert [str(one["error"]).endswith("blocked it.") for one in files] == [True, True]
    assert (project / "commands.log").read_text() == "Bash: rm -fr build\nBash: echo fine\n"
    assert [(project / name).exists() for name in (".env.local", "ok.txt", "web")] == [False] * 3


async def test_a_file_is_tidied_after_each_change_and_the_model_hears_what_is_wrong_with_it(
    environ: dict[str, str], project: Path
) -> None:
    (project / "a.py").write_text("x = 1\n")
    patch = "*** Update File: a.py\n@@\n-x = 1\n+x = 2   \n*** Add File: b.py\n+from a import *\n"
    model = ScriptedModel(call("patch", {"mode": "patch", "patch": patch}), say("done"), say("really"))
    async with opened(environ, model, project) as runtime:
        session = await asked(runtime, project)
    assert results(session)[0]["hook"] == "name what you import"
    assert (project / "a.py").read_text() == "x = 2\n"


async def test_context_at_the_start_and_the_prompt_and_a_stop_that_wants_tests(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(say("done"), say("tested"))
    async with opened(environ, model, project) as runtime:
        session = await asked(runtime, project)
    assert added(session) == ["Open tasks: write docs\nAnswer briefly.", "Run the tests first."]
    (project / "tested").touch()
    again = ScriptedModel(say("done"))
    async with opened(environ, again, project) as runtime:
        await asked(runtime, project)
    assert len(again.requests) == 1


async def test_a_prompt_with_a_password_is_never_sent_and_a_question_is_told(
    environ: dict[str, str], project: Path
) -> None:
    model = ScriptedModel(
        call("write_file", {"path": "~/.bashrc", "content": "x"}), say("done"), say("really")
    )
    async with opened(environ, model, project) as runtime:
        await asked(runtime, project, "my password is x")
        assert model.requests == []
        await asked(runtime, project)
    told = json.loads((project / "asked.json").read_text())
    assert (told["hook_event_name"], told["cwd"]) == ("Notification", str(project))
    assert told["message"].startswith("Hermes needs your permission: ")
