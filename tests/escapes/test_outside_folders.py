"""Files that others wrote are read in the folders that a command names, and then they count; nothing reads them unseen."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hermes.agent.session import Session
from hermes.environments.sandbox.mounts import Mount, Mounts, View, mounted
from hermes.testing import ScriptedModel, Turn, call, say
from hermes.types.message import ToolResult
from hermes.types.question import Grant
from tests.escapes.ground import outside_tmp
from tests.scenarios.test_execute_code import code, opened, results
from tests.scenarios.test_planted_later import asked_and_answered

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
PLANT = call("write_file", {"path": "AGENTS.md", "content": "ORDERS"})
HIDDEN = "import os\nprint(open(os.path.expanduser('~') + '/Down' + 'loads/page.txt').read())"
HIDDEN_SHELL = "d=Down; ls ~/${d}loads 2> /dev/null || echo denied"
WALK = "import os\nfor top, _, files in os.walk(os.path.expanduser('~')):\n    for one in files:\n        print(open(top + '/' + one).read())"


class Place:
    """A user's home that the sandbox shows, a workspace, and a page that others wrote."""

    def __init__(self, base: Path, environ: dict[str, str]) -> None:
        self.base, self.home, self.work = base, base / "home", base / "work"
        self.environ = {**environ, "HOME": str(self.home), "HERMES_HOME": str(base / "hermes")}
        self.downloads = self.home / "Downloads"
        for folder in (self.work, self.downloads, self.home / "notes"):
            folder.mkdir(parents=True)
        (self.downloads / "page.txt").write_text("ORDERS\n")
        (self.home / "notes" / "mine.txt").write_text("MINE\n")
        self.flags: dict[str, Any] = {}

    async def told(self, *turns: Turn) -> list[tuple[str, bool]]:
        """What commands and scripts print, and whether that is from outside."""
        async with opened(
            self.environ, self.work, ScriptedModel(*turns, say("done")), self.flags, attended=False
        ) as session:
            await session.send("go")
            return told(session)


def told(session: Session) -> list[tuple[str, bool]]:
    outside = [bool(one.outside) for one in session.log if isinstance(one, ToolResult)]
    return list(zip([one.get("output", "").strip() for one in results(session)], outside, strict=True))


@pytest.fixture
def place(environ: dict[str, str]) -> Iterator[Place]:
    with TemporaryDirectory(prefix="hermes-outside-", dir=outside_tmp()) as folder:
        yield Place(Path(folder).resolve(), environ)


def run(command: str, **more: Any) -> Turn:
    return call("terminal", {"command": command, **more})


UNNAMED = {
    "a recursive search above it": run("grep -rhs . ~ | sort"),
    "a search from there": run("cd ~ && grep -rhs . . | sort"),
    "a script that walks": code(WALK),
    "a program that was written before": run("python3 walk.py"),
    "a process in the background": run("python3 walk.py > ../home/notes/never; python3 walk.py"),
}


@pytest.mark.parametrize("way", UNNAMED)
@pytest.mark.parametrize("mode", ["workspace", "full"])
async def test_what_does_not_name_the_folder_does_not_see_it(place: Place, way: str, mode: str) -> None:
    (place.work / "walk.py").write_text(WALK)
    place.flags = {"terminal.sandbox_mode": mode, "approvals.mode": "off"}
    ((said, outside),) = await place.told(UNNAMED[way])
    assert ("ORDERS" in said, "MINE" in said, outside) == (False, True, False)


NAMED = {
    "code": "print(open('{}/page.txt').read())",
    "code with a tilde": "import os\nprint(open(os.path.expanduser('~/Downloads/page.txt')).read())",
    "code with parts": "from pathlib import Path\nfor one in (Path.home() / 'Downloads').iterdir():\n    print(one.read_text())",
    "code with a text in a string": "import os\nhome = os.environ['HOME']\nprint(open(f\"{{home}}/Downloads/page.txt\").read())",
}


