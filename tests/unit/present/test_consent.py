"""Typed answers: a yes is plain, everything else is a no."""

import pytest

from hermes.present.consent import answer_from, limits
from hermes.types.question import Answer, Approve, Deny, Grant

ALL = Approve(command="make", cwd="/w", reasons=(), rule="r", session_pattern="make", always_pattern="make")
EDIT = Approve(
    command="write", cwd="/w", reasons=(), rule="edit", session_pattern="every edit of the workspace"
)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("", Deny()),
        ("\n", Deny()),
        ("no", Deny()),
        ("y", Deny(reason="y")),
        ("yes", Grant()),
        ("Once", Grant()),
        ("yes please", Deny(reason="yes please")),
        ("session", Grant(scope="session")),
        ("always", Grant(scope="always")),
        ("session 3 uses", Grant(scope="session", uses=3)),
        ("session for 2 h", Grant(scope="session", until=7_300.0)),
        ("always 5 times for 7 days", Grant(scope="always", uses=5, until=604_900.0)),
        ("session for 2 fortnights", Deny(reason="session for 2 fortnights")),
        ("session 0 uses", Deny(reason="session 0 uses")),
        ("always use tabs", Deny(reason="always use tabs")),
    ],
)
def test_words_mean_what_they_plainly_say(typed: str, answer: Answer) -> None:
    assert answer_from(typed, ALL, 100.0) == answer


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("always for 7 days", Deny(reason="always for 7 days")),
        ("always", Deny(reason="always")),
        ("session 3 uses", Grant(scope="session", uses=3)),
    ],
)
def test_words_give_no_yes_that_the_question_does_not_offer(typed: str, answer: Answer) -> None:
    assert answer_from(typed, EDIT, 100.0) == answer


def test_only_limits_of_what_is_offered_are_named() -> None:
    assert [limits(one) for one in (ALL, EDIT, Approve(command="x", cwd="/w", reasons=(), rule="r"))] == [
        "Or a limited yes: session 3 uses, session for 2 h, always for 7 days.",
        "Or a limited yes: session 3 uses, session for 2 h.",
        "",
    ]
