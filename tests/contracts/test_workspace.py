"""What every workspace promises, with the kernel sandbox around commands and without it."""

import os
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest
from msgspec.structs import replace

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.workspace import QUIET, WorkspaceOptions
from hermes.types.action import Action, Command, FileAccess, Permit
from hermes.types.error import ExecError, Refused
from tests.contracts.conftest import Bench, marked

pytestmark = pytest.mark.anyio


async def text(bench: Bench, command: str, seconds: float = 20) -> str:
    return (await bench.space.run(command, timeout=seconds)).text


async def test_output_of_both_streams_comes_in_order_with_the_exit_code(bench: Bench) -> None:
    done = await bench.space.run("echo one; echo two >&2; echo three; exit 7", timeout=20)
    assert (done.text, done.code, done.timed_out, done.clipped) == ("one\ntwo\nthree\n", 7, False, False)


@pytest.mark.one_transport
async def test_the_directory_lives_on(bench: Bench) -> None:
    done = await bench.space.run("mkdir -p 'a b/c' && cd 'a b/c'", timeout=20)
    assert (done.cwd, bench.space.cwd) == (str(bench.root / "a b/c"),) * 2
    assert await text(bench, "pwd") == f"{bench.root}/a b/c\n"


async def test_exports_live_on_whatever_they_hold(bench: Bench) -> None:
    await text(bench, "export A=$'one\\ntwo' B='it'\\''s \"$x\" `y` \\ é' C=; D=unexported")
    assert (
        await text(bench, 'printf "%s|" "$A" "$B" "$C" "${D-gone}"') == 'one\ntwo|it\'s "$x" `y` \\ é||gone|'
    )


@pytest.mark.one_transport
async def test_an_unset_export_stays_unset(bench: Bench) -> None:
    await text(bench, "unset LANG")
    assert await text(bench, "echo ${LANG-gone}") == "gone\n"


@pytest.mark.one_transport
async def test_shell_options_live_on(bench: Bench) -> None:
    await text(bench, "set -u -o pipefail; shopt -s extglob nullglob")
    assert (
        await text(
            bench,
            "set -o | grep -c 'nounset.*on\\|pipefail.*on'; shopt extglob nullglob | grep -c on; set +u",
        )
        == "2\n2\n"
    )
    assert await text(bench, 'echo "[$unknown]"') == "[]\n"


@pytest.mark.one_transport
async def test_errexit_lives_on_and_does_not_lose_the_state(bench: Bench) -> None:
    await text(bench, "set -e; export A=1; false; echo never")
    assert await text(bench, "echo $A; false; echo never") == "1\n"
    assert await text(bench, "set +e; false; echo again") == "again\n"


@pytest.mark.one_transport
async def test_functions_and_aliases_live_on(bench: Bench) -> None:
    await text(
        bench,
        "f() { echo \"f:$1\"; }; g() { echo g; }; export -f g; shopt -s expand_aliases; alias q='echo q'",
    )
    assert await text(bench, "f 1; q 2; bash -c g") == "f:1\nq 2\ng\n"


ENDS = [
    "exit 3",
    "trap 'echo bye' EXIT; exit 3",
    "trap 'echo bye' 0\nexit 3",
    "(exit 3); exit",
    "set -e; (exit 3)",
    "set -x; exit 3",
]


@pytest.mark.one_transport
async def test_the_state_is_kept_however_a_command_ends(bench: Bench) -> None:
    found: dict[str, tuple[int, bool, bool]] = {}

    async def run(end: str) -> None:
        shell = bench.another()
        done = await shell.run(f"export KEPT=yes; {end}", timeout=60)
        then = await shell.run("{ set +x; } 2>/dev/null; echo $KEPT", timeout=60)
        found[end] = (done.code, "bye" in done.text, then.text.endswith("yes\n"))
        await shell.close()

    async with anyio.create_task_group() as tasks:
        for end in ENDS:
            tasks.start_soon(run, end)
    assert found == {end: (3, "bye" in end, True) for end in ENDS}