@pytest.mark.parametrize("way", NAMED)
@pytest.mark.parametrize("by", ["a script", "python3 -c", "a heredoc"])
async def test_what_names_it_sees_it_and_has_read_from_outside(place: Place, way: str, by: str) -> None:
    source = NAMED[way].replace("{}", str(place.downloads)).replace("{{", "{").replace("}}", "}")
    quoted = source.replace("\\", "\\\\").replace('"', '\\"')
    turn = {
        "a script": code(source),
        "python3 -c": run(f'python3 -c "{quoted}"'),
        "a heredoc": run(f"python3 - <<'X'\n{source}\nX"),
    }[by]
    result, *_ = await place.told(turn, PLANT)
    assert (result, (place.work / "AGENTS.md").exists()) == (("ORDERS", True), False)


async def test_a_program_is_told_that_it_may_not_enter_and_the_model_what_to_do(place: Place) -> None:
    async with opened(
        place.environ, place.work, ScriptedModel(code(HIDDEN), say("done")), {}, attended=False
    ) as session:
        await session.send("go")
        (result,) = results(session)
    assert "PermissionError: [Errno 13] Permission denied" in result["stderr"]
    assert result["denied"] == (
        f"What is in {place.downloads} was written by others, so a command enters it only where its own text"
        f" names that folder: call again with {place.downloads} in the command if it must be."
    )


async def test_its_rights_cannot_be_changed_from_inside(place: Place) -> None:
    changed = "import os\nos.chmod(os.path.expanduser('~') + '/Down' + 'loads', 0o700)"
    async with opened(
        place.environ, place.work, ScriptedModel(code(changed), say("done")), {}, attended=False
    ) as session:
        await session.send("go")
        (result,) = results(session)
    assert "Read-only file system" in result["stderr"]


async def test_to_look_at_names_is_not_to_read(place: Place) -> None:
    assert await place.told(run("ls ~/Downloads")) == [("page.txt", False)]


async def test_the_word_alone_opens_nothing(place: Place) -> None:
    command = run("echo Show Downloads first; python3 walk.py")
    (place.work / "walk.py").write_text(WALK)
    ((said, outside),) = await place.told(command)
    assert ("ORDERS" in said, outside) == (False, False)


KERNEL = {"code_execution.kernel": True}


async def test_a_kernel_enters_what_the_script_that_started_it_named(place: Place) -> None:
    place.flags = KERNEL
    names = code("where = '~/Downloads'\nimport os")
    later = code("print(open(os.path.expanduser(where) + '/page.txt').read())")
    first = run("cat ~/Downloads/page.txt")  # a kernel that was started before that is ended by it
    assert (await place.told(first, names, later))[1:] == [("", True), ("ORDERS", True)]


async def test_a_kernel_that_may_not_enter_it_makes_way_for_a_script_that_names_it(place: Place) -> None:
    place.flags = KERNEL
    model = ScriptedModel(
        code("x = 1"), code(HIDDEN), code("x = 2\n" + NAMED["code with a tilde"]), say("ok")
    )
    async with opened(place.environ, place.work, model, KERNEL, attended=False) as session:
        await session.send("go")
        kernels = [one["kernel"] for one in results(session)]
        assert (kernels, told(session)[1:]) == (
            ["started", "kept", "started"],
            [("", False), ("ORDERS", True)],
        )


async def test_a_process_in_the_background_sees_what_its_start_named(place: Place) -> None:
    (place.work / "walk.py").write_text(WALK)
    starts = [run("python3 walk.py", background=True), run("python3 walk.py ~/Downloads", background=True)]
    async with opened(
        place.environ, place.work, ScriptedModel(*starts, say("ok")), {}, attended=False
    ) as session:
        await session.send("go")
        first, second = session.workspace.processes.list()
        done = [await session.workspace.processes.wait(one.id, 30) for one in (first, second)]
    assert ["ORDERS" in one.text for one in done] == [False, True]


async def test_a_workspace_in_it_stays_usable(place: Place) -> None:
    place.work = place.downloads / "project"
    place.work.mkdir()
    command = run("echo made > a.txt; cat a.txt; cd /tmp; cat /etc/hostname > /dev/null && echo on")
    away = run(f"cat {place.work}/a.txt; echo more >> {place.work}/a.txt")
    said = await place.told(command, away, run("pwd"))
    assert ([one for one, _ in said], (place.work / "a.txt").read_text()) == (
        ["made\non", "made", "/tmp"],
        "made\nmore\n",
    )


