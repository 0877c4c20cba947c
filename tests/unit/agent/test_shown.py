"""No text is shown twice, whatever number of requests a reply takes."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.shown import Shown


class Screen:
    def __init__(self) -> None:
        self.text, self.void = "", []  # type: str, list[str]
        self.shown = Shown(self.show, self.restart)

    def show(self, text: str) -> None:
        self.text += text

    def restart(self, void: str) -> None:
        self.void.append(void)
        self.text = ""


def test_a_reply_that_repeats_itself_goes_on_where_it_was_cut() -> None:
    screen = Screen()
    for text in ("The answer", " is"):
        screen.shown.add(text)
    screen.shown.again()
    for text in ("The ans", "wer is 42", "."):
        screen.shown.add(text)
    screen.shown.finish("The answer is 42.")
    assert (screen.text, screen.void) == ("The answer is 42.", [])


def test_a_reply_in_other_words_voids_what_was_shown_once() -> None:
    screen = Screen()
    screen.shown.add("The answer is")
    screen.shown.again()
    for text in ("The ", "result", " is 42."):
        screen.shown.add(text)
    screen.shown.finish("The result is 42.")
    assert (screen.text, screen.void) == ("The result is 42.", ["The answer is"])


def test_what_was_shown_stays_known_while_another_request_repeats_it() -> None:
    screen = Screen()
    screen.shown.add("abc")
    screen.shown.again()
    screen.shown.add("a")
    assert screen.shown.text == "abc"


@given(st.lists(st.lists(st.text("ab", min_size=1, max_size=3), max_size=5), min_size=1, max_size=5))
def test_after_the_end_the_screen_shows_the_last_reply_and_nothing_else(attempts: list[list[str]]) -> None:
    screen = Screen()
    for number, pieces in enumerate(attempts):
        if number:
            screen.shown.again()
        for piece in pieces:
            screen.shown.add(piece)
    screen.shown.finish("".join(attempts[-1]))
    assert screen.text == "".join(attempts[-1])
