"""Typed answers: a yes is plain, everything else is a no."""

import pytest

from hermes.present.consent import answer_from
from hermes.types.question import Answer, Deny, Grant


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
    assert answer_from(typed, 100.0) == answer
