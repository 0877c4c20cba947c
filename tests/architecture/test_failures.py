"""The page on failures tells what the data says, and the data knows every reason."""

from pathlib import Path
from typing import get_args

from hermes.models.errors.classify import reasons, what_follows
from hermes.present.lines import _CAUSES
from hermes.types.error import Reason
from hermes.types.request import LeftOut

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "failures.md"


def table() -> str:
    head = "| reason | what it means | what follows |\n|---|---|---|\n"
    return head + "".join(
        f"| `{reason}` | {entry.meaning} | {what_follows(entry)} |\n" for reason, entry in reasons().items()
    )


def test_the_page_on_failures_has_the_table_of_the_data() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), (
        f"docs/reference/failures.md needs this table:\n{table()}"
    )


def test_every_reason_has_an_entry_and_words_for_the_screen() -> None:
    assert set(reasons()) == set(get_args(Reason)) == set(_CAUSES)


def test_what_can_be_left_out_is_something_that_requests_know() -> None:
    parts = {
        part for entry in reasons().values() for part in (entry.leave_out, *entry.names.values()) if part
    }
    assert parts <= set(get_args(LeftOut))


def test_phrases_are_lower_case_and_none_tells_two_reasons_by_itself() -> None:
    phrases = [phrase for entry in reasons().values() for phrase in entry.phrases]
    assert all(phrase == phrase.lower() for phrase in phrases)
    assert len(phrases) == len(set(phrases))
