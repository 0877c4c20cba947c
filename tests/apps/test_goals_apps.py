"""A goal as a person meets it: /goal on the screen and where there are only lines, and `hermes -z … --goal`."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.testing import ScriptedServer, Turn, call, fail, say
from tests.apps.conftest import Run
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place
from tests.scenarios.judged import JudgedModel, fresh, verdict

GOES_ON = verdict("continue", "two is missing")


@contextmanager
def window(place: Place, model: JudgedModel, resume: str = "", **env: str) -> Iterator[Terminal]:
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 30, resume, env) as terminal,
    ):
        yield terminal


def test_on_the_screen_turns_follow_until_the_goal_is_reached(tmp_path: Path) -> None:
    model = JudgedModel(["one", "two"], [GOES_ON, verdict("done", "both are said")])
    with window(Place(tmp_path), model) as terminal:
        terminal.until("? keys", 40)
        terminal.type("/goal say one and two\r")
        terminal.until("goal active, turn 1 of 20: two is missing")
        terminal.until("Go on with the standing goal, turn 2 of 20")
        terminal.until("✓ goal done, turn 2 of 20: both are said")
        shown = terminal.everything
        assert shown.index("goal active, turn 1") < shown.index("Go on with the standing goal, turn 2")
        terminal.type("/status\r")
        terminal.until("goal: done, turn 2 of 20")


def test_esc_pauses_a_goal_which_waits_also_when_its_session_is_opened_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with window(place, JudgedModel([say("one", size=1, pause=4)], [])) as terminal:
        terminal.until("? keys", 40)
        terminal.type("/goal say one and two\r")
        terminal.until("A standing goal")
        terminal.until("writing")
        terminal.type("\x1b")
        terminal.until("goal paused, turn 1 of 20: it was stopped")
        terminal.until(lambda: "goal paused: /goal resume" in terminal.text.splitlines()[-1])
    with window(place, JudgedModel(["two"], [verdict("done")]), "latest") as terminal:
        terminal.until("A goal waits here: say one and two.", 40)
        terminal.type("/goal resume\r")
        terminal.until("✓ goal done, turn 2 of 20")
        terminal.type("/goal clear\r")
        terminal.until("the goal is let go")


def test_where_there_are_only_lines_a_goal_is_pursued_paused_and_let_go(tmp_path: Path) -> None:
    slow = say(GOES_ON, size=1, pause=30, breaks_prefix=True)
    model = JudgedModel(["one", "two", "three"], [GOES_ON, slow, verdict("blocked", "a key is needed")])
    with window(Place(tmp_path), model, TERM="dumb") as terminal:
        terminal.until("an empty line leaves", 40)
        terminal.type("/goal say one and two\n")
        terminal.until("> say one and two …\n")
        terminal.until("> Go on with the standing goal, turn 2 of 20 at most: …\n")
        terminal.until("two\n")
        terminal.until(lambda: len(model.judge.requests) == 2)
        terminal.type("\x03")
        terminal.until("goal paused, turn 1 of 20: it was stopped")
        terminal.type("/goal resume\n")
        terminal.until("goal blocked, turn 2 of 20: a key is needed")
        terminal.type("/goal clear\n")
        terminal.type("/goal\n")
        terminal.until("This session has no goal")
        assert ("Each turn is judged" in terminal.everything, "error:" in terminal.everything) == (
            False,
            False,
        )
        terminal.type("/quit\n")
        assert terminal.wait() == 0


def test_where_there_are_only_lines_a_goal_that_waits_is_told_and_is_no_error(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with window(place, JudgedModel(["one"], [verdict("blocked", "no key")]), TERM="dumb") as terminal:
        terminal.until("an empty line leaves", 40)
        terminal.type(f"/goal {'say one and two ' * 8}\n")
        terminal.until("goal blocked")
        echo = "> " + "say one and two " * 4 + "say one and …\n"
        assert echo in terminal.everything.replace("\r", "")
        terminal.type("/quit\n")
        assert terminal.wait() == 0
    with window(place, JudgedModel([], []), "latest", TERM="dumb") as terminal:
        terminal.until("A goal waits here: say one", 40)
        terminal.until("an empty line leaves")
        assert "error:" not in terminal.everything
        terminal.type("/quit\n")
        assert terminal.wait() == 0


ENDS: dict[str, tuple[list[Any], list[Any], int, str]] = {
    "reached": (["one", "two"], [GOES_ON, verdict("done", "said")], 0, "✓ goal done, turn 2 of 2: said"),
    "blocked": (["one"], [verdict("blocked", "no key")], 6, "✗ goal blocked, turn 1 of 2: no key"),
    "out of turns": (["one", "two"], [GOES_ON, GOES_ON], 4, "its 2 turns are used, and it is not done"),
    "nobody judges": (["one"], [fail(400, "no")], 1, "goal paused, turn 1 of 2: no model answered"),
    "a turn fails": ([fail(400, "no")], [], 1, "goal paused, turn 1 of 2: the turn failed"),
    "refused": (
        [call("terminal", {"command": "id", "needs": {"unconfined": True}}), say("may not")], [verdict("blocked")], 3,
        "goal blocked",
    ),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_without_a_screen_the_exit_code_says_whether_the_goal_is_reached(
    program: Run, environ: dict[str, str], end: str
) -> None:
    replies, judge, code, told = ENDS[end]
    home = Path(environ["HERMES_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("goals: {max_turns: 2}\n")
    with ScriptedServer(JudgedModel(replies, judge)).running() as server:
        done = program("-z", "say one and two", "--goal", "--base-url", server.base_url)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


def test_a_goal_that_waits_goes_on_without_a_screen_and_lines_of_json_tell_of_it(program: Run) -> None:
    with ScriptedServer(JudgedModel(["one"], [verdict("blocked", "no key")])).running() as server:
        program("-z", "say one and two", "--goal", "--base-url", server.base_url)
    with ScriptedServer(JudgedModel(["two"], [verdict("done", "said")])).running() as server:
        done = program("-c", "--goal", "--json", "--base-url", server.base_url)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    goal = {"v": 1, "kind": "goal", "state": "done", "turn": 2, "limit": 20, "reason": "said"}
    assert (done.returncode, [one for one in lines if one["kind"] == "goal"]) == (0, [goal])
    assert (lines[-1]["kind"], lines[-1]["answer"]) == ("end", "two")


def test_a_goal_that_waits_is_named_where_its_session_goes_on_without_a_screen(program: Run) -> None:
    with ScriptedServer(JudgedModel(["one"], [verdict("blocked", "no key")])).running() as server:
        program("-z", "say one\nand two", "--goal", "--base-url", server.base_url)
        done = program("-c", "--base-url", server.base_url)
    assert done.stderr.splitlines()[0] == (
        "hermes: A goal waits here: say one and two. /goal resume goes on with it"
        " (hermes -c --goal </dev/null without a screen), /goal clear lets it go."
    )


def test_a_signal_while_the_goal_is_judged_pauses_it(environ: dict[str, str], tmp_path: Path) -> None:
    asked = threading.Event()

    def slow(_request: dict[str, Any]) -> Turn:
        asked.set()
        return say(GOES_ON, size=1, pause=30, breaks_prefix=True)

    with ScriptedServer(JudgedModel(["one"], [slow])).running() as server:
        argv = [sys.executable, "-m", "hermes", "-z", "go", "--goal", "--base-url", server.base_url]
        process = subprocess.Popen(
            argv, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        asked.wait(60)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, "goal paused, turn 0 of 20: it was stopped" in told) == (130, True)


def test_a_goal_whose_process_was_killed_while_it_was_judged_goes_on_where_it_was(
    program: Run, environ: dict[str, str], work: Path
) -> None:
    asked = threading.Event()

    def slow(_request: dict[str, Any]) -> Turn:
        asked.set()
        return say(GOES_ON, size=1, pause=30, breaks_prefix=True)

    with ScriptedServer(JudgedModel(["one", "two"], [fresh(GOES_ON), slow])).running() as server:
        argv = [sys.executable, "-m", "hermes", "-z", "say it", "--goal", "--base-url", server.base_url]
        process = subprocess.Popen(argv, env=environ, cwd=work, stdin=subprocess.DEVNULL)
        assert asked.wait(60)
        process.kill()
        process.wait()
    with ScriptedServer(JudgedModel(["three"], [verdict("done", "said")])).running() as server:
        done = program("-c", "--goal", "--base-url", server.base_url)
    assert (done.returncode, "✓ goal done, turn 2 of 20: said" in done.stderr) == (0, True)


def test_a_goal_without_a_question_is_a_usage_error(program: Run) -> None:
    done = program("--goal")
    assert (done.returncode, "There is no question" in done.stderr) == (2, True)
