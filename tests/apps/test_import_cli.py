"""`hermes import`, as a program: homes of other agents are shown and taken over; theirs and ours stay as they are."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.conftest import Run
from tests.apps.other_homes import SESSION, SKILL, original_home, put, seen


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    """Ours, which is not where the original's is."""
    folder = Path(environ["HOME"]) / "ours"
    environ["HERMES_HOME"] = str(folder)
    return folder


@pytest.fixture
def original(environ: dict[str, str], home: Path) -> Path:
    return original_home(Path(environ["HOME"]) / ".hermes")


def becomes(run: Run, *words: str) -> dict[str, str]:
    """What becomes of each thing, by its kind and name."""
    done = run("import", "--json", *words)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {f"{row['kind']}: {name}": row["what_happens"] for row in rows for name in row["names"]}


PLAN = {
    "settings: model.default = openrouter/anthropic/claude-sonnet-4.6": "set",
    "settings: agent.max_turns = 40": "set",
    "settings: _config_version": "not taken: no such key",
    "settings: approvals.mode": "not taken: set it yourself where you want it",
    "keys: OPENROUTER_API_KEY": "kept in .env",
    "keys: HERMES_SANDBOX": "not taken: its name is none of a key",
    "keys: openrouter main": "kept in auth.json",
    "keys: anthropic o1": "not taken: a sign-in counts once; hermes auth add anthropic signs in here",
    f"sessions: {SESSION}": "stored, with the folder where this runs",
    "skills: limerick": "installed",
    "memory: MEMORY.md: The sky is blue.": "added to MEMORY.md",
    "memory: MEMORY.md: The user likes tea.": "added to MEMORY.md",
    "mcp: files": "added: npx -y server",
    "soul: SOUL.md": "copied to SOUL.md",
    "cron: daily": "kept in imported/cron.json, not run: there are no schedules here",
    "plugins: clock": "copied to imported/plugins, not enabled",
}


def test_a_dry_run_shows_what_would_be_taken_over_and_takes_nothing(
    run: Run, original: Path, home: Path
) -> None:
    assert becomes(run, "--dry-run") == PLAN
    assert {one.name for one in home.iterdir()} == {"cache", "skills"}


def test_what_was_taken_over_is_here_in_our_forms_and_theirs_is_as_it_was(
    run: Run, original: Path, home: Path
) -> None:
    before = seen(original)
    done = run("import", "-y")
    assert done.returncode == 0
    assert done.stderr == (
        "Taken over: 2 settings, 2 keys, 1 skills, 2 memory, 1 mcp, 1 soul, 1 cron, 1 plugins, 1 sessions.\n"
    )
    assert seen(original) == before
    assert "sk-or" not in done.stdout + done.stderr
    assert "very-secret" not in done.stdout + done.stderr + (home / "config.yaml").read_text()
    assert (home / ".env").read_text().splitlines() == [
        "OPENROUTER_API_KEY='sk-or-1'",
        "MCP_FILES_API_TOKEN='very-secret-1'",
    ]
    assert run("config", "get", "model.default").stdout == "openrouter/anthropic/claude-sonnet-4.6\n"
    assert [*json.loads((home / "auth.json").read_text())["providers"]] == ["openrouter"]
    assert (home / "SOUL.md").read_text() == "You are terse.\n"
    assert (home / "skills" / "writing" / "limerick" / "SKILL.md").read_text() == SKILL
    assert json.loads((home / "imported" / "cron.json").read_text()) == {
        "jobs": [{"id": "a1", "name": "daily"}]
    }
    assert (home / "imported" / "plugins" / "clock" / "plugin.yaml").read_text() == "name: clock\n"
    assert "after text from hermes import" in run("memory", "show", "sky").stdout
    shown = run("sessions", "show", SESSION).stdout
    assert [part in shown for part in ("# Trip", "What is here?", "`ls`", "a.txt", "One file.")] == [True] * 5