@pytest.mark.one_transport
async def test_a_command_that_replaces_the_shell_leaves_the_state_as_it_was(bench: Bench) -> None:
    await text(bench, "export A=before")
    assert await text(bench, "export A=after; exec echo replaced") == "replaced\n"
    assert await text(bench, "echo $A") == "before\n"


@pytest.mark.one_transport
async def test_a_forged_state_cannot_run_code_or_move_the_shell_to_nowhere(bench: Bench) -> None:
    await text(bench, "export A='$(touch pwned)'; cd /")
    assert await text(bench, "printf '%s' \"$A\"; pwd") == "$(touch pwned)/\n"
    assert list(bench.root.iterdir()) == []


@pytest.mark.one_transport
async def test_a_directory_that_is_gone_is_said_and_left(bench: Bench) -> None:
    await text(bench, "mkdir x; cd x; rmdir ../x")
    assert await text(bench, "pwd") == f"{bench.root}/x is gone, so this did not run\n"


@pytest.mark.one_transport
async def test_a_syntax_error_is_the_commands_own(bench: Bench) -> None:
    done = await bench.space.run("if [", timeout=20)
    assert done.code == 2
    assert "syntax error" in done.text


@pytest.mark.one_transport
async def test_a_directory_for_one_call_is_for_one_call(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    done = await bench.space.run("pwd; export A=1", timeout=20, cwd="sub")
    assert (done.text, done.cwd) == (f"{bench.root}/sub\n", str(bench.root))
    assert await text(bench, "echo $A") == "1\n"


async def test_input_is_closed_unless_given(bench: Bench) -> None:
    assert (await bench.space.run("cat; echo end", timeout=20)).text == "end\n"
    assert (await bench.space.run("cat", timeout=20, stdin=b"given" * 100_000)).code == 0
    assert (await bench.space.run("wc -c", timeout=20, stdin=b"given" * 100_000)).text.strip() == "500000"


async def test_any_bytes_are_text_in_the_end(bench: Bench) -> None:
    assert (
        await text(bench, r"printf '\xff\xfe caf\xc3\xa9 \e[31mred\e[0m \e]0;title\a.\0.'")
        == "\ufffd\ufffd café red .."[:-2] + ".."
    )


async def test_a_very_long_command_runs(bench: Bench) -> None:
    assert await text(bench, f"x={'a' * 300_000}; echo ${{#x}}") == "300000\n"


async def test_output_is_shown_as_it_comes(bench: Bench) -> None:
    seen: list[str] = []
    await bench.space.run("echo one; sleep 0.2; echo two", timeout=20, on_output=seen.append)
    assert "".join(seen) == "one\ntwo\n"
    assert len(seen) > 1


async def test_a_flood_is_clipped_in_memory_and_whole_on_disk(bench: Bench) -> None:
    before = psutil.Process().memory_info().rss
    done = await bench.space.run(
        "echo first; head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99; echo last", timeout=60
    )
    grown = psutil.Process().memory_info().rss - before
    assert done.clipped
    assert len(done.text) <= 5_000
    assert done.text.startswith("first\n")
    assert done.text.endswith("last\n")
    assert Path(done.full).stat().st_size == 20_202_021 + len("first\nlast\n") - 1
    assert grown < 20_000_000


@pytest.mark.slow
async def test_a_flood_of_many_megabytes_stops_at_the_cap_on_disk(bench: Bench) -> None:
    done = await bench.space.run("head -c 200000000 /dev/zero | tr '\\0' x | fold -w 99", timeout=50)
    assert (done.code, done.clipped, Path(done.full).stat().st_size) == (0, True, 50_000_000)


# -------------------------------------------------------------------------------------------------- children that will not end

HANGING = {
    "sleeps": "sleep 300",
    "ignores TERM": "trap '' TERM; echo part; while :; do sleep 0.1; done",
    "ignores TERM below": "bash -c \"trap '' TERM; sleep 300 & wait; sleep 300\"",
    "leaves the group": "setsid sleep 300 & sleep 300",
    "leaves twice": "(setsid bash -c 'setsid sleep 300 & sleep 300' &) ; sleep 300",
    "ignores TERM elsewhere": "(setsid bash -c \"trap '' TERM; while :; do sleep 0.1; done\" &) ; sleep 300",
    "writes to one that does not read": "cat </dev/zero | sleep 300",
    "floods": "yes",
    "waits for a pipe": "mkfifo p; cat p",
    "stops itself": "kill -STOP $$; sleep 300",
    "many": "for i in $(seq 20); do sleep 300 & done; wait",
    "double fork": "(setsid bash -c '(exec sleep 300) & exit' &); sleep 300",
    "daemon": "nohup setsid sleep 300 >/dev/null 2>&1 </dev/null & sleep 300",
    "zombie": "bash -c 'sleep 0.1 & exec sleep 300'",
    "reads a terminal": "cat </dev/tty; sleep 300",
    "traps everything": "trap '' TERM INT HUP QUIT; sleep 300 & trap '' TERM; wait; sleep 300",
}


@pytest.mark.one_transport
async def test_time_runs_out_for_the_whole_tree_whatever_its_shape(bench: Bench) -> None:
    ends: dict[str, tuple[bool, int, bool]] = {}
    shells = {shape: bench.another() for shape in HANGING}

    async def run(shape: str, command: str, seconds: float) -> None:
        done = await shells[shape].run(f"echo begun; {command}", timeout=seconds, cwd=str(bench.root / shape))
        ends[shape] = (done.timed_out, done.code, done.text.startswith("begun\n"))

    async def all_at_once(commands: dict[str, str], seconds: float) -> float:
        begun = time.monotonic()
        async with anyio.create_task_group() as tasks:
            for shape, command in commands.items():
                tasks.start_soon(run, shape, command, seconds)
        return time.monotonic() - begun

    async def in_time(commands: dict[str, str]) -> None:
        until_all_began = await all_at_once(dict.fromkeys(commands, "true"), 60)
        await all_at_once(commands, 0.7 + 2 * until_all_began)

    for shape in HANGING:
        (bench.root / shape).mkdir()
    await in_time({shape: command for shape, command in HANGING.items() if shape != "floods"})
    await in_time({"floods": HANGING["floods"]})  # alone: it takes all of a machine
    assert ends == dict.fromkeys(HANGING, (True, 124, True))
    for shell in shells.values():
        await shell.close()
    assert await bench.survivors() == []
    assert await text(bench, "echo usable") == "usable\n"


async def test_cancelling_the_call_ends_the_whole_tree(bench: Bench) -> None:
    begun = time.monotonic()
    with anyio.move_on_after(0.5):
        await bench.space.run("setsid sleep 300 & trap '' TERM; sleep 300", timeout=60)
    assert time.monotonic() - begun < 40
    assert bench.leftovers() == []
    assert await text(bench, "echo usable") == "usable\n"


KEEPERS = [
    "sleep 300 &",
    "setsid sleep 300 &",
    "(sleep 300 &)",
    "nohup sleep 300 2>&1 &",
    "(setsid sleep 300 &) ; true;",
    "yes & disown;",
]


async def test_a_child_that_keeps_the_pipe_open_does_not_hang_the_call(bench: Bench) -> None:
    ends: dict[str, tuple[int, bool, bool]] = {}
    shells = {keeper: bench.another() for keeper in KEEPERS}

    async def run(keeper: str) -> None:
        done = await shells[keeper].run(f"{keeper}\necho started; exit 5", timeout=60)
        ends[keeper] = (done.code, done.timed_out, "started" in done.text or "yes" in keeper)

    async with anyio.create_task_group() as tasks:
        for keeper in KEEPERS:
            tasks.start_soon(run, keeper)
    assert ends == dict.fromkeys(KEEPERS, (5, False, True))
    for shell in shells.values():
        await shell.close()
    assert bench.keeps_survivors or await bench.survivors() == []
    if bench.place == "open":
        for process in marked(bench.mark):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    await until(lambda: bench.leftovers() == [])


async def test_output_of_a_process_substitution_is_waited_for(bench: Bench) -> None:
    if bench.keeps_survivors:  # a confined one ends with its shell
        assert await text(bench, "echo late > >(sleep 0.1; cat)") == "late\n"


# --------------------------------------------------------------------------------------------------------------- terminals


async def test_a_terminal_is_one_and_takes_typed_input(bench: Bench) -> None:
    done = await bench.space.run(
        "test -t 0 -a -t 1 && stty size; read x; echo got:$x", timeout=20, pty=True, stdin=b"typed\n"
    )
    assert done.code == 0
    assert "40 120\n" in done.text
    assert "got:typed\n" in done.text


async def test_a_terminal_without_typed_input_ends_its_readers(bench: Bench) -> None:
    done = await bench.space.run("cat; echo end", timeout=10, pty=True)
    assert (done.timed_out, "end\n" in done.text) == (False, True)


# --------------------------------------------------------------------------------------------------------------- background


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110  # no event is set by a process
            await anyio.sleep(0.02)


async def test_a_background_process_is_read_written_and_waited_for(bench: Bench) -> None:
    state = await bench.space.start("read line; echo got:$line; cat")
    assert (state.code, state.id.startswith("proc_"), len(state.id)) == (None, True, 17)
    processes = bench.space.processes
    await processes.write(state.id, "hello\nmore\n")
    await until(lambda: "more" in processes.poll(state.id).text)
    await processes.close(state.id)
    ended = await processes.wait(state.id, 10)
    assert (ended.code, ended.text, ended.total_chars) == (0, "got:hello\nmore\n", 15)


@pytest.mark.one_transport
async def test_a_background_process_gets_the_carried_state_and_changes_none(bench: Bench) -> None:
    await text(bench, "mkdir sub; cd sub; export A=1")
    state = await bench.space.start("echo $A $PWD; cd /; export A=2")
    assert (await bench.space.processes.wait(state.id, 10)).text == f"1 {bench.root}/sub\n"
    assert await text(bench, "echo $A $PWD") == f"1 {bench.root}/sub\n"


async def test_killing_a_background_process_ends_its_tree(bench: Bench) -> None:
    state = await bench.space.start("trap '' TERM; setsid sleep 300 & echo up; while :; do sleep 0.1; done")
    await until(lambda: "up" in bench.space.processes.poll(state.id).text)
    ended = await bench.space.processes.kill(state.id)
    assert ended.code in {137, 143}
    assert bench.leftovers() == []


async def test_a_background_flood_rolls_and_never_blocks_the_process(bench: Bench) -> None:
    state = await bench.space.start("seq 200000; echo end")
    ended = await bench.space.processes.wait(state.id, 30)
    assert (ended.code, ended.total_chars) == (0, 1_288_899)
    assert ended.text.endswith("200000\nend\n")
    assert len(ended.text) == 1_000
    assert bench.space.processes.log(state.id, limit=2).text == "200000\nend"


@pytest.mark.one_transport
async def test_an_end_is_told_once_and_only_if_nobody_looked(bench: Bench) -> None:
    told = await bench.space.start("echo a", notify=True)
    looked_at = await bench.space.start("echo b", notify=True)
    silent = await bench.space.start("echo c")
    processes = bench.space.processes
    await processes.wait(looked_at.id, 10)
    await until(lambda: all(state.code is not None for state in processes.list()))
    assert [state.id for state in processes.list()] == [told.id, looked_at.id, silent.id]
    assert [state.id for state in processes.drain_finished()] == [told.id]
    assert list(processes.drain_finished()) == []


@pytest.mark.one_transport
async def test_closing_the_workspace_stops_everything(bench: Bench) -> None:
    await bench.space.start("sleep 300")
    await bench.space.start("setsid sleep 300; sleep 300")
    await bench.space.close()
    assert bench.leftovers() == []


# ------------------------------------------------------------------------------------------------------------------- files


@pytest.mark.one_transport
async def test_writing_makes_folders_keeps_the_mode_and_leaves_no_parts(bench: Bench) -> None:
    path = bench.root / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    written = await bench.space.write("run.sh", b"new")
    await bench.space.write("deep/er/x.txt", b"x")
    assert (written.path, written.kind, written.size) == (str(path), "file", 3)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o750)
    assert sorted(str(one.relative_to(bench.root)) for one in bench.root.rglob("*") if one.is_file()) == [
        "deep/er/x.txt",
        "run.sh",
    ]


