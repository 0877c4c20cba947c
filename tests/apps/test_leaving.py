"""Leaving takes no time in any state, and leaves the terminal as it was (invariant 37)."""

import random
import re
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, call, fail, say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place
from tests.small_model import ALIAS

ALARMS: Final = re.compile(r"damaged|Traceback|went wrong|Unknown child|RuntimeError|never awaited|✗ error")
MODES: Final = ("\x1b[?2004", "\x1b[?25", "\x1b[?2026", "\x1b[?1049")
"""Bracketed paste, cursor, synchronized output, the other screen: each that is switched is switched back."""
ROUNDS: Final = 12


def words(number: int) -> Any:
    """A reply that goes on until somebody leaves."""
    return say(f"round {number} " + "and on " * 400, size=7, pause=0.05)


STATES: Final[dict[str, tuple[Callable[[int], Any], str]]] = {
    "idle": (lambda number: say(f"answer {number}"), "answer"),
    "streaming": (words, "and on"),
    "a tool": (lambda number: call("terminal", {"command": f"echo begun {number}; sleep 60"}), "begun"),
    "a tool that heeds no signal": (
        lambda number: call("terminal", {"command": f"trap '' TERM INT HUP; echo begun {number}; sleep 60"}),
        "begun",
    ),
    "a question": (
        lambda _: call("clarify", {"question": "Tea or coffee?", "choices": ["tea", "coffee"]}),
        "Tea",
    ),
    "a pause before the next try": (lambda _: fail(503, "overloaded"), "try 1 of"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def left(terminal: Terminal, before: Any) -> float:
    """Leave, and give the seconds that took; the terminal is as it was, and nothing alarms."""
    began = time.monotonic()
    terminal.type("\x04")
    assert terminal.wait(30) == 0, terminal.everything
    seconds = time.monotonic() - began
    said = terminal.raw.decode("utf-8", "replace")
    assert not ALARMS.search(said), terminal.everything
    for mode in MODES:
        switched = re.findall(re.escape(mode) + "([hl])", said)
        assert not switched or switched[-1] == ("h" if mode.endswith("?25") else "l"), mode
    assert termios.tcgetattr(terminal.descriptor) == before
    return seconds


def one_round(
    place: Place, server: ScriptedServer, state: str, resume: str, number: int
) -> tuple[str, float]:
    """Open, get into the state, leave; gives the session and the seconds."""
    with place.window(server.base_url, 80, 24, resume, {}) as terminal:
        before = termios.tcgetattr(terminal.descriptor)
        terminal.until(lambda: "? keys" in terminal.everything, 40)  # what comes back may scroll it away
        terminal.type(f"go on {number}\r")
        terminal.until(STATES[state][1])
        seconds = left(terminal, before)
        (session,) = re.findall(r"hermes -r (\S+)", terminal.text)
    return session, seconds


@pytest.mark.timeout(3600)  # of 200 rounds
def test_leaving_and_coming_back_again_and_again_loses_nothing_and_alarms_nobody(
    place: Place, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = 200 if pytestconfig.getoption("--long") else ROUNDS
    chosen = random.Random(37)
    states = [chosen.choice([*STATES]) for _ in range(rounds)]
    took: list[float] = []
    session = ""
    model = Leaving(states[0])
    with ScriptedServer(model).running() as server:
        for at, state in enumerate(states):
            model.state = state
            session, seconds = one_round(place, server, state, session, at)
            took.append(seconds)
    took.sort()
    with capsys.disabled():
        sys.stdout.write(f"{rounds} rounds: median {took[rounds // 2]:.2f} s, longest {took[-1]:.2f} s\n")


class Leaving(ScriptedModel):
    """Answers every request with what the state of the round wants."""

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state, self._count = state, 0

    def next(self, body: bytes) -> Any:
        del body
        self._count += 1
        return STATES[self.state][0](self._count)


@pytest.mark.real_model
@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["Loading the model", "Reading its instructions"])
def test_the_built_in_model_is_left_while_it_loads_and_while_it_reads(place: Place, moment: str) -> None:
    cache = place.home / "cache"
    models = Path.home() / ".cache" / "hermes" / "models"
    (cache / "models").mkdir(parents=True)
    for file in models.glob(f"{ALIAS}.*"):
        (cache / "models" / file.name).symlink_to(file)
    with place.window(
        "", 80, 24, "", {"HERMES_CACHE": str(cache), "HERMES_MODEL": f"local/{ALIAS}"}
    ) as terminal:
        before = termios.tcgetattr(terminal.descriptor)
        terminal.until("? keys", 40)
        terminal.type("hello\r")
        terminal.until(moment, 60)
        left(terminal, before)
    assert [*cache.rglob("*.state")] == [], "it had read to the end"


def test_leaving_before_the_screen_is_there_is_heard(place: Place) -> None:
    with ScriptedServer(ScriptedModel()).running() as server:
        for pause in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
            with place.window(server.base_url, 80, 24, "", {}) as terminal:
                terminal.read(pause)
                terminal.type("\x04")
                assert terminal.wait(30) == 0, f"after {pause} s:\n{terminal.everything}"
