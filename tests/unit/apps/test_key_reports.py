"""Keys in the forms in which terminals report them, and what they mean."""

import pytest

from hermes.apps.tui.key_reports import cut_at, translated


@pytest.mark.parametrize(
    ("reported", "meant"),
    [
        ("\x1b[13;2u", "\x1b\r"),  # Shift-Enter
        ("\x1b[27;2;13~", "\x1b\r"),  # the same from xterm
        ("\x1b[13;130u", "\x1b\r"),  # the same with the number lock
        ("\x1b[13;5u", "\r"),  # Ctrl-Enter sends, as ever
        ("\x1b[27u", "\x1b"),  # Esc
        ("\x1b[99;5u", "\x03"),  # Ctrl-C
        ("\x1b[27;5;99~", "\x03"),  # the same from xterm
        ("\x1b[1089::99;5u", "\x03"),  # the same key on a Russian keyboard
        ("\x1b[97;3u", "\x1ba"),  # Alt-A
        ("\x1b[97:65;4u", "\x1bA"),  # Alt-Shift-A
        ("\x1b[127;3u", "\x1b\x7f"),  # Alt-Backspace
        ("\x1b[9;2u", "\x1b[Z"),  # Shift-Tab
        ("\x1b[57419u", "\x1b[A"),  # Up of the number pad
        ("\x1b[57358u", ""),  # a lock by itself
        ("\x1b[1;129A", "\x1b[A"),  # Up with the number lock
        ("\x1b[1;3A", "\x1b[1;3A"),  # Alt-Up
        ("\x1b[5;129~", "\x1b[5~"),  # Page up with the number lock
        ("\x1b[A\x1bOP\x1b[200~", "\x1b[A\x1bOP\x1b[200~"),
        ("so é 27;2;13~", "so é 27;2;13~"),
    ],
)
def test_a_reported_key_is_the_one_that_was_pressed(reported: str, meant: str) -> None:
    assert translated(reported) == meant


@pytest.mark.parametrize(
    ("read", "held"), [("ab\x1b[13;2", "\x1b[13;2"), ("ab\x1b[13;2u", ""), ("ab\x1b[", ""), ("\x1b", "")]
)
def test_a_report_is_waited_for_to_its_end(read: str, held: str) -> None:
    assert read[cut_at(read) :] == held