@pytest.mark.one_transport
async def test_files_that_cannot_be_read_say_why(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(FileNotFoundError):
        await bench.space.read("nothing")
    with pytest.raises(IsADirectoryError):
        await bench.space.read(".")
    with pytest.raises(PermissionError):
        await bench.space.read("pipe")
    with pytest.raises(PermissionError):
        await bench.space.read("/dev/zero")
    with pytest.raises(PermissionError):  # a device must not be replaced by a file either
        await bench.space.write("pipe", b"x")
    assert stat.S_ISFIFO((bench.root / "pipe").stat().st_mode)


@pytest.mark.one_transport
async def test_commands_and_file_tools_see_the_same_temporary_files(bench: Bench) -> None:
    name = f"/tmp/hermes-test-{os.getpid()}-{bench.root.parent.name}"
    try:
        await bench.space.write(f"{name}-1", b"from a tool")
        assert await text(bench, f"cat {name}-1; printf shell > {name}-2") == "from a tool"
        assert await bench.space.read(f"{name}-2") == b"shell"
        found = await bench.space.stat(f"{name}-2")
        assert found is not None
        assert found.path == f"{name}-2"
    finally:
        await text(bench, f"rm -f {name}-1 {name}-2")


@pytest.mark.one_transport
async def test_list_stat_delete_find_and_search_agree(bench: Bench) -> None:
    await bench.space.write("a.py", b"one\ntwo needle\n")
    await bench.space.write("sub/b.txt", b"needle\n")
    await bench.space.write("out/c.txt", b"needle\n")
    await bench.space.write(".gitignore", b"out/\n")
    assert [Path(entry.path).name for entry in await bench.space.list(".")] == [
        ".gitignore",
        "a.py",
        "out",
        "sub",
    ]
    assert [(Path(hit.path).name, hit.line) for hit in await bench.space.search("ne+dle")] == [
        ("a.py", 2),
        ("b.txt", 1),
    ]
    assert {Path(hit.path).name for hit in await bench.space.find("*.txt")} == {"b.txt"}
    await bench.space.delete("a.py")
    assert await bench.space.stat("a.py") is None


@pytest.mark.one_transport
async def test_a_link_is_judged_by_where_it_leads(bench: Bench) -> None:
    outside = bench.root.parent / "outside.txt"
    outside.write_text("x")
    (bench.root / "link").symlink_to(outside)
    await bench.space.read("link")
    await bench.space.write("link", b"y")
    await bench.space.delete("link")
    assert bench.asked == [
        FileAccess(operation="read", path=str(outside)),
        FileAccess(operation="write", path=str(outside)),
        FileAccess(operation="delete", path=str(bench.root / "link")),
    ]
    assert outside.read_text() == "y"


# --------------------------------------------------------------------------------------------------------------- decisions


@pytest.mark.one_transport
async def test_nothing_happens_after_a_no(bench: Bench) -> None:
    await bench.space.write("kept", b"kept")
    bench.refuse = True
    for attempt in (
        bench.space.run("touch ran", timeout=10),
        bench.space.start("touch ran"),
        bench.space.write("ran", b""),
        bench.space.delete("kept"),
        bench.space.read("kept"),
        bench.space.list("."),
        bench.space.search("k"),
        bench.space.find("*"),
        bench.space.stat("kept"),
    ):
        with pytest.raises(Refused):
            await attempt
    assert [one.name for one in bench.root.iterdir()] == ["kept"]


@pytest.mark.one_transport
async def test_the_decision_sees_the_whole_action(bench: Bench) -> None:
    await bench.space.run("true", timeout=10, pty=True)
    await bench.space.start("true", cwd="/")
    asked = [one for one in bench.asked if isinstance(one, Command)]
    assert asked[0].fresh
    assert [replace(one, environment="", fresh=False) for one in asked] == [
        Command(command="true", cwd=str(bench.root), pty=True),
        Command(command="true", cwd="/", background=True),
    ]
    await bench.space.run("export COLOUR=green", timeout=10)
    await bench.space.run("true", timeout=10)
    before, after = [one for one in bench.asked if isinstance(one, Command)][-2:]
    assert "" != before.environment != after.environment != ""
    assert not after.fresh


ENVIRONMENT = {
    "CFLAGS": "-O2",
    "MAX_TOKENS": "5",
    "KEPT_TOKEN": "kept-12345",
    "MY_PLACE": "here",
    "https_proxy": "http://user:pass@proxy.example:3128",
    "OPENAI_API_KEY": "canary-12345",
    "MY_PASSWORD": "canary-67890",
    "LDFLAGS": "-Dkey=canary-12345",
    "CXX": "canary of another kind",
    "BASH_ENV": "/canary",
    "LD_PRELOAD": "/canary",
    "HERMES_SECRET": "canary",
    "DISPLAY": ":canary",
}
PASSED = {
    "CFLAGS": "-O2",
    "KEPT_TOKEN": "kept-12345",
    "MY_PLACE": "here",
    "https_proxy": "http://proxy.example:3128",
}
OF_THE_SANDBOX = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "branch.autoSetupMerge",
    "GIT_CONFIG_VALUE_0": "false",
    "CARGO_NET_RETRY": "0",
    "PIP_RETRIES": "0",
    "UV_HTTP_RETRIES": "0",
    "YARN_HTTP_RETRY": "0",
    "npm_config_fetch_retries": "0",
    "TMPDIR": "/tmp",
}
MADE = {"PWD", "OLDPWD", "SHLVL", "_", "HERMES_CALL", "HERMES_SANDBOXED", *QUIET}


