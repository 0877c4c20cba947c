"""Where a stream is closed or full, a file cannot be read, a signal comes: one sentence at most, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hermes.models.local import catalogue
from hermes.testing import ScriptedModel, ScriptedServer, call, say
from tests.apps.conftest import Run
from tests.apps.test_oneshot import wait_for

ANSWERS = (call("terminal", {"command": "echo hello"}), say("The answer."))


def shell(line: str, environ: dict[str, str], work: Path) -> subprocess.CompletedProcess[str]:
    """A line of bash in which $H is the program with a scripted model."""
    with ScriptedServer(ScriptedModel(*ANSWERS)).running() as server:
        program = f"{sys.executable} -m hermes -m fake-1 --base-url {server.base_url}"
        return subprocess.run(
            ["bash", "-c", line], cwd=work, env={**environ, "H": program},
            capture_output=True, text=True, timeout=170, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "out", "err"),
    [
        ("set -o pipefail; $H --json -z hi | head -n 1 | cut -c1-22", '{"v":1,"kind":"start",', ""),
        ("$H -z hi 2>&-", "The answer.\n", ""),
        ("$H -z hi 2>/dev/full", "The answer.\n", ""),
        ("$H -z hi >&- 2>/dev/null", "", ""),
        (
            "$H -z hi 2>&1 >/dev/full | tail -n 1",
            "hermes: The output could not be written: No space left",
            "",
        ),
        (
            "$H --json -z hi 2>&1 >/dev/full | tail -n 1",
            "hermes: The output could not be written: No space",
            "",
        ),
    ],
)
def test_a_closed_or_full_stream_is_no_inner_fault(
    environ: dict[str, str], work: Path, line: str, out: str, err: str
) -> None:
    done = shell(line, environ, work)
    assert done.stdout.startswith(out), done.stderr
    assert bool(done.stdout) == bool(out)
    assert done.stderr == err


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_end_interrupts_the_turn_and_ends_its_commands(
    environ: dict[str, str], work: Path, number: int
) -> None:
    nap = f"4071.{os.getpid()}"
    waiting = call("terminal", {"command": f"sleep {nap}"})
    with ScriptedServer(ScriptedModel(waiting)).running() as server:
        words = [sys.executable, "-m", "hermes", "-m", "fake-1", "--base-url", server.base_url]
        child = subprocess.Popen(
            [*words, "--json", "-z", "wait"], cwd=work, env={**environ, "HERMES_SANDBOX": "off"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            wait_for(lambda: nap in ran(child.pid))
            child.send_signal(number)
            out, _ = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 130
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"
    wait_for(lambda: not [one for one in psutil.process_iter(["cmdline"]) if nap in str(one.info["cmdline"])])


def ran(pid: int) -> str:
    words = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            words.append(str(one.cmdline()))
    return " ".join(words)


def test_what_cannot_be_read_or_written_is_named(run: Run, environ: dict[str, str], tmp_path: Path) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / ".env").write_bytes(b"A=\xff\n")
    told = run("config", "list")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith(f"hermes: {home}/.env cannot be read (")
    (home / ".env").unlink()
    (home / "active_profile").write_bytes(b"\xff\xfe")
    told = run("config", "list")
    assert (told.returncode, told.stderr.split(" (")[0]) == (
        2,
        f"hermes: {home}/active_profile cannot be read",
    )
    file = tmp_path / "file"
    file.write_text("no folder")
    for words in (("config", "set", "agent.max_turns", "3"), ("sessions", "list")):
        told = run(*words, HERMES_HOME=str(file))
        assert (told.returncode, told.stderr) == (2, f"hermes: {file} is no folder; HERMES_HOME names one.\n")
    below = file.parent / "gone" / "home"
    below.parent.write_text("no folder")
    told = run("sessions", "list", HERMES_HOME=str(below))
    assert (told.returncode, told.stdout) == (2, "")


def test_a_folder_that_is_gone_is_named(environ: dict[str, str], work: Path) -> None:
    line = "mkdir gone; cd gone; rmdir ../gone; $H -z hi"
    done = shell(line, environ, work)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hermes: The current directory is gone; change to another one.\n"


TOOL = """
import os
from tools.registry import registry

registry.register(
    name="keyed", toolset="own",
    schema={"name": "keyed", "description": "d", "parameters": {"type": "object", "properties": {}}},
    handler=lambda args, **kw: f"{os.getenv('OWN_API_KEY')} {os.getenv('OTHER')}",
)
"""


def test_a_key_of_the_env_file_reaches_a_tool_file_and_no_command(
    environ: dict[str, str], work: Path
) -> None:
    home = Path(environ["HERMES_HOME"])
    (home / "tools").mkdir(parents=True)
    (home / "tools" / "keyed.py").write_text(TOOL)
    (home / ".env").write_text("OWN_API_KEY=mine-4071\nOTHER=from-the-file\n")
    steps = (call("keyed", {}), call("terminal", {"command": "echo [$OWN_API_KEY] [$OTHER]"}), say("ok"))
    model = ScriptedModel(*steps)
    with ScriptedServer(model).running() as server:
        words = [sys.executable, "-m", "hermes", "-m", "fake-1", "--base-url", server.base_url]
        done = subprocess.run(
            [*words, "-t", "own,terminal", "-z", "go"], cwd=work, capture_output=True, text=True, timeout=170,
            env={**environ, "OTHER": "from-the-process"}, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.stdout == "ok\n", done.stderr
    first, second = [one["content"] for one in model.requests[-1]["messages"] if one["role"] == "tool"]
    assert "from-the-process" in first
    assert "None" not in first
    assert "[] []" in second


def test_a_deleted_session_takes_its_scratch_folder_with_it(
    run: Run, environ: dict[str, str], work: Path
) -> None:
    done = shell("$H --json -z hi | tail -n 1", environ, work)
    session = json.loads(done.stdout)["session"]
    folder = Path(environ["HERMES_HOME"]) / "scratch" / session
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output").write_text("long")
    assert run("sessions", "delete", "-y", session).returncode == 0
    assert not folder.exists()


def test_a_model_file_that_was_cut_short_is_no_model(run: Run, tmp_path: Path) -> None:
    file = catalogue.location(catalogue.default(), tmp_path / "cache" / "models")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    told = run("doctor", HERMES_CACHE=str(tmp_path / "cache"))
    assert told.returncode == 1
    assert f"✗ model: {file} has 4 of {catalogue.default().size:,} bytes; remove it" in told.stdout


def test_a_model_file_of_the_right_size_with_other_bytes_is_no_model(run: Run, tmp_path: Path) -> None:
    chosen = min(catalogue.entries(), key=lambda model: model.size)
    assert run("config", "set", "model.default", f"local/{chosen.alias}").returncode == 0
    file = catalogue.location(chosen, tmp_path / "cache" / "models")
    file.parent.mkdir(parents=True)
    with file.open("wb") as stream:
        stream.truncate(chosen.size)  # no byte of it takes room
    told = run("doctor", HERMES_CACHE=str(tmp_path / "cache"))
    assert told.returncode == 1
    assert f"✗ model: {file} is damaged: its digest is not the published one" in told.stdout
