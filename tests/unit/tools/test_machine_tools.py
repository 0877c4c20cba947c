"""The terminal, process and file tools, on a real workspace behind the real decision."""

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.agent.code_execution.tools_module import module_text
from hermes.environments.local_workspace import LocalWorkspace
from hermes.environments.workspace import WorkspaceOptions
from hermes.safety.decide import Policy, decide
from hermes.safety.redact import redact_file
from hermes.tools.builtin import execute_code, patch, process, read_file, search_files, terminal, write_file
from hermes.tools.registry import registry
from hermes.tools.schemas import get_tool_definitions
from hermes.types.action import Action, Permit
from hermes.types.error import Refused
from hermes.types.question import Answer, Deny, Question
from hermes.types.tool import TodoList

pytestmark = pytest.mark.anyio

NAMES = ("terminal", "process", "read_file", "write_file", "patch", "search_files")


@dataclass
class Session:
    """What a tool may ask of its session: implements `ToolContext`."""

    workspace: LocalWorkspace
    root: Path
    shown: list[str] = field(default_factory=list)
    diff: str = ""
    session_id: str = "s"
    task_id: str = "s"
    interrupted: bool = False
    deps: object = None

    @property
    def todos(self) -> TodoList:
        raise NotImplementedError

    async def ask(self, question: Question) -> Answer:
        return Deny()

    async def command_output(self, command: str, output: str, code: int) -> str:
        return output

    def progress(self, text: str) -> None:
        self.shown.append(text)

    def redact(self, path: str, text: str) -> str:
        return redact_file(path, text)

    def changed(self, diff: str) -> None:
        self.diff = diff

    async def call(self, name: str, **args: Any) -> dict[str, Any]:
        entry = registry.get_entry(name)
        assert entry is not None
        answer = entry.handler(args, ctx=self, task_id="s", session_id="s", user_task="")
        assert not isinstance(answer, str)
        result: dict[str, Any] = json.loads(await answer)
        return result

    def put(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture
async def session(tmp_path: Path, environ: dict[str, str]) -> AsyncIterator[Session]:
    root = tmp_path / "project"
    root.mkdir()
    policy = Policy(
        workspace=str(root),
        home=environ["HOME"],
        hermes_home=environ["HERMES_HOME"],
        temp=(str(tmp_path / "temp"),),
    )

    async def authorize(action: Action) -> Permit:
        verdict = decide(action, policy)
        if verdict.decision in {"ask", "deny"}:
            raise Refused(f"Refused: {'; '.join(verdict.reasons)}.")
        return verdict.permit(action)

    space = LocalWorkspace(root, authorize=authorize, environ=environ, scratch=tmp_path / "scratch")
    yield Session(space, root)
    await space.close()


async def test_what_may_be_tried_again_is_not_told_to_be_left(
    session: Session, environ: dict[str, str], tmp_path: Path
) -> None:
    async def allowed(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    later = WorkspaceOptions(is_outdated=lambda _permit: True)
    session.workspace = LocalWorkspace(
        session.root, authorize=allowed, environ=environ, scratch=tmp_path / "other", options=later
    )
    told = [
        (await session.call(name, **args))["error"]
        for name, args in (("terminal", {"command": "id"}), ("write_file", {"path": "a", "content": ""}))
    ]
    await session.workspace.close()
    assert told == ["Text from outside was read while this was decided, so it did not run; try it again."] * 2


async def test_nothing_is_done_in_a_folder_that_is_gone(session: Session) -> None:
    session.root.rmdir()
    for name, args in (
        ("terminal", {"command": "id"}),
        ("terminal", {"command": "id", "background": True}),
        ("write_file", {"path": "a", "content": "words"}),
        ("read_file", {"path": "a"}),
    ):
        told = (await session.call(name, **args))["error"]
        assert told.endswith(
            f"{session.root}, the folder that this session works in, is gone, so nothing was done; the user"
            " has to bring it back, or to start a session in another."
        )
    assert not session.root.exists()
    session.root.mkdir()
    assert (await session.call("terminal", command="echo back"))["output"] == "back\n"


async def test_each_tool_is_registered_and_says_so_without_a_session() -> None:
    found = {name: registry.get_entry(name) for name in NAMES}
    shown = {name: (entry.toolset, entry.emoji, entry.is_async) for name, entry in found.items() if entry}
    assert shown == {
        "terminal": ("terminal", "💻", True),
        "process": ("terminal", "⚙️", True),
        "read_file": ("file", "📖", True),
        "write_file": ("file", "✍️", True),
        "patch": ("file", "🔧", True),
        "search_files": ("file", "🔎", True),
    }
    handlers: Sequence[Callable[..., Any]] = (
        terminal.terminal,
        process.process,
        read_file.read_file,
        write_file.write_file,
        patch.patch,
        search_files.search_files,
    )
    for name, handler in zip(NAMES, handlers, strict=True):
        assert json.loads(await handler({})) == {"error": f"{name} needs a session to work in"}


@pytest.mark.parametrize(
    "toolsets",
    ["terminal", "terminal delegation", "code_execution", "delegation", "memory", "context", "todo"],
)
def test_what_is_said_of_tools_names_none_that_is_not_offered(toolsets: str) -> None:
    found = get_tool_definitions(toolsets.split(), quiet_mode=True)
    offered = {one["function"]["name"] for one in found}
    known = {*registry.entries(), "web", "web_search", "web_extract", "skill_view", "file tools"}
    absent = "|".join(known - offered)
    assert re.findall(rf"(?<![\w-])(?:{absent})(?![\w-])", json.dumps(found)) == []


def test_a_script_calls_patch_as_its_description_says() -> None:
    entry = registry.get_entry("patch")
    assert entry is not None
    assert "def patch(path=None, old_string=None, new_string=None, " in module_text([entry])
    assert "patch(path, old_string, new_string)" in execute_code.DESCRIPTION


def test_no_argument_that_has_a_default_is_required() -> None:
    asked = {name: entry.schema["parameters"] for name, entry in registry.entries().items()}
    needless = {
        name: needed
        for name, taken in asked.items()
        if (needed := [one for one in taken.get("required", ()) if "default" in taken["properties"][one]])
    }
    assert (needless, set(NAMES) <= set(asked)) == ({}, True)


# ---------------------------------------------------------------------------------------------------------------- terminal


async def test_a_command_gives_output_and_code(session: Session) -> None:
    assert await session.call("terminal", command="echo hi; exit 3") == {
        "output": "hi\n",
        "exit_code": 3,
        "error": None,
    }
    assert session.shown == ["hi\n"]


async def test_the_directory_is_told_when_it_changes(session: Session) -> None:
    assert (await session.call("terminal", command="mkdir a; cd a"))["cwd"] == str(session.root / "a")
    assert "cwd" not in await session.call("terminal", command="pwd")
    assert (await session.call("terminal", command="pwd", workdir="/"))["output"] == "/\n"


async def test_codes_that_mean_no_failure_are_explained(session: Session) -> None:
    assert (await session.call("terminal", command="echo a | grep b"))["exit_code_meaning"] == "no match"
    assert "exit_code_meaning" not in await session.call("terminal", command="grep b; false")


async def test_time_that_runs_out_keeps_the_output(session: Session) -> None:
    done = await session.call("terminal", command="echo part; sleep 30", timeout=1)
    assert (done["output"], done["exit_code"], "timed out after 1 s" in done["error"]) == (
        "part\n",
        124,
        True,
    )
    assert "background=true" in (await session.call("terminal", command="x", timeout=601))["error"]


async def test_clipped_output_names_the_whole(session: Session) -> None:
    done = await session.call("terminal", command="seq 100000")
    assert len(done["output"]) <= 50_000
    assert Path(done["full_output"]).read_text().endswith("\n99999\n100000\n")


async def test_a_refused_command_did_not_run_and_says_why(session: Session) -> None:
    done = await session.call("terminal", command="touch ran; sudo ls")
    assert (done["output"], done["exit_code"], done["status"]) == ("", -1, "blocked")
    assert done["error"].startswith("Refused: it runs with more rights")
    assert "another way" in done["error"]
    assert list(session.root.iterdir()) == []


@pytest.mark.parametrize("args", [{}, {"command": ""}, {"command": "  "}, {"command": 5}])
async def test_a_missing_command_is_said(session: Session, args: dict[str, Any]) -> None:
    assert await session.call("terminal", **args) == {"error": "command must be a non-empty string"}


# ----------------------------------------------------------------------------------------------------------------- process


async def test_a_background_process_is_followed_to_its_end(session: Session) -> None:
    begun = await session.call("terminal", command="read x; echo got:$x", background=True)
    name = begun["session_id"]
    assert begun == {
        "output": "Background process started",
        "session_id": name,
        "pid": begun["pid"],
        "exit_code": 0,
        "error": None,
    }
    running = {
        "session_id": name,
        "command": "read x; echo got:$x",
        "pid": begun["pid"],
        "status": "running",
        "exit_code": None,
    }
    assert await session.call("process", action="list") == {"processes": [running]}
    assert await session.call("process", action="poll", session_id=name) == {
        **running,
        "output": "",
        "total_chars": 0,
    }
    await session.call("process", action="submit", session_id=name, data="hello")
    ended = await session.call("process", action="wait", session_id=name, timeout=10)
    assert ended == {
        **running,
        "status": "exited",
        "exit_code": 0,
        "output": "got:hello\n",
        "total_chars": 10,
    }
    assert (await session.call("process", action="log", session_id=name))["output"] == "got:hello"
    assert (
        "takes no input"
        in (await session.call("process", action="write", session_id=name, data="x"))["error"]
    )


async def test_a_background_process_is_killed_or_closed(session: Session) -> None:
    first = (await session.call("terminal", command="sleep 300", background=True))["session_id"]
    second = (await session.call("terminal", command="cat; echo end", background=True))["session_id"]
    assert (await session.call("process", action="kill", session_id=first))["exit_code"] == 143
    await session.call("process", action="close", session_id=second)
    assert (await session.call("process", action="wait", session_id=second, timeout=10))["output"] == "end\n"


async def test_an_unknown_process_or_action_is_said(session: Session) -> None:
    assert await session.call("process", action="poll", session_id="x") == {
        "error": "there is no process 'x'; known are: none"
    }
    assert "action must be one of" in (await session.call("process", action="fly"))["error"]


# ------------------------------------------------------------------------------------------------------------------- files


async def test_a_file_is_read_in_pages_with_line_numbers(session: Session) -> None:
    session.put("a.txt", "".join(f"line {number}\n" for number in range(1, 6)))
    facts = {"total_lines": 5, "file_size": 35, "is_binary": False, "is_image": False}
    page = await session.call("read_file", path="a.txt", offset=2, limit=2)
    assert page == {
        "content": "2|line 2\n3|line 3",
        "truncated": True,
        **facts,
        "hint": "2 more lines; go on with offset=4",
    }
    assert await session.call("read_file", path="a.txt", offset=5) == {
        "content": "5|line 5",
        "truncated": False,
        **facts,
    }
    assert "behind its end" in (await session.call("read_file", path="a.txt", offset=6))["error"]


async def test_odd_files_are_read_or_refused_by_their_content(session: Session) -> None:
    session.put("empty", "")
    session.put("bom", b"\xef\xbb\xbfa\r\nb\r\n")
    session.put("latin", b"caf\xe9\n")
    session.put("long", "x" * 5_000 + "\n")
    session.put("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    session.put("wide", ("y" * 1_000 + "\n") * 500)
    assert (await session.call("read_file", path="empty"))["content"] == ""
    assert (await session.call("read_file", path="bom"))["content"] == "1|a\n2|b"
    assert (await session.call("read_file", path="latin"))["content"] == "1|caf\ufffd"
    assert (await session.call("read_file", path="long"))[
        "content"
    ] == "1|" + "x" * 2_000 + "… [3000 more characters]"
    refused = await session.call("read_file", path="image")
    assert (refused["is_binary"], refused["is_image"], "an image" in refused["error"]) == (True, True, True)
    assert "limit=49" in (await session.call("read_file", path="wide"))["error"]


async def test_a_wrong_name_brings_suggestions(session: Session) -> None:
    session.put("src/settings.py", "")
    assert (await session.call("read_file", path="src/setting.py"))["similar_files"] == ["src/settings.py"]
    assert "no folder nowhere" in (await session.call("read_file", path="nowhere/x"))["error"]
    assert "is a folder" in (await session.call("read_file", path="src"))["error"]
    os.mkfifo(session.root / "pipe")
    assert "not a regular file" in (await session.call("read_file", path="pipe"))["error"]


async def test_writing_makes_folders_and_checks_the_text(session: Session) -> None:
    done = await session.call("write_file", path="a/b.py", content="x = 'é'\n")
    path = str(session.root / "a/b.py")
    assert done == {
        "bytes_written": 9,
        "dirs_created": True,
        "lint": {"status": "ok", "output": ""},
        "resolved_path": path,
        "files_modified": [path],
    }
    broken = await session.call("write_file", path="a/b.py", content="x = (\n")
    assert (broken["dirs_created"], broken["lint"]["status"]) == (False, "error")
    assert (await session.call("write_file", path="c.txt", content=""))["lint"]["status"] == "skipped"


async def test_writing_keeps_mode_mark_and_line_ends(session: Session) -> None:
    path = session.put("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    path.chmod(0o700)
    await session.call("write_file", path="a.txt", content="three\nfour\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\xef\xbb\xbfthree\r\nfour\r\n", 0o700)


async def test_what_writing_over_a_file_changed_is_kept_for_people_and_not_in_the_result(
    session: Session,
) -> None:
    session.put("a.txt", b"one\r\ntwo\r\n")
    done = await session.call("write_file", path="a.txt", content="one\nthree\n")
    assert (session.diff, "diff" in done) == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n", False
    )  # fmt: skip


@pytest.mark.parametrize("before", ["", "\0binary", "x" * 400_000, "a\n" * 30_000])
async def test_a_change_that_nobody_would_read_is_not_kept(session: Session, before: str) -> None:
    session.put("a.txt", before)
    await session.call("write_file", path="a.txt", content="b\n" * 20)
    assert session.diff == ""


async def test_line_numbers_are_not_written_back(session: Session) -> None:
    refused = await session.call("write_file", path="a", content="4|a\n5|b\n6|c\n")
    assert "without them" in refused["error"]
    assert not (session.root / "a").exists()
    assert (await session.call("write_file", path="a", content="1|a\n9|b\n6|c\n"))["bytes_written"] == 12


async def test_files_outside_are_refused_whatever_leads_there(session: Session) -> None:
    outside = session.root.parent / "outside"
    outside.mkdir()
    (session.root / "link").symlink_to(outside)
    for path in (str(outside / "x"), "../outside/x", "link/x", "/etc/hermes-test", "~/.ssh/authorized_keys"):
        refused = await session.call("write_file", path=path, content="x")
        assert refused["status"] == "blocked", path
    assert list(outside.iterdir()) == []
    (outside / "x").write_text("kept")
    for patched in ("*** Delete File: link/x", "*** Update File: ../outside/x\n@@\n-kept\n+gone"):
        assert (await session.call("patch", mode="patch", patch=patched))["status"] == "blocked"
    assert (outside / "x").read_text() == "kept"


async def test_credentials_are_refused_to_every_file_tool(session: Session) -> None:
    session.put(".env", "A=1\n")
    for name, args in {
        "read_file": {"path": ".env"},
        "write_file": {"path": ".env", "content": "B=2\n"},
        "patch": {"path": ".env", "old_string": "A=1", "new_string": "B=2"},
    }.items():
        assert (await session.call(name, **args))["status"] == "blocked", name
    assert (session.root / ".env").read_text() == "A=1\n"


async def test_a_replacement_gives_its_diff(session: Session) -> None:
    path = session.put("a.py", "def f():\n    return 1\n")
    done = await session.call("patch", path="a.py", old_string="return 1", new_string="return 2")
    assert done == {
        "success": True,
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n",
        "files_modified": [str(path)],
        "lint": {"status": "ok", "output": ""},
        "resolved_path": str(path),
    }
    loose = await session.call(
        "patch", path="a.py", old_string="def f():\n  return 2", new_string="def f():\n  return ("
    )
    assert (loose["matched_by"], loose["lint"]["status"]) == ("line ends trimmed", "error")
    assert path.read_text() == "def f():\n    return (\n"


async def test_a_replacement_keeps_line_ends_and_other_bytes(session: Session) -> None:
    path = session.put("a.txt", b"\xef\xbb\xbfone\r\ncaf\xe9\r\n")
    assert (await session.call("patch", path="a.txt", old_string="one\ncaf", new_string="two\nthree\ncaf"))[
        "success"
    ]
    assert path.read_bytes() == b"\xef\xbb\xbftwo\r\nthree\r\ncaf\xe9\r\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"path": "a.txt", "old_string": "a", "new_string": "b"}, "fits 2 places"),
        ({"path": "a.txt", "old_string": "zzz", "new_string": "b"}, "not found"),
        ({"path": "none.txt", "old_string": "a", "new_string": "b"}, "was not found"),
        ({"path": "bin", "old_string": "a", "new_string": "b"}, "binary"),
        ({"path": "a.txt"}, "needs path"),
        ({"mode": "patch"}, "needs patch"),
        ({"mode": "other"}, "mode must be"),
    ],
)
async def test_a_change_that_cannot_be_made_changes_nothing(
    session: Session, args: dict[str, Any], said: str
) -> None:
    session.put("a.txt", "a\na\n")
    session.put("bin", b"a\0b")
    refused = await session.call("patch", **args)
    assert (refused["success"], said in refused["error"]) == (False, True)
    assert (session.root / "a.txt").read_text() == "a\na\n"


async def test_a_patch_over_several_files_is_carried_out(session: Session) -> None:
    session.put("b.py", "x = 1\n")
    session.put("d.txt", "gone\n")
    lines = [
        "*** Begin Patch",
        "*** Add File: n/a.json",
        '+{"a": 1}',
        "*** Update File: b.py",
        "*** Move to: c.py",
        "@@",
        "-x = 1",
        "+x = 2",
        "*** Delete File: d.txt",
    ]
    done = await session.call("patch", mode="patch", patch="\n".join([*lines, "*** End Patch"]))
    assert done["success"]
    assert [Path(path).name for path in done["files_modified"]] == ["a.json", "c.py", "b.py", "d.txt"]
    assert done["diff"] == (
        '--- /dev/null\n+++ b/n/a.json\n@@ -0,0 +1 @@\n+{"a": 1}\n'
        "rename from b.py\nrename to c.py\n--- a/b.py\n+++ b/c.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
        "--- a/d.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )
    assert {
        str(path.relative_to(session.root)): path.read_text()
        for path in session.root.rglob("*")
        if path.is_file()
    } == {
        "n/a.json": '{"a": 1}\n',
        "c.py": "x = 2\n",
    }


@pytest.mark.parametrize(
    "last",
    [
        "*** Update File: b.py\n@@\n-not there\n+x",
        "*** Add File: b.py\n+x",
        "*** Delete File: none",
        "*** Update File: b.py\n*** Move to: b2.py",
        "*** Add File: /etc/hermes-test\n+x",
    ],
)
async def test_of_a_patch_that_does_not_fit_nothing_is_done(session: Session, last: str) -> None:
    session.put("a.txt", "one\n")
    session.put("b.py", "x = 1\n")
    session.put("b2.py", "y\n")
    first = "*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new.txt\n+n\n"
    assert not (await session.call("patch", mode="patch", patch=first + last))["success"]
    assert {path.name: path.read_text() for path in session.root.iterdir()} == {
        "a.txt": "one\n",
        "b.py": "x = 1\n",
        "b2.py": "y\n",
    }


async def test_search_gives_pages_counts_and_files(session: Session) -> None:
    for number in range(3):
        session.put(f"{number}.py", "one\nneedle\nthree needle\n")
        os.utime(session.root / f"{number}.py", (number, number))
    found = await session.call("search_files", pattern="needle", limit=2)
    assert found == {
        "total_count": 6,
        "matches": [
            {"path": "0.py", "line": 2, "content": "needle"},
            {"path": "0.py", "line": 3, "content": "three needle"},
        ],
        "truncated": True,
        "hint": "go on with offset=2",
    }
    rest = await session.call("search_files", pattern="needle", offset=5, context=1)
    assert rest == {
        "total_count": 6,
        "matches": [
            {"path": "2.py", "line": 3, "content": "three needle", "before": ["needle"], "after": []}
        ],
    }
    assert await session.call("search_files", pattern="^needle", output_mode="files_only") == {
        "total_count": 3,
        "files": ["0.py", "1.py", "2.py"],
    }
    counted = await session.call("search_files", pattern="needle", output_mode="count", file_glob="1.*")
    assert counted == {"total_count": 2, "counts": [{"path": "1.py", "count": 2}]}
    assert await session.call("search_files", pattern="*.py", target="files", limit=2) == {
        "total_count": 3, "files": ["2.py", "1.py"], "truncated": True, "hint": "go on with offset=2",
    }  # fmt: skip


async def test_a_search_that_cannot_be_made_is_said(session: Session) -> None:
    assert "not a regular expression" in (await session.call("search_files", pattern="("))["error"]
    assert "does not exist" in (await session.call("search_files", pattern="x", path="none"))["error"]
    assert await session.call("search_files", pattern="") == {"error": "pattern is missing"}
    assert (await session.call("search_files", pattern="x", path="~/.ssh"))["status"] == "blocked"


async def test_a_call_can_be_cancelled(session: Session) -> None:
    with anyio.move_on_after(0.3) as scope:
        await session.call("terminal", command="sleep 300")
    assert scope.cancelled_caught
    assert (await session.call("terminal", command="echo usable"))["output"] == "usable\n"