async def test_a_workspace_in_it_is_seen_by_a_program_that_names_nothing(place: Place) -> None:
    place.work = place.downloads / "project"
    place.work.mkdir()
    (place.work / "walk.py").write_text(WALK)
    (place.home / "bin").mkdir()
    (place.home / "bin" / "go").write_text(
        f"#!/bin/sh\ncat '{place.work}/walk.py' | head -1; {HIDDEN_SHELL}\n"
    )
    (place.home / "bin" / "go").chmod(0o755)
    said = await place.told(run("cd /tmp"), run("~/bin/go"))
    assert said[1] == ("import os\ndenied", False)


async def test_the_folder_itself_can_be_the_workspace(place: Place) -> None:
    place.work = place.downloads
    said = await place.told(run("ls"), run("cd /tmp"), run("python3 - <<X\n" + HIDDEN + "\nX"))
    assert [one for one, _ in said] == ["page.txt", "", "ORDERS"]


async def test_a_folder_that_a_yes_opens_in_it_can_be_written(place: Place) -> None:
    out = place.downloads / "out"
    out.mkdir()
    write = run("python3 w.py", needs={"paths": [str(out)]})
    (place.work / "w.py").write_text(f"open('{out}/made', 'w').write('x')")
    async with opened(place.environ, place.work, ScriptedModel(write, say("ok")), {}) as session:
        assert len(await asked_and_answered(session, "go", Grant())) == 1
    assert (out / "made").read_text() == "x"


async def test_a_folder_that_is_a_link_is_covered_where_it_leads(place: Place) -> None:
    real = place.base / "data"
    place.downloads.rename(real)
    place.downloads.symlink_to(real)
    hidden = code(f"print(open('{place.base}/da' + 'ta/page.txt').read())")
    direct, read = run(f"cat {real}/page.txt"), call("read_file", {"path": f"{real}/page.txt"})
    said = await place.told(hidden, run("cat ~/Downloads/page.txt"), direct, read)
    assert said == [("", False), ("ORDERS", True), ("ORDERS", True), ("", True)]


@pytest.mark.parametrize("where", ["home", "work"])
async def test_a_link_that_leads_to_all_of_the_home_or_the_workspace_covers_nothing(
    place: Place, where: str
) -> None:
    (place.downloads / "page.txt").rename(place.base / "page.txt")
    place.downloads.rmdir()
    place.downloads.symlink_to(place.base / where)
    (place.work / "a.txt").write_text("A")
    said = await place.told(run("python3 -c 'print(open(\"a.txt\").read())'; cat ../home/notes/mine.txt"))
    assert said == [("A\nMINE", False)]


async def test_a_folder_that_is_not_there_changes_nothing(place: Place) -> None:
    (place.downloads / "page.txt").unlink()
    place.downloads.rmdir()
    said = await place.told(run("grep -rhs . ~"), code("print('~/Downloads')"))
    assert said == [("MINE", False), ("~/Downloads", False)]


async def test_a_file_in_its_place_cannot_be_read(place: Place) -> None:
    (place.home / "Mail").write_text("ORDERS\n")
    ((said, _),) = await place.told(run("grep -rh . ~/M*l.none ~ ; true"))
    assert ("ORDERS" in said, "Mail: Permission denied" in said) == (False, True)


async def test_a_sandbox_that_is_set_up_again_covers_it_still(tmp_path: Path) -> None:
    view = View(mode="workspace", covered=(str(tmp_path),), steady=frozenset())
    assert mounted(Mounts(), view) == [Mount(str(tmp_path), "shut", str(tmp_path))]


async def test_who_trusts_all_that_is_read_has_it_open(place: Place) -> None:
    place.flags = {"approvals.untrusted": "trust"}
    ((said, _),) = await place.told(run("grep -rh . ~ | sort"))
    assert said == "MINE\nORDERS"
