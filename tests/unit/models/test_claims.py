import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.local.claims import unshown

SEEN = [
    "How many lines has notes.txt?",
    "./src/cart.py\n./src/pay.py\ntotal 1,234,567 and 20.996 €",
    "Ada Lovelace",
]


@pytest.mark.parametrize(
    "answer",
    [
        "It has none.",
        "notes.txt and src/pay.py",
        "**cart.py**, `pay.py`",
        "1234567, 1.234.567, 1 234 567",
        "about 21.0, 21,0 or 20.996",
        "There are 3 lines.",
        "The author is 'ada lovelace'.",
        "L'auteur est « Ada Lovelace ».",
        "Sie heißt „Ada Lovelace“.",
        "It's what the user's file doesn't say.",
    ],
)
def test_what_has_been_seen_is_no_claim_to_look_up(answer: str) -> None:
    assert unshown(answer, SEEN) == []


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("It has 12 lines.", ["12"]),
        ("There are 17 commits, at 9 and 41.", ["17", "9", "41"]),
        ("The sum is 1,234,568.", ["1,234,568"]),
        ("It is 20.95 on average.", ["20.95"]),
        ("It says 'This is the plan'.", ["This is the plan"]),
        ("Darin steht „Rezept für Pizza“.", ["Rezept für Pizza"]),
        ("Il contient « une recette ».", ["une recette"]),
        ("See `main.rs` and config.yaml, then config.yaml.", ["main.rs", "config.yaml"]),
    ],
)
def test_numbers_quotations_and_files_that_were_not_seen_are_told(answer: str, claims: list[str]) -> None:
    assert unshown(answer, SEEN) == claims


@given(st.text(max_size=200), st.lists(st.text(max_size=50), max_size=3))
def test_an_answer_that_repeats_what_was_seen_claims_nothing_new(answer: str, more: list[str]) -> None:
    assert unshown(answer, [*more, answer]) == []


@given(st.from_regex(r"[0-9]{1,4}([.:/-][0-9]{1,4}){0,4}", fullmatch=True))
def test_a_version_a_time_or_a_date_that_was_shown_is_none_to_look_up(figures: str) -> None:
    assert unshown(f"The value is {figures}", [f'  "value": "{figures}",\n']) == []


def test_a_time_or_a_version_that_was_not_shown_is_told_whole() -> None:
    assert unshown("Version 4.17.2 of 22:14:25.", ["4.17.3 22:14:26"]) == ["22:14:25", "4.17.2"]


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_seen_only_if_it_is_the_same(said: int, seen: int) -> None:
    assert unshown(f"It is {said}.", [f"value {seen}"]) == ([] if said in {seen, 1} else [str(said)])


def test_many_numbers_are_held_against_many() -> None:
    seen = " ".join(str(number) for number in range(0, 60_000, 2))
    answer = "; ".join(str(number) for number in range(1, 600, 2))
    assert unshown(answer, [seen])[:2] == ["3", "5"]  # one line is one
