"""`hermes lock` and `--locked`: what an agent is made of is written down, a change of it is named and keeps it from starting."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.conftest import Done, Run

LARGE = ("-m", "large", "--base-url", "http://127.0.0.1:9/v1")

SERVER = Path(__file__).parents[1] / "mcp_servers" / "hostile_server.py"

PROBE = """
from hermes.tools.registry import registry
registry.register("probe", "{toolset}", {{"name": "probe", "description": "{words}", "parameters": {{"type": "object"}}}}, lambda args, **keywords: "{{}}")
"""


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    found = Path(environ["HERMES_HOME"])
    (found / "tools").mkdir(parents=True)
    (found / "SOUL.md").write_text("You are calm.\n")
    return found


@pytest.fixture
def hermes(program: Run) -> Callable[..., Done]:
    return lambda *words, **more: program(*LARGE, *words, **more)


def test_a_lock_holds_until_something_changes_and_is_the_same_bytes_each_time(
    hermes: Run, home: Path, work: Path
) -> None:
    assert hermes("lock", "write").returncode == 0
    first = (work / "agent.lock").read_bytes()
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("The user likes tea.\n")
    (work / "other.txt").touch()
    assert (hermes("lock", "check").returncode, hermes("lock", "write").returncode) == (0, 0)
    assert (work / "agent.lock").read_bytes() == first
    other = work / "elsewhere"
    other.mkdir()
    assert hermes("lock", "write", cwd=other).returncode == 0
    assert (other / "agent.lock").read_bytes() == first
    parts = {"model", "prompt", "tools", "mcp", "plugins", "hooks", "skills", "policy"}
    assert set(json.loads(first)["locked"]) == parts
    rows = [line.split()[:2] for line in hermes("lock", "show").stdout.splitlines()]
    assert [one for one in rows if one[0] == "model"] == [["model", "endpoint"], ["model", "name"]]


def test_what_differs_is_named_with_the_difference_of_its_text(hermes: Run, home: Path, work: Path) -> None:
    (home / "tools" / "probe.py").write_text(PROBE.format(toolset="probes", words="Probes."))
    first = PROBE.replace("probe", "first").format(toolset="mcp-probes", words="x")
    (home / "tools" / "first.py").write_text(first)
    (home / "config.yaml").write_text("toolsets: [hermes-cli, probes, mcp-probes]\n")
    (home / "skills" / "mine").mkdir(parents=True)
    skill = home / "skills" / "mine" / "SKILL.md"
    skill.write_text("---\nname: mine\ndescription: Mine.\n---\nDo it.\n")
    hermes("lock", "write")
    assert hermes("lock", "check").returncode == 0

    (home / "SOUL.md").write_text("You are quick.\n")
    (home / "tools" / "probe.py").write_text(PROBE.format(toolset="probes", words="Probes all."))
    second = first.replace("first", "second")
    (home / "tools" / "second.py").write_text(second)
    skill.write_text("---\nname: mine\ndescription: Mine.\n---\nDo it twice.\n")
    with (home / "config.yaml").open("a") as config:
        config.write("approvals: {edits: ask}\n")
    done = hermes("lock", "check")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "changed prompt: identity: <home of Hermes>/SOUL.md",
        "changed tools: probe",
        "added mcp: second",
        "changed skills: mine",
        "changed policy: approvals",
    ]
    assert {
        "  -You are calm.",
        "  +You are quick.",
        '  - "description": "Probes.",',
        '  + "edits": "ask",',
    } <= set(lines)

    (home / "tools" / "probe.py").write_text(
        PROBE.replace('"probe"', '"other"').format(toolset="probes", words="x")
    )
    assert "removed tools: probe" in hermes("lock", "check").stdout


def test_another_model_and_yolo_are_drift(program: Run, home: Path) -> None:
    program(*LARGE, "lock", "write")
    done = program("-m", "larger", "--base-url", "http://127.0.0.1:8/v1", "--yolo", "lock", "check")
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        "changed model: endpoint",
        "changed model: name",
        "changed policy: yolo",
    ]


PLUGIN = """
def register(ctx):
    ctx.register_hook("pre_llm_call", lambda **offered: "obey")
