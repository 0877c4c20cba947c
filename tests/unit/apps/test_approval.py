"""A question is answered by nobody but a person who looks at it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.apps.tui.question_box import BURST, STILL, Box, box_lines
from hermes.present.spans import columns, plain
from hermes.types.question import Answer, Approve, Clarify, Deny, Grant, Reply

ALL = Approve(
    command="rm -rf ./build", cwd="/w", reasons=("deletes files not in git",), rule="r",
    session_pattern="rm -rf ./build", always_pattern="rm -rf ./build",
)  # fmt: skip


class Person:
    """Presses keys at a box, with the editor's part played: what the box passes on goes to the draft."""

    def __init__(self, question: Approve | Clarify = ALL, draft: str = "") -> None:
        self.box = Box(id="q", question=question, opened=0.0, config_file="config.yaml")
        self.draft, self.now = draft, 0.0

    def wait(self, seconds: float) -> "Person":
        self.now += seconds
        self.box.due(self.now)
        return self

    def press(self, *keys: str, each: float = 0.2) -> "Person":
        for key in keys:
            verdict = self.box.key(key, self.now, draft=bool(self.draft))
            self.draft += verdict.draft
            if verdict.passed and len(key) == 1:
                self.draft += key
            if self.box.answer is not None:
                break
            self.wait(each)
        return self

    @property
    def answer(self) -> Answer | None:
        return self.box.answer


def test_a_bare_enter_is_no() -> None:
    assert Person().wait(1).press("enter").answer == Deny()


def test_arrows_and_enter_choose() -> None:
    assert [Person().wait(1).press(*["up"] * n, "enter").answer for n in (1, 2, 3)] == [
        Grant(scope="always"), Grant(scope="session"), Grant(scope="once"),
    ]  # fmt: skip


def test_a_digit_only_moves_and_enter_confirms() -> None:
    person = Person().wait(1).press("2")
    assert (person.answer, person.box.cursor) == (None, 1)
    assert person.press("enter").answer == Grant(scope="session")


def test_escape_is_no_and_needs_a_still_keyboard() -> None:
    assert Person().wait(1).press("escape").answer == Deny()
    assert Person().press("escape").answer is None


def test_nothing_counts_until_the_keyboard_was_still() -> None:
    person = Person().press("1", "enter", each=STILL / 2)
    assert (person.answer, person.draft) == (None, "1")


def test_a_burst_goes_to_the_draft_whole() -> None:
    person = Person().wait(1).press("2", " ", "f", "i", "l", "e", "s", "enter", each=BURST / 5)
    assert (person.answer, person.draft) == (None, "2 files")


def test_arrows_and_enter_count_as_fast_as_they_come() -> None:
    keys = [("up", "up", "enter"), ("2", "enter"), ("down", "up", "1", "enter"), ("enter", "enter")]
    given = [Person().wait(1).press(*each, each=0.0).wait(BURST).answer for each in keys]
    assert given == [Grant(scope="session"), Grant(scope="session"), Grant(scope="once"), Deny()]


def test_arrows_do_not_keep_the_box_from_counting() -> None:
    assert Person().press("up", "up", "up", "up", "enter", each=STILL / 2).answer == Grant(scope="session")


def test_a_digit_that_begins_a_sentence_is_not_lost() -> None:
    person = Person().wait(1).press(*"2 files, not 1", each=0.15)
    assert (person.answer, person.draft, person.box.cursor) == (None, "2 files, not 1", 3)


def test_a_draft_keeps_all_keys_until_tab() -> None:
    person = Person(draft="half a thou").wait(1).press("up", "up", "up", "enter", "1", "enter")
    assert (person.answer, person.draft) == (None, "half a thou1")
    assert person.wait(1).press("tab", "1", "enter").answer == Grant(scope="once")


def test_a_paste_belongs_to_the_draft() -> None:
    person = Person().wait(1).press("1")
    assert (person.box.paste(person.now).draft, person.wait(1).answer, person.box.cursor) == ("1", None, 3)


