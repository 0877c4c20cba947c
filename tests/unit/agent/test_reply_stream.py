"""No text is shown twice, whatever number of requests a reply takes."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.reply_stream import ReplyStream
from hermes.agent.services import Redactor
from hermes.lib.secretvalues import SecretValues
from hermes.types.event import Event, ReplyRestarted, TextDelta
from hermes.types.request import Text


class Screen:
    def __init__(self, known: SecretValues | None = None) -> None:
        self.text, self.void = "", []  # type: str, list[str]
        self.stream = ReplyStream(Redactor(known or SecretValues()), self.show)

    def show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.text += event.text
        elif isinstance(event, ReplyRestarted):
            self.void.append(event.void)
            self.text = ""


def test_a_reply_that_repeats_itself_goes_on_where_it_was_cut() -> None:
    screen = Screen()
    for text in ("The answer", " is"):
        screen.stream.feed(Text(text=text))
    screen.stream.restart()
    for text in ("The ans", "wer is 42", "."):
        screen.stream.feed(Text(text=text))
    screen.stream.finish("The answer is 42.")
    assert (screen.text, screen.void) == ("The answer is 42.", [])


def test_a_reply_in_other_words_voids_what_was_shown_once() -> None:
    screen = Screen()
    screen.stream.feed(Text(text="The answer is"))
    screen.stream.restart()
    for text in ("The ", "result", " is 42."):
        screen.stream.feed(Text(text=text))
    screen.stream.finish("The result is 42.")
    assert (screen.text, screen.void) == ("The result is 42.", ["The answer is"])


def test_what_was_shown_stays_known_while_another_request_repeats_it() -> None:
    screen = Screen()
    screen.stream.feed(Text(text="abc"))
    screen.stream.restart()
    screen.stream.feed(Text(text="a"))
    assert screen.stream.partial == "abc"


@given(st.lists(st.lists(st.text("ab", min_size=1, max_size=3), max_size=5), min_size=1, max_size=5))
def test_after_the_end_the_screen_shows_the_last_reply_and_nothing_else(attempts: list[list[str]]) -> None:
    screen = Screen()
    for number, pieces in enumerate(attempts):
        if number:
            screen.stream.restart()
        for piece in pieces:
            screen.stream.feed(Text(text=piece))
    screen.stream.finish("".join(attempts[-1]))
    assert screen.text == "".join(attempts[-1])


def test_a_continuation_goes_on_where_the_text_was_cut_and_shows_nothing_twice() -> None:
    screen = Screen()
    screen.stream.feed(Text(text="The rows of the table are"))
    screen.stream.go_on("The rows of the table are")
    for text in ("rows of ", "the table", " are these."):
        screen.stream.feed(Text(text=text))
    screen.stream.finish("The rows of the table are these.")
    assert (screen.text, screen.void) == ("The rows of the table are these.", [])


def test_a_continuation_that_begins_again_shows_nothing_twice() -> None:
    screen = Screen()
    screen.stream.feed(Text(text="Half of"))
    screen.stream.go_on("Half of")
    screen.stream.feed(Text(text=" an ans"))
    screen.stream.restart()
    for text in (" an", " answer", "."):
        screen.stream.feed(Text(text=text))
    screen.stream.finish("Half of an answer.")
    assert (screen.text, screen.void) == ("Half of an answer.", [])


def test_a_continuation_that_fails_leaves_what_was_shown() -> None:
    screen = Screen()
    screen.stream.feed(Text(text="Half of"))
    screen.stream.go_on("Half of")
    screen.stream.feed(Text(text=" an ans"))
    screen.stream.restart()
    assert screen.stream.partial == screen.text == "Half of an ans"


def test_a_secret_that_a_cut_divides_is_never_shown() -> None:
    screen = Screen(SecretValues("correct-horse-battery"))
    screen.stream.feed(Text(text="It is correct-hor"))
    screen.stream.go_on("It is correct-hor")
    screen.stream.feed(Text(text="se-battery, I say."))
    assert screen.text.startswith("It is ")
    assert "horse" not in screen.text
    assert "correct" not in screen.text


@given(st.lists(st.lists(st.text("ab", min_size=1, max_size=3), max_size=5), min_size=1, max_size=5))
def test_after_the_end_the_screen_shows_all_parts(parts: list[list[str]]) -> None:
    screen, whole = Screen(), ""
    for number, pieces in enumerate(parts):
        if number:
            screen.stream.go_on(whole)
        for piece in pieces:
            screen.stream.feed(Text(text=piece))
        whole += "".join(pieces)
    screen.stream.finish(whole)
    assert (screen.text, screen.void) == (whole, [])