"""


def check(hermes: Run) -> list[str]:
    """What is said not to be as it was, without the differences."""
    return [line for line in hermes("lock", "check").stdout.splitlines() if not line.startswith(" ")]


def test_a_plugin_is_part_of_an_agent_with_its_files_and_what_it_may_do(hermes: Run, home: Path) -> None:
    (home / "plugins" / "luck").mkdir(parents=True)
    (home / "plugins" / "luck" / "plugin.yaml").write_text("name: luck\nversion: '1.2'\n")
    (home / "plugins" / "luck" / "__init__.py").write_text(PLUGIN)
    hermes("lock", "write")
    hermes("plugins", "enable", "luck")
    assert check(hermes) == ["added plugins: luck"]
    assert "plugins luck" in hermes("--locked", "-z", "Hello").stderr
    hermes("lock", "write")
    assert check(hermes) == []
    (home / "plugins" / "luck" / "other.py").touch()
    assert check(hermes) == ["changed plugins: luck"]
    assert '  +  "other.py": "' in hermes("lock", "check").stdout
    hermes("lock", "write")
    (home / "config.yaml").write_text(
        "plugins: {enabled: [luck], entries: {luck: {allow_tool_override: true}}}\n"
    )
    assert check(hermes) == ["changed plugins: luck"]
    assert (
        hermes("--safe-mode", "lock", "check").stdout
        == "removed plugins: luck\nremoved hooks: hooks_auto_accept\n"
    )


def test_a_command_at_a_hook_point_is_part_of_an_agent_with_its_files_and_whether_it_runs(
    hermes: Run, home: Path
) -> None:
    script = home / "hook.sh"
    script.write_text("echo obey\n")
    command = f"sh {script}"
    hermes("lock", "write")
    (home / "config.yaml").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"command": command}]}}))
    name = "UserPromptSubmit: sh <home of Hermes>/hook.sh"
    assert check(hermes) == [f"added hooks: {name}"]
    hermes("lock", "write")
    script.write_text("echo obey all\n")
    assert check(hermes) == [f"changed hooks: {name}"]
    hermes("lock", "write")
    assert check(hermes) == []
    hermes("hooks", "test", "UserPromptSubmit", given="y\n")
    assert check(hermes) == [f"changed hooks: {name}"]
    assert {'  -  "runs": false', '  +  "runs": true'} <= set(hermes("lock", "check").stdout.splitlines())
    hermes("lock", "write")
    assert hermes("--accept-hooks", "lock", "check").stdout.startswith("changed hooks: hooks_auto_accept\n")


def test_a_command_in_the_form_of_claude_code_is_part_of_an_agent_with_its_files_in_the_project(
    hermes: Run, home: Path, work: Path
) -> None:
    (work / "check.sh").write_text("echo obey\n")
    command = 'sh "$CLAUDE_PROJECT_DIR"/check.sh'
    hermes("lock", "write")
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}
    (home / "config.yaml").write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    name = f"PreToolUse: {command}"
    assert check(hermes) == [f"added hooks: {name}"]
    hermes("lock", "write")
    (work / "check.sh").write_text("echo obey all\n")
    assert check(hermes) == [f"changed hooks: {name}"]
    hermes("lock", "write")
    hermes("hooks", "test", "PreToolUse", given="y\n")
    assert {'  -  "runs": false', '  +  "runs": true'} <= set(hermes("lock", "check").stdout.splitlines())


def test_how_a_server_is_started_and_trusted_is_part_of_an_agent(hermes: Run, home: Path) -> None:
    def configure(**more: object) -> None:
        words = ["-I", str(SERVER), "is good", str(home)]
        server = {"command": sys.executable, "args": words, **more}
        (home / "config.yaml").write_text(json.dumps({"mcp_servers": {"probe": server}}))

    configure()
    assert hermes("mcp", "test", "probe").returncode == 0
    hermes("lock", "write")
    assert check(hermes) == []
    rows = [line.split()[:3] for line in hermes("lock", "show").stdout.splitlines()]
    assert [row[1] for row in rows if row[0] == "mcp"] == ["mcp__probe__echo", "server"]
    configure(trust="full")
    assert check(hermes) == ["changed mcp: server probe"]
    configure(args=["-c", "pass"])
    assert check(hermes) == ["changed mcp: server probe"]
    (home / "config.yaml").write_text("{}")
    assert check(hermes) == ["removed mcp: server probe"]


@pytest.mark.parametrize(
    "words", [("-z", "Hello"), ("chat", "-q", "Hello"), ("chat",)], ids=["z", "q", "screen"]
)
def test_locked_starts_where_nothing_differs_and_refuses_with_a_sentence_where_something_does(
    program: Run, home: Path, words: tuple[str, ...]
) -> None:
    with ScriptedServer(ScriptedModel("Here.")).running() as server:
        options = ("-m", "large", "--base-url", server.base_url, "--locked")
        missing = program(*options, *words)
        program(*options, "lock", "write")
        good = program(*options, *words, given="" if words != ("chat",) else "Hello")
        (home / "SOUL.md").write_text("You are quick.\n")
        refused = program(*options, *words)
    assert (
        missing.returncode,
        missing.stderr.count("\n"),
        "hermes lock write makes it" in missing.stderr,
    ) == (2, 1, True)
    assert (good.returncode, good.stdout) == (0, "Here.\n")
    why = "hermes: This agent is not as agent.lock has it: prompt identity: <home of Hermes>/SOUL.md. hermes lock check shows it.\n"
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", why)


def test_a_server_for_other_agents_starts_locked_as_any_session_does(hermes: Run, home: Path) -> None:
    hermes("lock", "write")
    good = hermes("--locked", "mcp", "serve")
    (home / "SOUL.md").write_text("You are quick.\n")
    refused = hermes("--locked", "mcp", "serve")
    assert (good.returncode, refused.returncode) == (0, 2)
    assert refused.stderr.startswith("hermes: This agent is not as agent.lock has it: prompt identity")


def test_locked_goes_with_a_new_session(hermes: Run, home: Path) -> None:
    done = hermes("--locked", "-c", "-z", "Hello")
    why = "hermes: --locked goes with a new session: one that is resumed keeps the prompt and tools it began with.\n"
    assert (done.returncode, done.stderr) == (2, why)


ITEM = '{"sha256": "' + "a" * 64 + '", "text": "x"}'
HOSTILE = {
    "garbage": b"\xff\xfe\x00 no JSON",
    "empty": b"",
    "deep": b'{"version": 1, "locked": ' + b"[" * 200_000,
    "other version": b'{"version": 2, "locked": {}}',
    "other part": b'{"version": 1, "locked": {"secrets": {}}}',
    "no hash": b'{"version": 1, "locked": {"model": {"name": {"sha256": "zz"}}}}',
    "long text": b'{"version": 1, "locked": {"model": {"name": {"sha256": "'
    + b"a" * 64
    + b'", "text": "'
    + b"x" * 30_000
    + b'"}}}}',
    "long": b" " * 9_000_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_lock_that_is_none_is_told_in_one_sentence(hermes: Run, work: Path, data: bytes) -> None:
    (work / "agent.lock").write_bytes(data)
    for words in (("lock", "check"), ("--locked", "-z", "x")):
        done = hermes(*words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"hermes: {work}/agent.lock ")


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_a_lock_that_is_no_file_is_told_in_one_sentence(hermes: Run, work: Path, kind: str) -> None:
    lock = work / "agent.lock"
    {"pipe": os.mkfifo, "folder": os.mkdir, "loop": lambda path: path.symlink_to(path)}[kind](lock)
    done = hermes("--locked", "-z", "x")
    assert (done.returncode, done.stderr.count("\n"), "cannot be read" in done.stderr) == (2, 1, True)


def test_names_of_a_lock_move_no_cursor(hermes: Run, work: Path) -> None:
    name = "\\u001b[2J\\nx"
    (work / "agent.lock").write_text(f'{{"version": 1, "locked": {{"tools": {{"{name}": {ITEM}}}}}}}')
    for words in (("lock", "show"), ("lock", "check")):
        assert "\x1b" not in hermes(*words).stdout
    assert "\x1b" not in hermes("--locked", "-z", "x").stderr
