"""`hermes sandbox`, as a program: what confines commands here, and running one confined."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from hermes.environments.process_tree import MARKER
from hermes.lib.resources import resources_in_force
from tests.apps.conftest import Run


@pytest.fixture
def run(run: Run) -> Run:
    """The program's sandbox command, with a closed pipe on stdin when nothing is given."""
    return lambda *arguments, given="", **more: run("sandbox", *arguments, given=given, **more)


def test_a_command_runs_with_its_own_streams_input_and_exit_code(run: Run) -> None:
    done = run("run", "--", "cat; echo oops >&2; exit 7", given="words\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "words\n", "oops\n")
    assert run("run", "--", "kill -TERM $$").returncode == 143


def test_several_words_are_one_command_with_its_spaces_and_options_kept(run: Run, work: Path) -> None:
    assert run("run", "touch", "-a", "my file").returncode == 0
    assert [path.name for path in work.iterdir()] == ["my file"]


@pytest.fixture
def inner(work: Path) -> dict[str, str]:
    """A home inside the workspace, so that only its own rules keep it safe."""
    home = work / "home"
    for name in (".ssh/id_ed25519", ".hermes/.env", ".netrc", ".bashrc"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("A_TOKEN=canary\n")
    return {"HOME": str(home), "HERMES_HOME": str(home / ".hermes")}


def test_it_writes_in_the_workspace_and_not_what_starts_later(
    run: Run, work: Path, inner: dict[str, str]
) -> None:
    done = run("run", "--", "echo a > in.txt; echo b >> ~/.bashrc", **inner)
    assert (done.returncode, (work / "in.txt").read_text(), (work / "home/.bashrc").read_text()) == (
        1,
        "a\n",
        "A_TOKEN=canary\n",
    )
    assert ".bashrc: Read-only file system" in done.stderr


def test_it_sees_no_credentials(run: Run, inner: dict[str, str]) -> None:
    done = run(
        "run",
        "--",
        "cat ~/.ssh/* ~/.hermes/.env ~/.netrc; env; head -c 7 ~/.bashrc",
        B_TOKEN="canary",
        **inner,
    )
    assert "canary" not in done.stdout
    assert "PATH=" in done.stdout
    assert done.stdout.endswith("A_TOKEN")


def test_it_enters_folders_of_others_that_it_names_and_status_lists_them(
    run: Run, work: Path, inner: dict[str, str]
) -> None:
    downloads = work / "home" / "Downloads"
    downloads.mkdir()
    (downloads / "page.txt").write_text("words\n")
    unseen, seen = (
        run("run", "--", "cat ~/Down*s/p*", **inner),
        run("run", "--", "cat ~/Downloads/p*", **inner),
    )
    status = run("status", **inner).stdout.splitlines()
    assert (unseen.stdout, unseen.returncode, seen.stdout) == ("", 1, "words\n")
    assert f"  closed     {downloads}" in status
    assert json.loads(run("status", "--json", **inner).stdout)["closed"] == [str(downloads)]


def test_the_network_is_there_only_when_asked_for_or_set(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert run("run", "--", reach).returncode == 1
        assert run("run", "--network", "--", reach).returncode == 0


def test_the_setting_that_opens_the_network_counts(run: Run, environ: dict[str, str]) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir()
    config.write_text("terminal: {network: true}\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert run("run", "--", f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}").returncode == 0
    assert "  network    open, by terminal.network (config.yaml line 1)\n" in run("status").stdout


def test_ctrl_c_ends_it_and_everything_in_it(environ: dict[str, str], work: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "hermes",
        "sandbox",
        "run",
        "--",
        "echo ready; trap '' INT; sleep 30; echo done > late.txt",
    ]
    with subprocess.Popen(
        words, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            os.killpg(running.pid, signal.SIGINT)
            assert running.stdout.read() == b""  # whoever was in it has let go of its output
            assert running.wait(10) == 130
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_an_interrupted_command_planted_is_moved_aside(
    environ: dict[str, str], work: Path, how: signal.Signals
) -> None:
    command = "git init -q .; git config core.fsmonitor 'touch sprung; false'; touch planted; sleep 60"
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "hermes", "sandbox", "run", "--", command],
        cwd=work,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not (work / "planted").exists():
            time.sleep(0.02)
        process.send_signal(how)
        told = process.communicate()[1]
    assert "fsmonitor" in told
    assert (work / ".git" / "config.taken").exists()
    assert "fsmonitor" not in (work / ".git" / "config").read_text()


def test_nothing_is_left_behind(run: Run, environ: dict[str, str], tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert (
        run(
            "run", "--", "echo x > /tmp/x; mkdir -p /tmp/y; chmod 500 /tmp/y", TMPDIR=str(temporary)
        ).returncode
        == 0
    )
    assert run("status", TMPDIR=str(temporary)).returncode == 0
    assert (list(temporary.iterdir()), Path(environ["HERMES_HOME"]).exists()) == ([], False)


def test_status_says_what_is_enforced_and_what_is_not(run: Run, work: Path, inner: dict[str, str]) -> None:
    lines = run("status", **inner).stdout.splitlines()
    assert lines[0] == "✓ every command is confined, unless a yes lets it out"
    assert lines[1].startswith("  program    bubblewrap, /")
    assert [line[13:].removeprefix(str(work)) for line in lines if str(work) in line] == [
        "",
        "/home/.bashrc",
        "/home/.netrc",
        "/home/.ssh",
        "/home/.hermes",
    ]
    assert f"  read-only  {work}/home/.bashrc" in lines
    assert "  network    none; a command that needs it asks, and a yes opens it" in lines
    assert [line[:8] for line in lines[-2:]] == ["  not   ", "  not   "]


def test_status_is_one_object_for_programs_with_every_layer(run: Run) -> None:
    told = json.loads(run("status", "--json").stdout)
    assert (told["v"], told["works"], told["mode"], told["network"], told["why"]) == (
        1,
        True,
        "workspace",
        False,
        "",
    )
    assert [layer["name"] for layer in told["layers"]] == [
        "namespaces",
        "mounts",
        "network",
        "seccomp",
        "landlock",
        "limits",
    ]
    assert all(layer["what"] for layer in told["layers"])


def test_status_and_doctor_tell_the_limits_that_are_in_force(run: Run, program: Run) -> None:
    found = resources_in_force()
    assert json.loads(run("status", "--json").stdout)["resources"] == msgspec.to_builtins(found)
    assert (
        f"  resources  {found} in the control groups of Hermes, so for all it starts" in run("status").stdout
    )
    assert f"✓ resources: {found} in the control groups of commands" in program("doctor").stdout


def test_status_and_doctor_name_the_variables_that_commands_do_not_get(
    run: Run, program: Run, environ: dict[str, str], work: Path
) -> None:
    extra = {
        "B_TOKEN": "canary-12345",
        "CFLAGS": "-Dx=canary-12345",
        "MY_PLACE": "canary",
        "BASH_ENV": "/canary",
        "MY_OWN": "canary",
    }
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir()
    config.write_text("terminal: {env_passthrough: [MY_OWN]}\n")
    seen = run("run", "--", "env -0", **extra).stdout.split("\0")
    assert [line for line in seen if "canary" in line] == ["MY_OWN=canary"]
    lines = run("status", **extra).stdout.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("  variables  "))
    told = json.loads(run("status", "--json", **extra).stdout)
    assert set(extra) & set(told["variables"]) == {"MY_OWN"}
    left = {name: reason for name, reason in told["left_out"].items() if name in extra}
    assert left == {
        "B_TOKEN": "credentials",
        "CFLAGS": "credentials",
        "MY_PLACE": "not on the list",
        "BASH_ENV": "run code unasked",
    }
    counts = f"{len(told['variables'])} of yours pass, {len(told['left_out'])} are left out"
    assert (
        lines[at]
        == f"  variables  {counts}; terminal.env_passthrough: [NAME] in config.yaml lets one through"
    )
    assert "             credentials: B_TOKEN, CFLAGS" in lines[at + 1 :]
    assert "             run code unasked: BASH_ENV" in lines[at + 1 :]
    (line,) = [
        line for line in program("doctor", **extra).stdout.splitlines() if line.startswith("✓ variables: ")
    ]
    names = line.partition("explains: ")[2].split(", ")
    assert (set(extra) - set(names), "canary" in line) == ({"MY_OWN"}, False)


def test_a_mode_is_tried_with_an_option(
    run: Run, work: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    write = f"echo x > in.txt; echo x > {tmp_path}/out.txt; true"
    found = {}
    for mode in ("read-only", "workspace", "full"):
        run("run", "--mode", mode, "--", write)
        found[mode] = tuple(path.name for path in (work / "in.txt", tmp_path / "out.txt") if path.exists())
    assert found == {"read-only": (), "workspace": ("in.txt",), "full": ("in.txt", "out.txt")}


def test_the_mode_that_is_set_counts(run: Run, environ: dict[str, str], work: Path) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir()
    config.write_text("terminal: {sandbox_mode: read-only}\n")
    assert "Read-only file system" in run("run", "--", "touch x").stderr
    assert "  mode       read-only (config.yaml line 1)" in run("status").stdout.splitlines()


def test_named_hosts_are_given_as_a_list_and_what_is_refused_is_said(run: Run) -> None:
    done = run("run", "--network=127.0.0.1:9,*.example.org", "--", "curl -s http://evil.test/; true")
    sentence = "evil.test:80 is not in terminal.network, so commands in the sandbox cannot reach it.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, sentence, f"hermes: network: {sentence}")
    done = run("run", "--network=http://example.org", "--", "true")
    assert (
        done.returncode,
        done.stderr.startswith("hermes: --network: 'http://example.org' is no host"),
    ) == (2, True)


def test_a_list_of_hosts_with_something_else_in_it_is_a_fault_of_the_settings(
    run: Run, environ: dict[str, str]
) -> None:
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir()
    config.write_text("terminal: {network: [example.org, 'a b']}\n")
    assert run("run", "--", "true").stderr.startswith("hermes: terminal.network: 'a b' is no host")


@pytest.mark.parametrize(
    "change",
    [
        "config set terminal.sandbox off",
        "config unset terminal.network",
        "approvals revoke x",
        "auth remove x",
    ],
)
def test_our_own_program_changes_nothing_from_inside(run: Run, tmp_path: Path, change: str) -> None:
    inside = f"PYTHONPATH={':'.join(path for path in sys.path if path)} {os.path.realpath(sys.executable)} -m hermes {change}"
    done = run("run", "--", inside)
    sentence = "hermes: This runs in a command that Hermes has started: settings, keys and grants can only be changed from outside, by the user.\n"
    assert (done.returncode, done.stderr) == (2, sentence)


def test_a_command_that_takes_its_mark_off_is_known_by_what_started_it(
    environ: dict[str, str], work: Path
) -> None:
    unmarked = f"env -u {MARKER} {sys.executable} -m hermes config set approvals.mode off; exit $?"
    done = subprocess.run(
        ["sh", "-c", unmarked],
        env={**environ, MARKER: "call"},
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr[:51]) == (2, "hermes: This runs in a command that Hermes has star")


def test_status_says_when_a_setting_keeps_the_sandbox_off(run: Run) -> None:
    done = run("status", HERMES_SANDBOX="off")
    assert (
        done.stdout.splitlines()[0]
        == "! off by terminal.sandbox (HERMES_SANDBOX); this is what hermes sandbox run gives"
    )


def test_without_bubblewrap_one_sentence_says_what_to_install(
    run: Run, bare: dict[str, str], work: Path
) -> None:
    sentence = (
        "There is no sandbox here: bubblewrap (bwrap) is not installed; install it with: apt install bubblewrap (or your system's way),"
        " or: pip install 'hermes-agent[sandbox]'."
    )
    done = run("run", "--", "touch x", **bare)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"hermes: {sentence}\n")
    assert list(work.iterdir()) == []
    told = run("status", **bare)
    assert (told.returncode, told.stdout.splitlines()[0]) == (0, f"✗ {sentence}")


def test_a_bubblewrap_that_may_not_work_is_named_with_its_own_words(run: Run, bare: dict[str, str]) -> None:
    program = Path(bare["PATH"]) / "bwrap"
    program.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    assert run("run", "ls", **bare).stderr == (
        f"hermes: There is no sandbox here: {program} fails with: setting up uid map: Permission denied; the kernel must let you make user"
        " namespaces (sysctl kernel.unprivileged_userns_clone, or the AppArmor profile of bwrap).\n"
    )


WITHOUT = """
import sys, anyio
from pathlib import Path
from hermes.agent.tool_environment import open_local, options_from
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.config.sections import Settings
from hermes.types.error import Refused
from hermes.types.question import Deny

top = Path(sys.argv[1])
places = {"cwd": top / "work", "hermes_home": top / "home", "scratch": top / "scratch"}
options = options_from(Settings(), environment(), save=print, ports=SYSTEM_PORTS, **places)

async def ask(question):
    print(question.reasons[-1])
    return Deny()

async def main():
    place = open_local(options, ask)
    for command in ("echo one", "echo two"):
        print((await place.workspace.run(command, timeout=20)).text, end="")
    try:
        await place.workspace.run("rm -rf src", timeout=20)
    except Refused:
        print("refused")
    await place.workspace.close()

anyio.run(main)
"""


def test_without_bubblewrap_the_first_command_says_why_and_every_question_too(
    bare: dict[str, str], work: Path, tmp_path: Path
) -> None:
    (work / "src").mkdir()
    (Path(bare["PATH"]) / "bash").symlink_to("/bin/bash")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)],
        cwd=work,
        env={**bare, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    why = "There is no sandbox here: bubblewrap (bwrap) is not installed"
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "one",
        f"[sandbox: {why}. Commands run with all rights of the user; hermes sandbox status says what helps.]",
        "two",
        why,
        "refused",
    ]


def test_standard_input_that_is_given_for_reading_cannot_be_written(
    environ: dict[str, str], work: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("kept\n")
    command = (
        "cat; echo spoilt > /proc/self/fd/0; echo spoilt > /dev/stdin; echo done; echo said > /dev/stderr"
    )
    with mine.open() as given:
        done = subprocess.run(
            [sys.executable, "-m", "hermes", "sandbox", "run", "--", command],
            cwd=work,
            env=environ,
            stdin=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.stdout, mine.read_text(), done.stderr.splitlines()[-1]) == ("kept\ndone\n", "kept\n", "said")
