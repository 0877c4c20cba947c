"""A command's changes of files are shown with its call as an edit's are, and they are its own."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.safety.redact import redact_file
from hermes.store.change_text import change_text
from hermes.store.snapshot import Entry
from hermes.testing import ScriptedModel, Turn, call, say
from hermes.types.event import ToolFinished

from .conftest import Talk, events_of

pytestmark = pytest.mark.anyio

TOOLS = ("terminal", "file")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    (made / "a.txt").write_text("one\n")
    return made


def run(command: str) -> Turn:
    return call("terminal", {"command": command})


async def diffs(talk: Talk, *replies: Turn | Callable[[Mapping[str, Any]], Turn]) -> list[str]:
    """What the calls of a turn are said to have changed."""
    async with talk(ScriptedModel(*replies, say("done")), toolsets=TOOLS, attended=False) as session:
        events = await events_of(session, "go")
    return [one.diff for one in events if isinstance(one, ToolFinished)]


ONE_TO_TWO = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.mark.parametrize(
    ("command", "diff"),
    [
        ("sed -i s/one/two/ a.txt", ONE_TO_TWO),
        ("sed -i s/one/two/ a.txt; exit 3", ONE_TO_TWO),
        ("echo two > b.txt", "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+two\n"),
        ("rm a.txt", "a.txt: +0 −1 (deleted)\n"),
        ("mv a.txt b.txt", "a.txt: renamed to b.txt\n"),
        ("mkdir new && mv a.txt new", "a.txt: renamed to new/a.txt\n"),
        ("chmod 755 a.txt", "a.txt: mode 644 → 755\n"),
        ("printf 'a\\0b' > b.bin", "b.bin: nothing → 3 bytes\n"),
        ("ln -sf a.txt link", "link: nothing → a link to a.txt\n"),
        ("printf '' > a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +0,0 @@\n-one\n"),
        ("printf one > a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+one\n\\ No newline at end of file\n"),
        ("mkdir -p node_modules .git/x && echo 1 > node_modules/a && echo 1 > .git/x/y", ""),
        ("cat a.txt", ""),
        ("touch a.txt", ""),
        ("seq 9000 > n.txt", "n.txt: +9000 −0\n"),
        ("head -c 11000000 /dev/zero > big", "big: changed (too large)\n"),
        ("touch new", "new: nothing → 0 bytes\n"),
        ("printf 'x\\r\\ny\\r\\n' > c", "--- /dev/null\n+++ b/c\n@@ -0,0 +1,2 @@\n+x\n+y\n"),
    ],
)  # fmt: skip
async def test_what_a_command_changed_is_told_with_its_call(
    talk: Talk, work: Path, command: str, diff: str
) -> None:
    (work / "a.txt").chmod(0o644)
    assert await diffs(talk, run(command)) == [diff]


async def test_a_file_of_secrets_by_its_name_is_shown_without_its_values(talk: Talk, work: Path) -> None:
    (work / "make").write_text("echo A=one > .env\n")
    assert await diffs(talk, run("sh make")) == ["--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+A=[redacted]\n"]


async def test_each_call_has_its_own_changes(talk: Talk, work: Path) -> None:
    del work
    written = call("write_file", {"path": "a.txt", "content": "two\n"})
    found = await diffs(
        talk, run("echo 1 > b"), written, run("sed -i s/two/three/ a.txt"), run("true"), run("rm b")
    )
    assert found == [
        "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+1\n",
        ONE_TO_TWO,
        ONE_TO_TWO.replace("two", "three").replace("one", "two"),
        "",
        "b: +0 −1 (deleted)\n",
    ]


async def test_what_a_person_changes_between_calls_is_no_command_s(talk: Talk, work: Path) -> None:
    def edited(_: object) -> Turn:
        (work / "mine.txt").write_text("by hand\n")
        time.sleep(0.03)  # a tick of the file system's clock: what comes within one is told apart by nobody
        return run("echo 1 > b")

    first, second = await diffs(talk, run("echo 1 > a"), edited)
    assert ("mine" in first, second) == (False, "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+1\n")


async def test_very_many_files_are_named_up_to_a_hundred(talk: Talk, work: Path) -> None:
    del work
    (diff,) = await diffs(talk, run("for i in $(seq 100 349); do seq $i > f$i; done; echo two > a.txt"))
    assert diff.startswith(ONE_TO_TWO)
    assert (diff.endswith("… 151 more files\n"), len(diff) < 60_000) == (True, True)
    assert "f198: +198 −0\n" in diff


async def test_a_secret_of_several_lines_is_shown_to_nobody_though_a_diff_marks_each(
    talk: Talk, work: Path, environ: dict[str, str]
) -> None:
    del work
    environ["SERVICE_TOKEN"] = "hunter-Zq81xY\nsecond-part-77Kp\nthird-part-02Lw"
    (diff,) = await diffs(
        talk, run("printf 'hunter-Zq81xY\nsecond-part-77Kp\nthird-part-02Lw\n' > k.txt; echo 2 > l.txt")
    )
    assert ("part" in diff, "l.txt" in diff) == (False, True)


def test_what_was_left_out_is_told_with_why() -> None:
    """As it is of a file that may not be read, whoever runs the tests."""
    out = {"b": Entry("out", 0, b"Permission denied")}
    assert change_text({}, out, lambda _: b"", redact_file) == "b: changed (Permission denied)\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_what_may_not_be_read_is_named(talk: Talk, work: Path) -> None:
    del work
    assert await diffs(talk, run("echo 1 > b; chmod 0 b")) == ["b: changed (Permission denied)\n"]


async def test_a_script_s_changes_are_told_with_it(talk: Talk, work: Path) -> None:
    del work
    code = "from pathlib import Path\nPath('a.txt').write_text('two\\n')"
    async with talk(
        ScriptedModel(call("execute_code", {"code": code}), say("done")),
        toolsets=("code_execution",),
        attended=False,
    ) as session:
        events = await events_of(session, "go")
    assert [one.diff for one in events if isinstance(one, ToolFinished)] == [ONE_TO_TWO]


async def test_without_checkpoints_of_turns_nothing_is_told(
    talk: Talk, work: Path, environ: Mapping[str, str]
) -> None:
    del work
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("checkpoints: {turns: false}\n")
    assert await diffs(talk, run("echo two > a.txt")) == [""]
