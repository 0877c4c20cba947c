import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, call, fail, say
from tests.apps.conftest import Run


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("milk\nbread\n")
    return folder


def ask(run: Run, model: ScriptedModel, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    with ScriptedServer(model).running() as server:
        return run(*arguments, "--base-url", server.base_url, **more)


def test_the_answer_alone_is_on_stdout_and_the_steps_on_stderr(run: Run) -> None:
    done = ask(
        run, ScriptedModel(call("read_file", {"path": "notes.txt"}, text="Let me look."), say("Milk and bread.")), "-z", "what do I need?"
    )
    assert (done.returncode, done.stdout) == (0, "Milk and bread.\n")
    assert "read" in done.stderr
    assert "notes.txt" in done.stderr


def test_stdin_is_added_to_the_question(run: Run) -> None:
    model = ScriptedModel("ok")
    ask(run, model, "-z", "sum up", given="line one\nline two\n")
    assert model.requests[0]["messages"][-1]["content"] == "sum up\n\nline one\nline two\n"


def test_stdin_alone_is_a_question(run: Run) -> None:
    model = ScriptedModel("ok")
    assert ask(run, model, given="hello").stdout == "ok\n"


def test_no_question_at_all_is_a_usage_error(run: Run) -> None:
    done = run("-z", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no question" in done.stderr


def test_a_refused_key_fails_at_once_with_the_provider_s_own_words(run: Run) -> None:
    started = time.monotonic()
    done = ask(run, ScriptedModel(fail(401, "Incorrect API key provided")), "-z", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the key was refused (401): Incorrect API key provided" in done.stderr
    assert "http://127.0.0.1:" in done.stderr
    assert time.monotonic() - started < 10


def test_a_dead_address_is_named_and_each_retry_is_told(run: Run) -> None:
    run("config", "set", "model.max_retries", "1")
    done = run("-z", "hi", "--base-url", "http://127.0.0.1:9/v1")
    assert (done.returncode, done.stdout) == (1, "")
    retry, failure, address, fix = done.stderr.splitlines()
    assert retry.startswith("no connection · http://127.0.0.1:9/v1")
    assert retry.endswith("try 1 of 1")
    assert failure == "✗ no connection: the server cannot be reached"
    assert address.strip() == "http://127.0.0.1:9/v1"
    assert fix.strip().startswith("Check that the server runs")


def test_what_needs_an_approval_is_refused_and_said_and_has_its_exit_code(run: Run, work: Path) -> None:
    done = ask(
        run,
        ScriptedModel(call("terminal", {"command": "rm -rf ./notes.txt ../work/*"}), say("I could not delete it.")),
        "-z",
        "delete everything",
    )
    assert (done.returncode, done.stdout) == (3, "I could not delete it.\n")
    assert "rm -rf" in done.stderr
    assert (work / "notes.txt").exists()


def test_yolo_lets_it_run(run: Run, work: Path) -> None:
    done = ask(run, ScriptedModel(call("terminal", {"command": "rm -rf ./notes.txt"}), say("Gone.")), "--yolo", "-z", "delete it")
    assert (done.returncode, done.stdout) == (0, "Gone.\n")
    assert not (work / "notes.txt").exists()


def test_the_step_limit_has_its_exit_code(run: Run) -> None:
    step = call("read_file", {"path": "notes.txt"})
    last = say("That is all I did.", breaks_prefix=True)
    done = ask(run, ScriptedModel(step, last), "-z", "go", "--max-turns", "1")
    assert (done.returncode, done.stdout) == (4, "That is all I did.\n")


def test_a_fault_before_the_turn_ends_the_json_lines_too(run: Run) -> None:
    done = run("--json", "-z", "hi", "-m", "nosuch/model")
    assert (done.returncode, [json.loads(line)["kind"] for line in done.stdout.splitlines()]) == (2, ["error", "end"])
    assert json.loads(done.stdout.splitlines()[0])["message"] in done.stderr


def test_json_lines_are_few_versioned_and_end_with_end(run: Run) -> None:
    done = ask(run, ScriptedModel(call("read_file", {"path": "notes.txt"}), say("Milk.", size=100)), "--json", "-z", "what?")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["kind"] for line in lines] == ["start", "usage", "tool_start", "tool_end", "text", "usage", "end"]
    assert {line["v"] for line in lines} == {1}
    assert lines[2]["arguments"] == {"path": "notes.txt"}
    end = lines[-1]
    assert (end["status"], end["answer"], end["tokens"], end["session"]) == (
        "done",
        "Milk.",
        {"input": 200, "output": 20, "cached": 160},
        lines[0]["session"],
    )


def test_a_resumed_session_goes_on_with_the_same_log(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", "two")).running() as server:
        run("-z", "first", "--base-url", server.base_url)
        done = run("-c", "-z", "second", "--base-url", server.base_url)
    assert done.stdout == "two\n"
    assert [message["content"] for message in server.model.requests[1]["messages"][1:]] == ["first", "one", "second"]
    listed = run("sessions", "list")
    assert listed.stdout.split()[3:] == ["4", "first"]
    assert run("sessions", "show").stdout.split("## ")[1:] == [
        "User\n\nfirst\n\n",
        "Hermes\n\none\n\n",
        "User\n\nsecond\n\n",
        "Hermes\n\ntwo\n",
    ]
    name = listed.stdout.split()[0]
    assert run("sessions", "rename", name[:15], "My", "talk").stdout == f"{name}: My talk\n"
    assert len(run("sessions", "export", "my talk", "--format", "jsonl").stdout.splitlines()) == 4
    assert name in run("sessions", "search", "second").stdout
    assert run("sessions", "delete", "My talk", "--yes").stdout == f"{name} is deleted.\n"
    assert run("sessions", "show", name).returncode == 1


def test_an_interrupt_ends_with_130_and_leaves_nothing_running(environ: dict[str, str], work: Path) -> None:
    with ScriptedServer(ScriptedModel(call("terminal", {"command": "sleep 4321 & sleep 4321"}), say("never"))).running() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "-z", "sleep", "--base-url", server.base_url],
            cwd=work,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: "sleep\x004321" in commands())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "")
    assert "stopped" in err
    wait_for(lambda: "sleep\x004321" not in commands())