@pytest.mark.parametrize("route", ["foreground", "terminal", "background", "background terminal"])
@pytest.mark.parametrize("confined", [False, True], ids=["open", "confined"])
async def test_commands_get_the_listed_variables_and_no_secret_on_every_route(
    route: str, confined: bool, tmp_path: Path, environ: dict[str, str]
) -> None:
    async def yes(action: Action) -> Permit:
        return Permit.of(action, confined=confined)

    root, scratch, home = tmp_path / "project", tmp_path / "scratch", Path(environ["HOME"])
    root.mkdir()
    sandbox = (
        open_sandbox(
            workspace=root, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
        )
        if confined
        else None
    )
    options = WorkspaceOptions(
        passthrough=("KEPT_TOKEN", "MY_*"), is_secret=lambda text: "another kind" in text
    )
    space = LocalWorkspace(
        root, authorize=yes, environ=environ | ENVIRONMENT, scratch=scratch, sandbox=sandbox, options=options
    )
    if route.startswith("background"):
        started = await space.start("env -0 >seen; echo done", pty="terminal" in route)
        await space.processes.wait(started.id, 20)
    else:
        await space.run("env -0 >seen", timeout=20, pty=route == "terminal")
    await space.close()
    seen = dict(line.split("=", 1) for line in (root / "seen").read_text().rstrip("\0").split("\0"))
    assert {name: value for name, value in seen.items() if name not in MADE} == {
        **{name: environ[name] for name in ("HOME", "PATH", "LANG")},
        **PASSED,
        **(OF_THE_SANDBOX if confined else {}),
    }


