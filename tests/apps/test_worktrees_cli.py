"""`hermes -w`: a session in a worktree of its own, what it leaves, and `hermes worktrees`."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import create_task_group, to_thread

from hermes.agent.spec import SessionOptions
from hermes.environments.worktrees import Worktrees
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, ScriptedServer, Turn, call, say
from tests.apps.conftest import Done, Run
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place

COMMIT = "git config user.name >&2; echo {0} > {0}.txt && git add -A && git commit -qm {0} && git status --short --branch"
NAMES = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *NAMES, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    git(folder, "init", "-q")
    for key in ("name", "email"):
        git(folder, "config", f"user.{key}", "a@b")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def ask(program: Run, *arguments: str, replies: tuple[Any, ...] = ("done",)) -> Done:
    with ScriptedServer(ScriptedModel(*replies)).running() as server:
        return program(*arguments, "--base-url", server.base_url)


def commits(name: str) -> tuple[Turn | str, ...]:
    return call("terminal", {"command": COMMIT.format(name)}), say("done")


def test_what_was_committed_there_is_kept_named_and_can_be_merged(program: Run, work: Path) -> None:
    done = ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    tree = work.with_name("work.worktrees") / "fix"
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert [line for line in done.stderr.splitlines() if line.startswith("hermes: ")] == [
        f"hermes: working in {tree}, on the branch hermes/fix",
        f"hermes: kept {tree}: 1 commit",
        "hermes: git merge hermes/fix takes over what it has, then hermes worktrees remove fix removes it",
    ]
    listed = program("worktrees", "list").stdout
    refused = program("worktrees", "remove", "fix")
    git(work, "merge", "-q", "hermes/fix")
    removed = program("worktrees", "remove", "fix")
    (session,) = re.findall(r"\d{8}_\d{6}_[0-9a-f]{12}", listed)
    assert (listed, refused.returncode, "has 1 commit; --force" in refused.stderr) == (
        f"fix  hermes/fix  1 commit  {tree}  {session} go\n", 1, True,
    )  # fmt: skip
    assert (removed.returncode, (work / "two.txt").exists(), tree.parent.exists()) == (0, True, False)
    assert git(work, "branch", "--list", "hermes/*") == ""


def test_going_on_where_the_worktree_was_made_names_the_session_that_worked_in_it(
    program: Run, work: Path
) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    listed = program("worktrees", "list").stdout
    (session,) = re.findall(r"\d{8}_\d{6}_[0-9a-f]{12}", listed)
    words = f"hermes: the last session here worked in the worktree fix (go): hermes -r {session} goes on with it there"
    none = program("-c", "-z", "more")
    assert (none.returncode, words in none.stderr.splitlines()) == (2, True)
    there = ask(
        program, "-r", session, "-z", "where?", replies=(call("terminal", {"command": "pwd"}), "done")
    )
    assert (there.returncode, words in there.stderr) == (0, False)
    ask(program, "-z", "go", "-w", "second", replies=commits("three"))
    both = program("-c", "-z", "more").stderr.splitlines()
    assert [line.partition("worktree ")[2][:11] + line.partition("there;")[2] for line in both[:1]] == [
        "second (go) so did others in fix: hermes worktrees list names their sessions"
    ]
    ask(program, "-z", "something else")
    own = ask(program, "-c", "-z", "more")
    assert (own.returncode, "worked in the worktree" in own.stderr) == (0, False)


def test_a_session_whose_worktree_was_removed_says_so_when_it_is_gone_on_with(
    program: Run, work: Path
) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    (session,) = re.findall(r"\d{8}_\d{6}_[0-9a-f]{12}", program("worktrees", "list").stdout)
    program("worktrees", "remove", "fix", "--force")
    done = ask(program, "-r", session, "-z", "on")
    tree = work.with_name("work.worktrees") / "fix"
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "done\n",
        (
            f"hermes: {tree}, where this session worked, is gone: no command of it runs until the folder is there"
            " again. A new session works in another one.\n"
        ),
    )


def test_one_with_nothing_new_is_removed_and_files_that_are_not_committed_keep_it(
    program: Run, work: Path
) -> None:
    empty = ask(program, "-z", "go", "-w")
    assert ("had nothing new and was removed" in empty.stderr, git(work, "branch")) == (True, "* main\n")
    wrote = call("write_file", {"path": "new.txt", "content": "x"})
    kept = ask(program, "-z", "go", "-w", "draft", replies=(wrote, "done"))
    tree = work.with_name("work.worktrees") / "draft"
    assert f"hermes: kept {tree}: 1 file that is not committed\n" in kept.stderr
    assert ((tree / "new.txt").read_text(), (work / "new.txt").exists()) == ("x", False)


def test_the_line_for_another_branch_takes_it_over_as_it_stands_and_makes_no_option_of_a_name(
    program: Run, work: Path
) -> None:
    aside = "git switch -qc side && {} && cp .git/refs/heads/side .git/refs/heads/--upload-pack=x && git switch -q hermes/fix"
    made = call("terminal", {"command": aside.format(COMMIT.format("two"))})
    kept = ask(program, "-z", "go", "-w", "fix", replies=(made, "done"))
    line = kept.stderr.splitlines()[-1]
    fetch = line.removeprefix("hermes: ").partition(" takes over other branches, ")[0]
    assert fetch == f"git fetch {work}.worktrees/fix side:side"
    git(work, *fetch.split()[1:])
    done = program("worktrees", "remove", "fix")
    assert (done.returncode, git(work, "log", "-1", "--format=%s", "side")) == (0, "two\n")


def test_the_lines_after_a_session_name_what_works(program: Run, work: Path) -> None:
    wrote = call("write_file", {"path": "new.txt", "content": "x"})
    both = ask(program, "-z", "go", "-w", "both", replies=(*commits("two")[:1], wrote, "done"))
    files = ask(program, "-z", "go", "-w", "files", replies=(wrote, "done"))
    assert (both.stderr.splitlines()[-1], files.stderr.splitlines()[-1]) == (
        "hermes: git merge hermes/both takes the commits over, hermes worktrees remove both --force removes it with the rest",
        "hermes: hermes worktrees remove files --force removes it with them",
    )
    taken = ask(program, "-z", "go", "-w", "files")
    assert taken.stderr == "hermes: There is a worktree files already; hermes worktrees list shows it.\n"
    git(work, "merge", "-q", "hermes/both")
    one_stays = program("worktrees", "remove", "files", "none", "both")
    assert (one_stays.returncode, one_stays.stdout, len(one_stays.stderr.splitlines())) == (1, "", 3)
    removed = program("worktrees", "remove", "both", "none", "files", "--force")
    assert (removed.returncode, removed.stdout.splitlines(), len(removed.stderr.splitlines())) == (
        1,
        [f"Removed {work}.worktrees/{name} and the branch hermes/{name}." for name in ("both", "files")],
        1,
    )


def test_typed_in_the_worktree_the_commands_answer_as_in_the_checkout(
    program: Run, environ: dict[str, str], work: Path
) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    tree = work.with_name("work.worktrees") / "fix"

    def there(*words: str) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "hermes", *words],
            cwd=tree, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert there("worktrees", "list").stdout == program("worktrees", "list").stdout != ""
    refused = [there("worktrees", "remove", "fix", *more) for more in ((), ("--force",))]
    assert [(one.returncode, one.stderr) for one in refused] == [
        (1, f"hermes: You are in {tree}; change to {work} first.\n")
    ] * 2
    assert there("-w", "more", "-z", "x").stderr == (
        f"hermes: This is a worktree of sessions itself; start in {work}.\n"
    )
    assert (tree / "two.txt").exists()


def test_a_session_that_is_resumed_goes_back_into_its_worktree(program: Run, work: Path) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    listed = program("sessions", "list").stdout.split()[0]
    done = ask(program, "-z", "again", "-r", listed, replies=commits("three"))
    assert f"hermes: hermes/fix in {work}: 2 commits\n" in done.stderr
    assert git(work, "log", "--format=%s", "hermes/fix").split() == ["three", "two", "one"]
    both = program("-z", "x", "-w", "-c")
    assert (both.returncode, "-w begins a new session" in both.stderr) == (2, True)


def test_a_damaged_record_is_a_fault_and_no_empty_list(program: Run, work: Path) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("fix"))
    (record,) = (work.parent / "home/.hermes/worktrees").glob("*.json")
    record.write_text("{")
    listed, removed = program("worktrees", "list"), program("worktrees", "remove", "fix")
    assert (listed.returncode, listed.stdout, removed.returncode) == (1, "", 1)
    assert f"{record}, the record of a worktree for sessions, cannot be read" in listed.stderr
    assert str(record) in removed.stderr


def test_one_whose_folder_or_branch_is_gone_is_listed_and_can_be_removed(program: Run, work: Path) -> None:
    names = ("broken", "gone", "lost")
    for name in names:
        ask(program, "-z", "go", "-w", name, replies=commits(name))
    shutil.rmtree(work.with_name("work.worktrees") / "broken/.git")
    shutil.rmtree(work.with_name("work.worktrees") / "gone")
    git(work, "update-ref", "-d", "refs/heads/hermes/lost")
    done = program("worktrees", "list")
    listed = [re.split(" {2,}", line)[2] for line in done.stdout.splitlines()]
    refused = [program("worktrees", "remove", name).returncode for name in names]
    removed = [program("worktrees", "remove", name, "--force").returncode for name in names]
    assert (listed, refused, removed) == (["cannot be told", "1 commit", "1 commit"], [1, 1, 1], [0, 0, 0])
    assert [line.partition(":")[2][:37] for line in done.stderr.splitlines()] == [
        f" What is in {work}"[:37], " lost: its commits were not taken over: t"[:37],
    ]  # fmt: skip
    assert (program("worktrees", "list").stdout, git(work, "branch")) == ("", "* main\n")


def test_a_killed_one_stays_and_its_name_counts_before_and_after_chat(
    program: Run, environ: dict[str, str], work: Path
) -> None:
    asked = threading.Event()

    def slow(_request: dict[str, Any]) -> Turn:
        asked.set()
        return say("never", size=1, pause=30)

    with ScriptedServer(ScriptedModel(slow)).running() as server:
        argv = ["-w", "fix", "chat", "-q", "go", "--base-url", server.base_url]
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", *argv], cwd=work, env=environ, stdin=subprocess.DEVNULL
        )
        assert asked.wait(60)
        process.kill()
        process.wait()
    tree = work.with_name("work.worktrees") / "fix"
    listed = program("worktrees", "list").stdout
    assert re.fullmatch(rf"fix  hermes/fix  nothing new  {tree}  \d{{8}}_\d{{6}}_[0-9a-f]{{12}} go\n", listed)
    assert (program("worktrees", "remove", "fix").returncode, tree.exists()) == (0, False)


def test_two_at_once_do_not_meet(program: Run, work: Path) -> None:
    with ThreadPoolExecutor() as pool:
        runs = list(
            pool.map(lambda name: ask(program, "-z", "go", "-w", name, replies=commits(name)), ("x", "y"))
        )
    assert [run.returncode for run in runs] == [0, 0], [run.stderr for run in runs]
    logs = [git(work, "log", "--format=%s", f"hermes/{name}").split() for name in ("x", "y")]
    assert logs == [["x", "one"], ["y", "one"]]
    assert git(work, "log", "--format=%s", "main") == "one\n"


def bare(work: Path) -> Path:
    git(work, "clone", "-q", "--bare", ".", "../bare.git")
    return work.with_name("bare.git")


def submodule(work: Path) -> Path:
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "inner")
    return work / "inner"


def unborn(work: Path) -> Path:
    git(work, "init", "-q", "../unborn")
    return work.with_name("unborn")


def taken(work: Path) -> Path:
    git(work, "branch", "hermes/fix")
    return work


def no_room(work: Path) -> Path:
    work.with_name("work.worktrees").write_text("")
    return work


REFUSED = {
    "is in no git repository": lambda work: work.parent,
    "is a bare repository; start in a checkout of it": bare,
    "is in a submodule; start in the repository": submodule,
    "has no commit yet": unborn,
    "There is a branch hermes/fix already": taken,
    "work.worktrees is no folder": no_room,
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_where_there_can_be_none_one_sentence_says_so_and_nothing_is_left(
    environ: dict[str, str], work: Path, sentence: str
) -> None:
    folder = REFUSED[sentence](work)
    before = git(work, "branch")
    done = begun(environ, folder, "exec")
    assert (done.returncode, done.stderr.count("\n"), sentence in done.stderr) == (1, 1, True), done.stderr
    assert git(work, "branch") == before


def begun(environ: dict[str, str], folder: Path, how: str) -> Done:
    """hermes -w fix, started in a folder by a shell."""
    program = f"{how} {sys.executable} -m hermes -z go -w fix --base-url http://127.0.0.1:1/v1"
    return subprocess.run(
        ["bash", "-c", program],
        cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_where_files_cannot_be_written_whole_nothing_is_left(environ: dict[str, str], work: Path) -> None:
    (work / "large.bin").write_bytes(os.urandom(2_000_000))
    git(work, "add", "-A")
    git(work, "commit", "-qm", "large")
    done = begun(environ, work, "ulimit -f 500; exec")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("hermes: The worktree could not be made: git reset: ")
    assert (git(work, "branch"), work.with_name("work.worktrees").exists()) == ("* main\n", False)


def test_what_is_not_committed_and_a_head_on_no_branch_are_said(program: Run, work: Path) -> None:
    (work / "a.txt").write_text("changed\n")
    git(work, "checkout", "-q", "--detach")
    done = ask(program, "-z", "go", "-w", "fix")
    at = git(work, "rev-parse", "--short", "HEAD").strip()
    assert done.stderr.splitlines()[1:3] == [
        "hermes: changes here that are not committed are not in it",
        f"hermes: HEAD is on no branch here: it begins with {at}",
    ]


@contextmanager
def screen(place: Place, base_url: str) -> Iterator[Terminal]:
    """The screen in a worktree."""
    env = {"PATH": os.environ["PATH"], "HOME": str(place.home), "HERMES_HOME": str(place.home / ".hermes"), "TERM": "xterm-256color",
           "LANG": "C.UTF-8", "COLORFGBG": "15;0"}  # fmt: skip
    argv = [sys.executable, "-m", "hermes", "-m", "m", "--base-url", base_url, "-w", "fix"]
    with Terminal(argv, cwd=place.project, env=env, columns=110, rows=24) as terminal:
        yield terminal


def test_the_screen_works_there_too_and_one_in_use_is_not_removed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    git(place.project, "add", "-A")
    git(place.project, "commit", "-qm", "one")
    with (
        ScriptedServer(ScriptedModel("hello")).running() as server,
        screen(place, server.base_url) as terminal,
    ):
        terminal.until("(hermes/fix)", 40)
        terminal.type("hi\r")
        terminal.until("hello")
        environ = {**os.environ, "HOME": str(place.home), "HERMES_HOME": str(place.home / ".hermes")}
        refused = subprocess.run(
            [sys.executable, "-m", "hermes", "worktrees", "remove", "fix", "--force"],
            cwd=place.project, env=environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        terminal.type("/quit\r")
        terminal.until(lambda: "new and was removed" in terminal.text.replace("\n", ""))
        assert (terminal.wait(), refused.returncode, "end it first" in refused.stderr) == (0, 1, True)


@pytest.mark.anyio
@pytest.mark.parametrize("folder", ["", "inner"])
async def test_one_in_which_a_session_is_open_is_never_removed(
    program: Run, environ: dict[str, str], work: Path, folder: str
) -> None:
    (work / "inner").mkdir()
    (work / "inner" / "b.txt").write_text("b")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "more")
    model, home = ScriptedModel(), Path(environ["HERMES_HOME"])
    tree = Worktrees(work, environ, home).make("fix")
    options = SessionOptions(
        cwd=tree.path / folder, base_url="http://127.0.0.1:1/v1", model="m", attended=False
    )
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        session = await runtime.session(options)  # nothing is said in it yet
        removed = await to_thread.run_sync(partial(program, "worktrees", "remove", "fix", "--force"))
        await session.close()
    assert (removed.returncode, removed.stderr, tree.path.is_dir()) == (
        1, f"hermes: Session {session.spec.id} works in {tree.path}; end it first.\n", True,
    )  # fmt: skip
    assert program("worktrees", "remove", "fix").returncode == 0


@pytest.mark.anyio
async def test_the_end_of_w_leaves_one_in_which_another_session_is_open(
    program: Run, environ: dict[str, str], work: Path
) -> None:
    model, tree = ScriptedModel(), work.with_name("work.worktrees") / "fix"

    async def beside() -> None:
        options = SessionOptions(cwd=tree, base_url="http://127.0.0.1:1/v1", model="m", attended=False)
        async with open_runtime(environ=environ, http=model.http()) as runtime:
            session = await runtime.session(options)
            opened.set()
            await to_thread.run_sync(over.wait)
            await session.close()

    asked, opened, over = threading.Event(), threading.Event(), threading.Event()

    def reply(_request: dict[str, Any]) -> Turn:
        asked.set()
        assert opened.wait(60)
        return say("done")

    async with create_task_group() as group:
        first = partial(ask, program, "-z", "go", "-w", "fix", replies=(reply,))
        done: list[Done] = []

        async def run() -> None:
            done.append(await to_thread.run_sync(first))
            over.set()

        group.start_soon(run)
        await to_thread.run_sync(asked.wait)
        group.start_soon(beside)
    assert re.search(rf"hermes: kept {tree}: nothing new, and session \S+ works in it\n$", done[0].stderr)
    assert tree.is_dir()


def test_commits_of_a_session_that_was_killed_are_taken_over_by_the_list_and_when_it_is_resumed(
    program: Run, work: Path
) -> None:
    ask(program, "-z", "go", "-w", "fix", replies=commits("two"))
    tree = work.with_name("work.worktrees") / "fix"
    for how in (("worktrees", "list"), ("-z", "x", "-r", "latest", "--base-url", "http://127.0.0.1:1/v1")):
        git(tree, "commit", "-q", "--allow-empty", "-m", "left")
        program(*how)
        assert git(work, "rev-parse", "hermes/fix") == git(tree, "rev-parse", "HEAD")


def test_a_name_that_is_not_all_seen_is_shown_so(environ: dict[str, str], work: Path) -> None:
    folder = work.with_name("a\u202eb")
    work.rename(folder)
    Worktrees(folder, environ, Path(environ["HERMES_HOME"])).make("fix")
    done = subprocess.run(
        [sys.executable, "-m", "hermes", "worktrees", "list"],
        cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("/a⟨U+202E⟩b.worktrees/fix\n"), done
    work.mkdir()