def wait_for(condition: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def commands() -> str:
    return "".join(_commands())


def _commands() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text()
        except OSError:
            continue


def test_errors_are_one_sentence_and_a_traceback_only_with_debug(run: Run) -> None:
    done = run("-z", "hi", "--model", "opnrouter/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "hermes: There is no provider 'opnrouter'. Did you mean openrouter? hermes models list shows them; for your own server give --base-url.\n"
    )
    assert "Traceback" in run("-z", "hi", "--model", "opnrouter/x", "--debug").stderr


def test_bad_settings_are_told_all_at_once_with_their_lines(run: Run, environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("agent:\n  max_turns: many\nterminal:\n  sandbox: maybe\n")
    done = run("-z", "hi")
    assert done.returncode == 2
    assert "config.yaml line 2: agent.max_turns is 'many': expected a whole number, got text." in done.stderr
    assert "config.yaml line 4: terminal.sandbox is 'maybe'" in done.stderr


def test_config_knows_where_each_value_comes_from(run: Run) -> None:
    assert "from:    default" in run("config", "explain", "agent.max_turns").stdout
    assert run("config", "set", "agent.max_turns", "12").returncode == 0
    assert "agent.max_turns = 12\n  from:    config.yaml line 2" in run("config", "explain", "agent.max_turns").stdout
    assert "from:    HERMES_MAX_ITERATIONS" in run("config", "explain", "agent.max_turns", HERMES_MAX_ITERATIONS="5").stdout
    assert "did you mean agent.max_turns?" in run("config", "get", "agent.max_turn").stderr


def test_a_secret_goes_to_the_env_file_readable_by_its_owner_alone(run: Run, environ: dict[str, str]) -> None:
    assert run("config", "set", "OPENROUTER_API_KEY", "sk-test").returncode == 0
    path = Path(environ["HERMES_HOME"]) / ".env"
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "OPENROUTER_API_KEY='sk-test'\n")
    assert "openrouter/…" in run("models", "list").stdout


def test_tools_list_shows_tools_and_files_that_failed(run: Run, environ: dict[str, str]) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text("import nowhere\nregistry.register(name='x')\n")
    done = run("tools", "list")
    assert done.returncode == 0
    assert {"terminal", "process", "read_file", "write_file", "patch", "search_files", "todo"} <= {
        line.split()[0] for line in done.stdout.splitlines()
    }
    assert "broken.py could not be loaded: ModuleNotFoundError: No module named 'nowhere'" in done.stderr


def test_doctor_reads_only_and_its_exit_code_says_it(run: Run, environ: dict[str, str], work: Path) -> None:
    before = sorted(Path(environ["HOME"]).rglob("*"))
    done = run("doctor", "--help")
    assert done.returncode == 0
    well = run("doctor")
    assert well.returncode == 0, well.stdout
    assert sorted(Path(environ["HOME"]).rglob("*")) == before
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "sessions.db").write_text("no database" * 500)
    ill = run("doctor")
    assert ill.returncode == 1
    assert "is damaged" in ill.stdout