def test_a_session_that_was_taken_over_goes_on_with_our_prompt_and_tools(run: Run, original: Path) -> None:
    run("import", "-y", "--only", "settings,sessions")
    model = ScriptedModel(say("It is a.txt."))
    with ScriptedServer(model).running() as server:
        words = ("--base-url", server.base_url, "--model", "any", "-r", SESSION, "-z", "Which one?")
        done = run(*words)
    assert (done.stdout, done.returncode) == ("It is a.txt.\n", 0), done.stderr
    asked = model.requests[0]
    roles = [one["role"] for one in asked["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert {"terminal", "delegate_task"} <= {one["function"]["name"] for one in asked["tools"]}
    assert SESSION in run("sessions", "search", "a.txt").stdout


def test_a_second_import_adds_nothing(run: Run, original: Path, home: Path) -> None:
    run("import", "-y")
    before = seen(home)
    plan = becomes(run, "-y")
    taken = {name: told for name, told in plan.items() if not told.startswith(("already here", "not taken"))}
    assert taken == {"plugins: clock": "kept yours"}
    assert seen(home) == before


def test_what_is_here_already_stays(run: Run, original: Path, home: Path) -> None:
    ours = {
        "config.yaml": "model:\n  default: local\nmcp_servers:\n  files: {command: mine}\n",
        ".env": "OPENROUTER_API_KEY=mine\n",
        "SOUL.md": "Mine.\n",
        "skills/limerick/SKILL.md": SKILL.replace("Five", "Six"),
    }
    put(home, ours)
    plan = becomes(run, "-y")
    assert [name for name, told in plan.items() if told == "kept yours"] == [
        "settings: model.default",
        "keys: OPENROUTER_API_KEY",
        "skills: limerick",
        "mcp: files",
        "soul: SOUL.md",
    ]
    assert run("config", "get", "model.default").stdout == "local\n"
    assert "command: mine" in (home / "config.yaml").read_text()
    assert {name: (home / name).read_text() for name in ours if name != "config.yaml"} == {
        name: text for name, text in ours.items() if name != "config.yaml"
    }


def test_only_the_kinds_that_are_named_are_taken(run: Run, original: Path) -> None:
    plan = becomes(run, "--dry-run", "--only", "soul,cron")
    assert Counter(name.partition(":")[0] for name in plan) == {"soul": 1, "cron": 1}
    assert "--only knows no 'spirit'" in run("import", "--only", "spirit").stderr


def test_without_an_answer_nothing_is_taken(run: Run, original: Path, home: Path) -> None:
    assert run("import").returncode == 2
    assert run("import", given="n\n").stderr == "Nothing was changed.\n"
    assert not (home / "SOUL.md").exists()


def test_where_nothing_is_found_that_is_said(run: Run, home: Path, work: Path) -> None:
    assert run("import").stderr == (
        "hermes: No home of another agent was found; hermes import FOLDER takes over a folder.\n"
    )
    assert "--from says whose it is" in run("import", str(work)).stderr


SERVERS = {
    "claude": {
        ".claude/CLAUDE.md": "Be brief.\n",
        ".claude.json": json.dumps(
            {
                "numStartups": 3,
                "mcpServers": {
                    "local": {"type": "stdio", "command": "npx", "args": ["a"], "env": {"X_API_KEY": "s1"}},
                    "far": {
                        "type": "http",
                        "url": "https://a.example/mcp",
                        "headers": {"Authorization": "Bearer s2"},
                    },
                },
            }
        ),
    },
    "codex": {
        ".codex/AGENTS.md": "Be brief.\n",
        ".codex/auth.json": '{"OPENAI_API_KEY": "sk-proj-1", "tokens": {"access_token": "t"}}',
        ".codex/config.toml": '[mcp_servers.local]\ncommand = "npx"\nargs = ["a"]\nenv = {X_API_KEY = "s1"}\n'
        '[mcp_servers.far]\nurl = "https://a.example/mcp"\nbearer_token_env_var = "FAR_TOKEN"\n',
    },
    "gemini": {
        ".gemini/GEMINI.md": "Be brief.\n",
        ".gemini/settings.json": json.dumps(
            {
                "mcpServers": {
                    "local": {
                        "command": "npx",
                        "args": ["a"],
                        "env": {"X_API_KEY": "$KEY"},
                        "timeout": 5000,
                        "trust": True,
                    },
                    "far": {"httpUrl": "https://a.example/mcp", "excludeTools": ["rm"]},
                }
            }
        ),
    },
    "opencode": {
        ".config/opencode/AGENTS.md": "Be brief.\n",
        ".config/opencode/opencode.json": """{
          // servers
          "mcp": {
            "local": {"type": "local", "command": ["npx", "a"], "environment": {"X_API_KEY": "{env:KEY}"}},
            "far": {"type": "remote", "url": "https://a.example/mcp", "enabled": false,},
          },
        }""",
    },
    "openclaw": {
        ".openclaw/workspace/AGENTS.md": "Be brief.\n",
        ".openclaw/workspace/SOUL.md": "You are a lobster.\n",
        ".openclaw/openclaw.json": """{
          gateway: { bind: 'loopback' },  // of its own
          mcp: { servers: { local: { command: "npx", args: ["a"] },
            far: { url: "https://a.example/mcp", transport: "streamable-http" } } },
        }""",
    },
}
"""Homes of other agents, by their paths in the user's folder."""


@pytest.mark.parametrize("agent", SERVERS)
def test_servers_of_other_agents_are_added_in_our_words(
    agent: str, run: Run, home: Path, environ: dict[str, str]
) -> None:
    put(Path(environ["HOME"]), SERVERS[agent])
    done = run("import", "-y")
    assert (done.returncode, "Taken over: " in done.stderr) == (0, True)
    rows = [json.loads(line) for line in run("mcp", "list", "--json").stdout.splitlines()]
    assert [(row["name"], row["trust"], row["network"], row["where"]) for row in rows] == [
        ("far", "ask", "address", "https://a.example/mcp"),
        ("local", "ask", "none", "npx a"),
    ]
    assert "Bearer s2" not in (home / "config.yaml").read_text()
    assert "only named" in done.stdout


GUARD = {"matcher": "Bash", "hooks": [{"type": "command", "command": "sh ~/.claude/guard.sh", "timeout": 5}]}
ASKS = {"hooks": [{"type": "prompt", "prompt": "Is it done?"}]}
HOOKS = {
    "PreToolUse": [GUARD, {"matcher": "Write", "hooks": [{"type": "command", "command": "echo w"}]}],
    "Stop": [ASKS, {"hooks": [{"type": "command", "command": "echo s"}]}],
    "SubagentStop": [ASKS],
    "PreCompact": [{"hooks": [{"type": "command", "command": "echo c"}]}],
    "SessionEnd": [{"hooks": "none"}],
    "Later": [GUARD],
}


def test_hooks_of_claude_code_are_added_in_their_form_beside_ours_and_run_only_after_a_yes(
    run: Run, home: Path, environ: dict[str, str]
) -> None:
    settings = Path(environ["HOME"]) / ".claude" / "settings.json"
    put(settings.parent, {"settings.json": json.dumps({"hooks": HOOKS, "model": "opus"})})
    put(home, {"config.yaml": "hooks:\n  Stop:\n  - command: 'true'  # mine\n"})
    rest = becomes(run, "--dry-run", "--only", "settings")
    assert rest == {"settings: settings.json": "not taken: model; what a session may do, our own rules say"}
    plan = becomes(run, "--dry-run", "--only", "hooks")
    assert plan.pop("hooks: Later").startswith(
        "not taken: none of them can be run here: Later is no event of Claude Code's form; "
    )
    expected = {
        "hooks: PreToolUse": "added, not run before your yes: sh ~/.claude/guard.sh; echo w",
        "hooks: Stop": "added, not run before your yes: echo s",
        "hooks: SubagentStop": "not taken: none of them can be run here: hooks of the type prompt have no"
        " place here",
        "hooks: PreCompact": "not taken: none of them can be run here: PreCompact is no hook point here",
        "hooks: SessionEnd": "not taken: Expected `array | null`, got `str` - at `$[0].hooks`",
    }
    assert plan == expected
    done = run("import", "-y")
    assert (done.returncode, done.stderr) == (0, "Taken over: 4 hooks.\n")
    assert "# mine" in (home / "config.yaml").read_text()
    rows = [json.loads(line) for line in run("hooks", "list", "--json").stdout.splitlines()]
    waits = "waits for your yes"
    assert sorted(
        (row["hook"], row["command"], row["matcher"], row["time"], row["state"]) for row in rows
    ) == [
        ("PreToolUse", "echo w", "Write", "600 s", waits),
        ("PreToolUse", "sh ~/.claude/guard.sh", "Bash", "5 s", waits),
        (
            "Stop",
            "a hook of the type prompt",
            "",
            "",
            "never runs: hooks of the type prompt have no place here",
        ),
        ("Stop", "echo s", "", "600 s", waits),
        ("Stop", "true", "", "60 s", waits),
    ]
    assert [becomes(run, "-y")[f"hooks: {name}"] for name in ("PreToolUse", "Stop")] == ["already here"] * 2
    off = {"hooks": {"Stop": [GUARD]}, "disableAllHooks": True}
    settings.write_text(json.dumps(off))
    assert becomes(run, "-y", "--only", "hooks") == {"hooks: Stop": "not taken: they are switched off there"}


def test_what_lies_in_the_folder_of_an_agent_in_a_project_is_found(
    run: Run, home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    servers = {"mcpServers": {"tracker": {"command": "tracker"}}}
    put(project, {".mcp.json": json.dumps(servers)})
    put(project / ".claude", {"settings.json": json.dumps({"hooks": {"PreToolUse": [GUARD]}})})
    plan = becomes(run, str(project), "--from", "claude", "--dry-run", "--only", "hooks,mcp")
    assert plan["hooks: PreToolUse"] == "added, not run before your yes: sh ~/.claude/guard.sh"
    assert [name for name in plan if name.startswith("mcp")] == ["mcp: tracker"]


def test_homes_of_several_agents_are_taken_over_together(
    run: Run, home: Path, original: Path, environ: dict[str, str]
) -> None:
    for files in SERVERS.values():
        put(Path(environ["HOME"]), files)
    done = run("import", "--dry-run", "--json", "--only", "mcp")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    added = [(row["from"], *row["names"]) for row in rows if row["what_happens"].startswith("added")]
    assert added == [("hermes", "files"), ("openclaw", "local"), ("openclaw", "far")]
    assert {row["from"] for row in rows if "openclaw has one, too" in row["what_happens"]} == {
        "codex",
        "opencode",
        "gemini",
        "claude",
    }


def test_what_leads_elsewhere_never_ends_or_is_damaged_harms_nothing(
    run: Run, home: Path, work: Path, environ: dict[str, str]
) -> None:
    secret = Path(environ["HOME"]) / "secret"
    secret.write_text("the secret\n")
    put(work, {"memories/USER.md": "§\n", "state.db": "SQLite format 3\0 and nothing more" * 100})
    put(work, {"config.yaml": "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(9))})
    (work / "SOUL.md").symlink_to(secret)
    os.mkfifo(work / ".env")
    (work / "skills").symlink_to(secret.parent)
    (work / "plugins" / "bad").mkdir(parents=True)
    (work / "plugins" / "bad" / "key").symlink_to(secret)
    (work / "cron").mkdir()
    (work / "cron" / "jobs.json").write_bytes(b"\xff[")
    done = run("import", str(work), "-y", "--from", "hermes")
    assert done.stderr == "Taken over: 1 plugins.\n"
    assert list((home / "imported" / "plugins" / "bad").iterdir()) == []
    assert "the secret" not in done.stdout
    assert not {"SOUL.md", ".env", "sessions"} & {one.name for one in home.iterdir()}
