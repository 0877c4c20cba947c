"""Children on the screen: a line each that changes, a list, and the end of one branch; a real program in a real PTY."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes.testing import ScriptedServer, call, say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place
from tests.scenarios.family import FamilyModel, task

HOLD = "while [ ! -e released ]; do sleep 0.1; done; echo free"


@contextmanager
def family(place: Place, model: FamilyModel, columns: int = 80) -> Iterator[Terminal]:
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, columns, 24, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        yield terminal


def test_each_child_has_a_line_that_changes_and_agents_cancels_one(tmp_path: Path) -> None:
    tasks = {"tasks": [{"goal": "dig a hole"}, {"goal": "sow seeds"}]}
    model = FamilyModel(
        {
            "garden": [call("delegate_task", tasks), say("the garden is half done")],
            "dig a hole": [call("terminal", {"command": HOLD}), say("never")],
            "sow seeds": [say("Done: sown.")],
        }
    )
    with family(Place(tmp_path), model) as terminal:
        terminal.type("garden\r")
        terminal.until("● dig a hole · terminal while")
        shown = terminal.until("✓ sow seeds · done")
        assert re.search(
            r"child +2 tasks .*\n +● dig a hole · terminal while.*\n +✓ sow seeds · done · ", shown
        )
        terminal.type("/agents\r")
        shown = terminal.until("ones begin.")
        assert re.search(r"• 1 dig a hole: terminal while", shown)
        assert "2 sow seeds" not in shown
        terminal.type("/agents stop 1\r")
        terminal.until("Cancelled: dig a hole")
        shown = terminal.until("the garden is half done")
        assert re.search(r"child +2 tasks .*\n +✗ dig a hole · cancelled .*\n +✓ sow seeds · done · ", shown)


def test_a_child_in_the_background_leaves_a_line_when_it_has_ended_and_stop_cancels_it(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    model = FamilyModel(
        {
            "garden": [
                call(*task("dig a hole", background=True)),
                say("it is being dug"),
                call(*task("dig another", background=True)),
                say("digging again"),
            ],
            "dig a hole": [call("terminal", {"command": HOLD}), say("Done: dug.")],
            "dig another": [call("terminal", {"command": "sleep 60"}), say("never")],
        }
    )
    with family(place, model) as terminal:
        terminal.type("garden\r")
        shown = terminal.until("it is being dug")
        assert re.search(r"[○●] dig a hole · \w", shown)
        (place.project / "released").write_text("")
        terminal.until("✓ dig a hole · done · ")
        terminal.type("again\r")
        terminal.until("digging again")
        terminal.type("/stop\r")
        terminal.until("Cancelled 1 child.")
        terminal.until("✗ dig another · cancelled")


def test_without_escapes_agents_lists_and_cancels_a_child_in_the_background(tmp_path: Path) -> None:
    model = FamilyModel(
        {
            "garden": [call(*task("dig a hole", background=True)), say("it is being dug")],
            "dig a hole": [call("terminal", {"command": "sleep 60"}), say("never")],
        }
    )
    with (
        ScriptedServer(model).running() as server,
        Place(tmp_path).window(server.base_url, 80, 24, "", {"TERM": "dumb"}) as terminal,
    ):
        terminal.until("an empty line leaves", 40)
        terminal.type("garden\n")
        terminal.until("it is being dug")
        terminal.type("/agents\n")
        terminal.until("1 dig a hole: ")
        terminal.type("/agents stop 1\n")
        terminal.until("Cancelled: dig a hole")
        terminal.type("/quit\n")
        assert terminal.wait() == 0


def test_without_escapes_a_child_in_the_background_leaves_a_line_when_it_has_ended(tmp_path: Path) -> None:
    place = Place(tmp_path)
    model = FamilyModel(
        {
            "garden": [call(*task("dig a hole", background=True)), say("it is being dug"), say("thanks")],
            "dig a hole": [call("terminal", {"command": HOLD}), say("Done: dug.")],
        }
    )
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 80, 24, "", {"TERM": "dumb"}) as terminal,
    ):
        terminal.until("an empty line leaves", 40)
        terminal.type("garden\n")
        terminal.until("it is being dug")
        (place.project / "released").write_text("")
        terminal.until("✓ dig a hole · done · ")
        terminal.type("and now?\n")
        shown = terminal.until("thanks")
        assert re.search(r"it is being dug\n>\n✓ dig a hole · done · [^\n]+\n> and now\?\n", shown)
        assert shown.count("✓ dig a hole") == 1
        terminal.type("/quit\n")
        assert terminal.wait() == 0


def test_leaving_tells_of_children_that_end_with_the_session_and_what_they_used(tmp_path: Path) -> None:
    place = Place(tmp_path)
    garden = [call(*task("dig a hole", background=True)), say("it is being dug")]
    hole = [call("terminal", {"command": HOLD}), say("never")]
    with family(place, FamilyModel({"garden": garden, "dig a hole": hole}), 140) as terminal:
        terminal.type("garden\r")
        terminal.until("it is being dug")
        while "dig a hole: terminal while" not in terminal.text:  # the list is of now, and the child begins
            terminal.type("/agents\r")
            terminal.until("ones begin.")
            terminal.read(0.5)
        terminal.type("/quit\r")
        shown = terminal.until("ended with it")
    assert re.search(r"^to go on: hermes -r \S+ · 1 child ended with it · ", shown, re.MULTILINE)
    # All that was used has no price: one figure stands for both, where the child's part is in both.
    assert len(re.findall(r"\S+ tokens", shown.partition("ended with it")[2])) == 1
