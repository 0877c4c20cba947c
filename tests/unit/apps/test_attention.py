"""How a person who looks elsewhere is called."""

import pytest

from hermes.apps.tui.attention import ASKED, end_words, signal_of
from hermes.present.settings import DisplaySettings
from hermes.types.event import TurnFinished
from hermes.types.usage import NO_USAGE


def ended(outcome: str, seconds: float) -> TurnFinished:
    return TurnFinished(turn=1, outcome=outcome, text="", usage=NO_USAGE, seconds=seconds)  # type: ignore[arg-type]  # a case's word


@pytest.mark.parametrize(
    ("display", "signal"),
    [
        (DisplaySettings(), ""),
        (DisplaySettings(bell=True), "\a"),
        (DisplaySettings(bell=True, notify="off"), ""),
        (DisplaySettings(notify="bell"), "\a"),
        (
            DisplaySettings(notify="desktop"),
            "\x1b]777;notify;hermes;hermes needs an answer in ~/a\a\x1b]9;hermes needs an answer in ~/a\a",
        ),
    ],
)
def test_a_person_is_called_as_the_settings_say(display: DisplaySettings, signal: str) -> None:
    assert signal_of(display, ASKED, "~/a", {"TERM": "xterm"}) == signal


def test_a_terminal_that_knows_both_forms_of_a_notice_shows_it_once() -> None:
    shown = [
        signal_of(DisplaySettings(notify="desktop"), ASKED, "~", environ).count("needs an answer")
        for environ in ({"TERM": "xterm-kitty"}, {"TERM": "xterm", "TERM_PROGRAM": "WezTerm"}, {})
    ]
    assert shown == [1, 1, 2]


def test_a_notice_reaches_the_terminal_around_tmux_and_a_folder_cannot_forge_one() -> None:
    wrapped = signal_of(
        DisplaySettings(notify="desktop"), ASKED, "~/\a\x1b]0;x", {"TMUX": "/tmp/x", "TERM": "foot"}
    )
    assert wrapped.startswith("\x1bPtmux;\x1b\x1b]777;notify;hermes;")
    assert (wrapped.endswith("\a\x1b\\"), wrapped.count("\a"), wrapped.count("\x1b]")) == (True, 1, 1)


@pytest.mark.parametrize(
    ("outcome", "seconds", "words"),
    [
        ("done", 12.0, "has answered after 12.0s"),
        ("done", 10.0, ""),
        ("failed", 75.0, "could not answer after 1m 15s"),
        ("budget", 75.0, "has stopped after 1m 15s"),
        ("interrupted", 75.0, ""),
    ],
)
def test_the_end_of_a_turn_calls_only_after_a_while_and_not_who_stopped_it(
    outcome: str, seconds: float, words: str
) -> None:
    assert end_words(ended(outcome, seconds), 10.0) == words