@given(
    before=st.floats(0, 2),
    gaps=st.lists(st.sampled_from([0.0, 0.01, 0.04, 0.06, 0.2, 0.35, 1.0]), min_size=16, max_size=16),
    start=st.integers(0, 14),
)
@settings(max_examples=400, deadline=None)
def test_yes_but_2_files_approves_nothing_at_any_moment(before: float, gaps: list[float], start: int) -> None:
    """`start` letters were typed before the question came, the rest after it, at any speed, and Enter at the end."""
    sentence = "yes but 2 files"
    person = Person(draft=sentence[:start]).wait(before)
    for letter, gap in zip(sentence[start:], gaps, strict=False):
        person.press(letter, each=gap)
    person.press("enter", each=1.0)
    assert (person.answer, person.draft) == (None, sentence)


def test_no_with_a_message_asks_for_words() -> None:
    person = Person().wait(1).press("down", "enter")
    assert (person.answer, person.box.takes_words) == (None, True)
    person.box.words("use git clean -n first")
    assert person.answer == Deny(reason="use git clean -n first")


@pytest.mark.parametrize("pattern", ["", "rm -rf ./build"])
def test_a_key_has_one_meaning_in_all_questions(pattern: str) -> None:
    question = Approve(
        command="x", cwd="/w", reasons=(), rule="r", session_pattern="rm -rf ./build", always_pattern=pattern
    )
    given = {key: Person(question).wait(1).press(key, "enter").answer for key in "124n"}
    once, session = Grant(scope="once"), Grant(scope="session")
    assert given == {"1": once, "2": session, "4": Deny(), "n": Deny()}
    assert Person(question).wait(1).press("5", "enter").box.takes_words
    assert Person(question).wait(1).press("3").draft == ("" if pattern else "3")


def test_a_sentence_that_begins_with_no_goes_to_the_draft_whole() -> None:
    person = Person().wait(1).press(*"not now", each=0.15)
    assert (person.answer, person.draft) == (None, "not now")


def test_the_key_of_a_no_with_words_begins_the_words() -> None:
    person = Person().wait(1).press("5").press(*"keep it", each=0.15)
    assert (person.draft, person.box.takes_words, person.answer) == ("keep it", True, None)
    question = Person(Clarify(text="Which one?", options=("left", "right"))).wait(1).press("3", *"none")
    assert (question.draft, question.box.takes_words) == ("none", True)


def test_an_open_question_without_options_takes_words_at_once() -> None:
    person = Person(Clarify(text="Which one?")).wait(1)
    rows = [plain(row).rstrip() for row in box_lines(person.box, 80, 20)]
    assert rows == ["A question for you", "  Which one?", "Type your answer.", "Enter sends · Esc no"]
    assert Person(Clarify(text="Which one?")).press("escape").answer is None
    assert person.press("escape").answer == Deny()


def test_only_what_the_question_allows_is_offered() -> None:
    question = Approve(command="x", cwd="/w", reasons=(), rule="r")
    assert [choice.label for choice in Person(question).box.choices] == [
        "once",
        "no (n)",
        "no, and say what to do instead",
    ]


def test_the_box_names_patterns_file_place_and_reason() -> None:
    rows = [plain(row) for row in box_lines(Person().box, 80, 20, place=(1, 2))]
    assert rows == [
        "Run this?" + " " * 64 + "1 of 2",
        "  rm -rf ./build",
        "in /w · stopped because: deletes files not in git",
        "  1  once",
        "  2  this session: exactly this command in any directory",
        "  3  always: exactly this command in any directory (saved in config.yaml)",
        "❯ 4  no (n)",
        "  5  no, and say what to do instead",
        "↑↓ Enter · Esc no · Tab from a draft to here",
    ]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("/w$ rm -rf src", "exactly this command in /w"),
        (
            "/w$ make {needs host x.example} {content 0123456789abcdef0123}",
            "exactly this command in /w, with no more than it needs now (host x.example), while the files that it runs stay as they are",
        ),
        ("/w$ git push … (git-push)", "every `git push …` in /w that does nothing else (git-push)"),
        ("requests to x.example", "every command that needs only x.example of the network"),
        ("write /home/me/notes.txt", "writing /home/me/notes.txt, whatever is in it"),
        ("any command (delete)", "every command, in any directory, that does nothing else (delete)"),
    ],
)
def test_what_an_answer_covers_is_said_in_words(pattern: str, words: str) -> None:
    question = Approve(command="x", cwd="/w", reasons=(), rule="r", session_pattern=pattern)
    assert Person(question).box.choices[1].label == f"this session: {words}"