async def test_a_variable_that_a_command_missed_is_named_once(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async def yes(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    space = LocalWorkspace(
        tmp_path,
        authorize=yes,
        environ=environ | {"MY_PLACE": "x", "A_TOKEN": "y" * 9, "OWN": "z"},
        scratch=tmp_path / "s",
    )

    async def told(command: str) -> str:
        return (await space.run(command, timeout=10)).text

    sentence = (
        "[variables: commands here do not get {} of the user's environment; hermes sandbox status says why,"
        " terminal.env_passthrough in config.yaml lets one through]\n"
    )
    assert (
        await told("for OWN in 1 2; do echo $OWN; done; MY_PLACE=3; echo MY_PLACE; echo $MY_PLACE")
        == "1\n2\nMY_PLACE\n3\n"
    )
    assert await told("printf %s to-$MY_PLACE") == "to-\n" + sentence.format("MY_PLACE")
    assert await told("echo $MY_PLACE") == "\n"
    assert await told("echo A_TOKEN is not set >&2; exit 1") == "A_TOKEN is not set\n" + sentence.format(
        "A_TOKEN"
    )
    await told("export OWN=1")
    assert await told("echo $OWN") == "1\n"


async def test_what_searches_gets_nothing_of_the_environment(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def yes(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    ripgrep = tmp_path / "bin" / "rg"
    ripgrep.write_text(f"#!/bin/sh\n/usr/bin/env >{tmp_path}/seen\n")
    ripgrep.chmod(0o755)
    monkeypatch.setenv("A_TOKEN", "canary")
    space = LocalWorkspace(
        tmp_path / "work",
        authorize=yes,
        environ=environ | {"PATH": str(tmp_path / "bin")},
        scratch=tmp_path / "s",
    )
    await space.search("x")
    assert (tmp_path / "seen").read_text() == f"PWD={tmp_path}/work\n"


async def test_what_must_be_confined_is_refused_where_there_is_no_sandbox(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(tmp_path, authorize=confined, environ=environ, scratch=tmp_path / "s")
    with pytest.raises(Refused, match="bubblewrap"):
        await space.run("true", timeout=10)
    with pytest.raises(Refused):
        await space.run("echo \0", timeout=10)


async def test_what_cannot_be_started_is_an_error_not_a_hang(tmp_path: Path, environ: dict[str, str]) -> None:
    async def yes(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    # The search path of this process finds bash; one that is gone altogether is what a broken machine looks like.
    space = LocalWorkspace(
        tmp_path,
        authorize=yes,
        environ=environ | {"BIG": "x" * 200_000},
        scratch=tmp_path / "s",
        options=WorkspaceOptions(passthrough=("BIG",)),
    )
    with pytest.raises(ExecError):
        await space.run("true", timeout=10)


async def test_an_unconfined_command_trusts_nothing_that_a_confined_one_left(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    home, scratch = Path(environ["HOME"]), tmp_path / "scratch"
    root = tmp_path / "project"
    root.mkdir()

    async def by_word(action: Action) -> Permit:
        return Permit.of(action, confined=not (isinstance(action, Command) and "trusted" in action.command))

    sandbox = open_sandbox(
        workspace=root, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )
    space = LocalWorkspace(root, authorize=by_word, environ=environ, scratch=scratch, sandbox=sandbox)
    await space.run(
        "ls() { echo evil; }; alias cat='echo evil'; shopt -s expand_aliases; export PATH=/evil LD_PRELOAD=/evil.so A=data",
        timeout=10,
    )
    done = await space.run("type -t ls cat; echo $PATH ${LD_PRELOAD-none} $A # trusted", timeout=10)
    text, told, _ = done.text.partition("[the PATH that commands in the sandbox have set")
    assert (text, bool(told)) == (f"file\nfile\n{environ['PATH']} none\n", True)


async def test_the_network_is_there_only_when_permitted(tmp_path: Path, environ: dict[str, str]) -> None:
    home, scratch, root = Path(environ["HOME"]), tmp_path / "scratch", tmp_path / "project"
    root.mkdir()
    allowed: list[bool] = []

    async def authorize(action: Action) -> Permit:
        return Permit.of(action, confined=True, network=bool(allowed))

    sandbox = open_sandbox(
        workspace=root, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )
    space = LocalWorkspace(root, authorize=authorize, environ=environ, scratch=scratch, sandbox=sandbox)
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached"
        assert (await space.run(reach, timeout=10)).code != 0
        allowed.append(True)
        assert (await space.run(reach, timeout=10)).text == "reached\n"
