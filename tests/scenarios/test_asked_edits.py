"""Where edits ask, nothing of the workspace changes by a file tool but what a person has seen, as they saw it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.change_mode import ChangeMode
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel, call, calls, say
from hermes.testing.script import Turn
from hermes.types.event import Asked, Event, ToolFinished
from hermes.types.message import ToolResult
from hermes.types.question import Answer, Approve, Deny, Grant

pytestmark = pytest.mark.anyio

PATCH = """*** Begin Patch
*** Update File: a.py
@@
-one = 1
+one = 2
*** Add File: b.py
+two = 2
*** End Patch
"""
KEY = "9f4Tq0zLr7WkXb2Yd8Mv"
WRITE = ("write_file", {"path": "a.py", "content": "one = 3\n"})
BOTH = ("patch", {"mode": "patch", "patch": PATCH})


class Desk:
    """A home whose edits ask, a workspace with one file, and a person who gives these answers, the last one on and on."""

    def __init__(self, root: Path, *answers: Answer, edits: str = "ask") -> None:
        self.home, self.work = root / "home", root / "work"
        (self.home / ".hermes").mkdir(parents=True)
        self.work.mkdir()
        (self.work / "a.py").write_text("one = 1\n")
        settings = {"approvals": {"edits": edits}, "terminal": {"sandbox": "off"}}
        (self.home / ".hermes" / "config.yaml").write_text(json.dumps(settings))
        self.answers, self.asked = list(answers), list[Approve]()
        self.meanwhile: Callable[[], object] = lambda: None

    async def talk(self, *steps: tuple[str, dict[str, Any]], **options: Any) -> tuple[str, ...]:
        """What the tools gave, called one after the other."""
        return await self.talk_in(*(call(name, given) for name, given in steps), **options)

    async def talk_in(self, *turns: Turn, **options: Any) -> tuple[str, ...]:
        """What the tools gave, called in these replies."""
        model = ScriptedModel(*turns, say("done"))
        environ = {"HOME": str(self.home), "HERMES_HOME": str(self.home / ".hermes"), "PATH": "/usr/bin:/bin"}
        environ["SHOP_API_KEY"] = KEY
        async with open_runtime(environ=environ, http=model.http()) as runtime:
            session = await runtime.session(
                SessionOptions(
                    base_url="http://127.0.0.1:1/v1",
                    model="scripted",
                    toolsets=("terminal", "file"),
                    cwd=self.work,
                    attended=bool(self.answers),
                    **options,
                )
            )
            async with session.stream("go on") as stream:
                async for event in stream:
                    self.hear(session, event)
            await session.close()
        return tuple(one.content for one in session.log if isinstance(one, ToolResult))

    def hear(self, session: Session, event: Event) -> None:
        if not isinstance(event, Asked) or event.decided:
            return
        assert isinstance(event.question, Approve)
        self.asked.append(event.question)
        self.session = session
        self.meanwhile()
        session.answer(event.id, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])

    def files(self) -> dict[str, str]:
        return {one.name: one.read_text() for one in sorted(self.work.iterdir()) if one.is_file()}


async def test_the_question_is_the_change_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())
    await desk.talk(WRITE)
    (question,) = desk.asked
    assert question == Approve(
        command=f"write {desk.work / 'a.py'}",
        cwd="",
        reasons=("it changes a file of the workspace, and edits ask",),
        rule="edit",
        diff="--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one = 1\n+one = 3\n",
        session_pattern="every edit of the workspace",
        digest=question.digest,
    )
    assert desk.files() == {"a.py": "one = 3\n"}


async def test_no_changes_nothing_and_says_what_to_do_instead(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny(reason="call it uno"))
    (result,) = await desk.talk(WRITE)
    assert desk.files() == {"a.py": "one = 1\n"}
    assert "They said: call it uno." in result


async def test_once_is_for_one_change_and_the_next_asks(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(), Deny())
    await desk.talk(WRITE, ("write_file", {"path": "a.py", "content": "one = 4\n"}))
    assert (len(desk.asked), desk.files()) == (2, {"a.py": "one = 3\n"})


async def test_the_same_change_asks_again_in_another_call(tmp_path: Path) -> None:
    back = ("write_file", {"path": "a.py", "content": "one = 1\n"})
    desk = Desk(tmp_path, Grant())
    await desk.talk(WRITE, back, WRITE)
    assert len(desk.asked) == 3


async def test_for_the_session_accepts_every_edit(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(scope="session"))
    await desk.talk(WRITE, ("write_file", {"path": "c.py", "content": "x = 1\n"}))
    assert (len(desk.asked), desk.files()) == (1, {"a.py": "one = 3\n", "c.py": "x = 1\n"})


async def test_but_not_what_asks_for_another_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(scope="session"), Deny())
    await desk.talk(WRITE, ("write_file", {"path": str(desk.home / ".bashrc"), "content": "x\n"}))
    assert [one.rule for one in desk.asked] == ["edit", "start-file"]
    assert "+x" in desk.asked[1].diff


async def test_a_yes_for_some_edits_ends_with_the_last_of_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(scope="session", uses=2), Deny())
    steps = [("write_file", {"path": f"{name}.py", "content": "x = 1\n"}) for name in "cde"]
    await desk.talk(*steps)
    assert (len(desk.asked), sorted(desk.files())) == (2, ["a.py", "c.py", "d.py"])


async def test_a_patch_of_several_files_is_one_question(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())
    await desk.talk(BOTH)
    assert (len(desk.asked), desk.files()) == (1, {"a.py": "one = 2\n", "b.py": "two = 2\n"})
    assert "+one = 2" in desk.asked[0].diff
    assert "+two = 2" in desk.asked[0].diff


async def test_a_patch_that_fails_half_way_is_put_back_without_another_question(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())

    def occupy() -> None:
        (desk.work / "b.py").mkdir()

    desk.meanwhile = occupy
    (result,) = await desk.talk(BOTH)
    assert "error" in result
    assert (len(desk.asked), desk.files()) == (1, {"a.py": "one = 1\n"})


async def test_what_changed_while_a_person_looked_is_not_overwritten(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())
    desk.meanwhile = lambda: (desk.work / "a.py").write_text("mine = 1\n")
    (result,) = await desk.talk(WRITE)
    assert "changed while the user looked" in result
    assert desk.files() == {"a.py": "mine = 1\n"}


async def test_where_nobody_can_be_asked_nothing_changes_and_a_sentence_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (result,) = await desk.talk(WRITE)
    assert desk.files() == {"a.py": "one = 1\n"}
    assert "Nobody can be asked here, so this did not run" in result
    assert "edits ask" in result


async def test_whoever_answers_everything_with_yes_is_not_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny())
    await desk.talk(WRITE, yolo=True)
    assert (desk.asked, desk.files()) == ([], {"a.py": "one = 3\n"})


async def test_without_it_edits_of_the_workspace_are_free(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny(), edits="free")
    await desk.talk(WRITE)
    assert (desk.asked, desk.files()) == ([], {"a.py": "one = 3\n"})


async def test_a_change_that_is_no_text_is_said_not_to_be_shown(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny())
    await desk.talk(("write_file", {"path": "long.txt", "content": "word\n" * 20_000}))
    assert desk.asked[0].reasons[-1] == "the change is not shown: it is no text, or too long"


async def test_a_secret_in_the_lines_around_a_change_is_not_in_the_question(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny())
    (desk.work / "a.py").write_text(f"key = '{KEY}'\none = 1\n")
    await desk.talk(
        ("patch", {"mode": "replace", "path": "a.py", "old_string": "one = 1", "new_string": "one = 2"})
    )
    assert "+one = 2" in desk.asked[0].diff
    assert KEY not in desk.asked[0].diff


BODY = [f"{at:02}{'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC' * 2}"[:64] for at in range(20)]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----", ""])
CHANGE = ("patch", {"mode": "replace", "path": "x.conf", "old_string": "one = 1", "new_string": "one = 2"})


async def test_lines_of_a_key_whose_beginning_is_not_shown_are_not_in_the_question(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())
    (desk.work / "x.conf").write_text(f"{PEM}one = 1\n")
    (given,) = await desk.talk(CHANGE)
    hidden = "".join(f" {line}\n" for line in ["[redacted]"] * 3)
    assert (
        desk.asked[0].diff == f"--- a/x.conf\n+++ b/x.conf\n@@ -20,4 +20,4 @@\n{hidden}-one = 1\n+one = 2\n"
    )
    assert json.loads(given)["diff"] == desk.asked[0].diff


async def test_a_file_of_secrets_by_its_name_is_shown_without_its_values(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(scope="session"), Deny())
    (desk.work / ".env").write_text("# where\nHOST=a.example\nGREETING=open sesame\n")
    await desk.talk(
        ("write_file", {"path": ".env", "content": "# where\nHOST=b.example\nGREETING=open sesame\n"})
    )
    names = "".join(
        f"{one}\n" for one in (" # where", "-HOST=[redacted]", "+HOST=[redacted]", " GREETING=[redacted]")
    )
    assert desk.asked[-1].diff == f"--- a/.env\n+++ b/.env\n@@ -1,3 +1,3 @@\n{names}"


@pytest.mark.parametrize("path", ["notes.txt", ".env/", "linked/.env"])
@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_so_it_is_by_any_name_that_leads_to_it(tmp_path: Path, path: str, tool: str) -> None:
    desk = Desk(tmp_path, Grant())
    (desk.work / ".env").write_text("HOST=a.example\nGREETING=open sesame\n")
    (desk.work / "notes.txt").symlink_to(".env")
    (desk.work / "linked").symlink_to(".")
    given = {
        "write_file": {"path": path, "content": "HOST=b.example\nGREETING=open sesame\n"},
        "patch": {"path": path, "old_string": "HOST=a.example", "new_string": "HOST=b.example"},
    }
    (result,) = await desk.talk((tool, given[tool]))
    body = "@@ -1,2 +1,2 @@\n-HOST=[redacted]\n+HOST=[redacted]\n GREETING=[redacted]\n"
    assert desk.asked[-1].diff == f"--- a/{path}\n+++ b/{path}\n{body}"
    assert "sesame" not in result


OUTSIDE = """*** Begin Patch
*** Update File: a.py
@@
-one = 1
+one = 2
*** Add File: {outside}
+two = 2
*** End Patch
"""


async def test_a_yes_to_a_patch_covers_no_file_that_asks_for_another_reason(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant(scope="session"), Deny())
    outside = desk.home / ".bashrc"
    await desk.talk(("patch", {"mode": "patch", "patch": OUTSIDE.format(outside=outside)}))
    assert [one.command for one in desk.asked] == [f"write {desk.work / 'a.py'}", f"write {outside}"]
    assert ((desk.work / "a.py").read_text(), outside.exists()) == ("one = 1\n", False)


async def test_what_looks_like_a_key_hides_no_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Deny())
    text = "# -----BEGIN PRIVATE KEY-----\nimport os\nos.system('made')\n"
    await desk.talk(("write_file", {"path": "a.py", "content": text}))
    assert "+os.system('made')" in desk.asked[0].diff


async def test_plan_mode_that_begins_while_it_is_asked_holds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Grant())
    desk.meanwhile = lambda: setattr(desk.session, "mode", ChangeMode(planning=True))
    (said,) = await desk.talk(WRITE)
    assert ((desk.work / "a.py").read_text(), "plan" in said.lower()) == ("one = 1\n", True)


class Waiting(Desk):
    """A person who answers the question about c.py when two are open, and the other with no once the first call has ended."""

    def hear(self, session: Session, event: Event) -> None:
        if isinstance(event, Asked) and isinstance(event.question, Approve):
            self.asked.append(event.question)
            self.ids = {**getattr(self, "ids", {}), event.question.command[-4:]: event.id}
            if len(self.ids) == 2:
                session.answer(self.ids.pop("c.py"), self.answers[0])
        elif isinstance(event, ToolFinished):
            session.answer(next(iter(self.ids.values())), Deny())


async def test_the_answer_to_every_edit_settles_those_that_wait_too(tmp_path: Path) -> None:
    desk = Waiting(tmp_path, Grant(scope="session"))
    await desk.talk_in(
        calls(*(("write_file", {"path": f"{name}.py", "content": "x = 1\n"}) for name in "cd"))
    )
    assert (len(desk.asked), sorted(desk.files())) == (2, ["a.py", "c.py", "d.py"])


async def test_and_of_a_number_of_edits_as_many(tmp_path: Path) -> None:
    desk = Waiting(tmp_path, Grant(scope="session", uses=2))
    await desk.talk_in(
        calls(*(("write_file", {"path": f"{name}.py", "content": "x = 1\n"}) for name in "cd"))
    )
    assert (len(desk.asked), sorted(desk.files())) == (2, ["a.py", "c.py", "d.py"])


async def test_a_yes_that_covers_no_other_question_leaves_it_open(tmp_path: Path) -> None:
    desk = Waiting(tmp_path, Grant(scope="session"))
    outside = desk.home / ".bashrc"
    inside = ("write_file", {"path": "c.py", "content": "x = 1\n"})
    await desk.talk_in(calls(inside, ("write_file", {"path": str(outside), "content": "x\n"})))
    assert (len(desk.asked), sorted(desk.files()), outside.exists()) == (2, ["a.py", "c.py"], False)


async def test_a_yes_to_one_change_leaves_the_other_question_open(tmp_path: Path) -> None:
    desk = Waiting(tmp_path, Grant())
    await desk.talk_in(
        calls(*(("write_file", {"path": f"{name}.py", "content": "x = 1\n"}) for name in "cd"))
    )
    assert (len(desk.asked), sorted(desk.files())) == (2, ["a.py", "c.py"])