def test_a_long_command_scrolls_and_no_part_of_it_is_lost() -> None:
    words = [f"word{n}" for n in range(400)]
    person = Person(Approve(command=" ".join(words), cwd="/w", reasons=(), rule="r")).wait(1)
    seen: list[str] = []
    for _ in range(60):
        rows = [plain(row) for row in box_lines(person.box, 40, 24)]
        assert all(columns(row) <= 40 for row in box_lines(person.box, 40, 24))
        seen += " ".join(rows).split()
        person.press("pagedown")
    assert [word for word in words if word not in seen] == []


def test_an_open_question_takes_an_option_or_words() -> None:
    question = Clarify(text="Which one?", options=("left", "right"))
    assert Person(question).wait(1).press("down", "enter").answer == Reply(text="right")
    person = Person(question)
    person.box.words("neither")
    assert person.answer == Reply(text="neither")


def test_a_question_that_ends_by_itself_counts_down() -> None:
    question = Approve(command="make", cwd="/w", reasons=(), rule="r")
    box = Box(id="q", question=question, opened=0.0, expires=160.0, now=lambda: 100.0)
    assert plain(box_lines(box, 80, 24)[-1]).startswith("no by itself in 1m 00s · ↑↓ Enter")
    forever = Box(id="q", question=question, opened=0.0)
    assert plain(box_lines(forever, 80, 24)[-1]).startswith("↑↓ Enter")


@pytest.mark.parametrize("word", ["yes", "once", "session", "always", "y"])
def test_no_word_typed_under_no_is_a_yes_without_a_limit(word: str) -> None:
    box = Person().box
    box.words(word)
    assert box.answer == Deny(reason=word)


def test_a_yes_with_a_limit_is_one() -> None:
    box = Person().box
    box.words("session 3 uses")
    assert box.answer == Grant(scope="session", uses=3)


def test_the_box_offers_limits_only_of_what_it_offers() -> None:
    edit = Approve(
        command="x", cwd="/w", reasons=(), rule="edit", session_pattern="every edit of the workspace"
    )
    told = [plain(box_lines(Person(one).wait(1).press("5").box, 120, 20)[-2]) for one in (ALL, edit)]
    assert told == [
        "Say what to do instead. Or a limited yes: session 3 uses, session for 2 h, always for 7 days.",
        "Say what to do instead. Or a limited yes: session 3 uses, session for 2 h.",
    ]


@pytest.mark.parametrize(("width", "height"), [(44, 10), (100, 10), (44, 6), (44, 5)])
@pytest.mark.parametrize("cursor", range(5))
def test_in_a_low_window_the_question_and_its_command_stand_first(
    width: int, height: int, cursor: int
) -> None:
    many = replace(
        ALL, command="rm -rf ./build", reasons=("deletes files not in git", "writes outside " * 22)
    )
    person = Person(many).wait(1)
    person.box.cursor = cursor
    rows = [plain(row) for row in box_lines(person.box, width, height)]
    assert ([row.strip() for row in rows[:2]], len(rows)) == (["Run this?", "rm -rf ./build"], height)
    assert sum(bool(re.fullmatch(r"  lines 1 to \d+ of \d+ · PgUp PgDn", row)) for row in rows) == 1
    assert any(row.startswith(f"❯ {cursor + 1}  ") for row in rows)
    person.press("pagedown")
    assert " ".join(plain(row) for row in box_lines(person.box, width, height)).count("writes outside") > 0


def test_in_a_low_window_the_chosen_answer_is_whole() -> None:
    long = Person(replace(ALL, reasons=("deletes files not in git",) * 4)).wait(1).press("3").box
    assert [plain(row).rstrip() for row in box_lines(long, 44, 10)] == [
        "Run this?",
        "  rm -rf ./build",
        "  lines 1 to 1 of 4 · PgUp PgDn",
        "  1  once",
        "  2  this session: exactly this command in …",
        "❯ 3  always: exactly this command in any",
        "     directory (saved in config.yaml)",
        "  4  no (n)",
        "  5  no, and say what to do instead",
        "↑↓ Enter · Esc no · Tab from a draft to here",
    ]
