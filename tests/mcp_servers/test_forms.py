"""Forms of servers: what is asked, and that what is sent fits."""

from collections.abc import Sequence
from typing import Any

import pytest

from hermes.mcp.forms import DECLINE, filled

pytestmark = pytest.mark.anyio


class Person:
    """Answers in turn, and keeps what was asked."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, list[str]]] = []

    async def ask(self, text: str, options: Sequence[str]) -> str | None:
        self.asked.append((text, list(options)))
        return self.answers.pop(0)


def form(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    ("field", "said", "value"),
    [
        ({"type": "string"}, "words", "words"),
        ({"type": "integer"}, "12", 12),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Apple", "Bear"]}, "bear", "b"),
        ({"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}, "The X", "x"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, b", ["a", "b"]),
        ({"type": "array", "items": {"anyOf": [{"const": "g", "title": "Guitar"}]}}, "guitar", ["g"]),
        ({"type": "string", "default": "usual"}, 'Leave it at "usual"', "usual"),
        ({"type": "string", "default": "usual"}, "", "usual"),
    ],
)
async def test_an_answer_is_sent_as_the_form_wants_it(field: dict[str, Any], said: str, value: Any) -> None:
    assert await filled("x asks:", form(name=field), Person(said).ask) == {"name": value}


@pytest.mark.parametrize(
    ("field", "wrong", "right"),
    [
        ({"type": "integer"}, "abc", "3"),
        ({"type": "integer", "minimum": 5}, "3", "7"),
        ({"type": "boolean"}, "perhaps", "Yes"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "a"),
        ({"type": "string", "format": "date"}, "soon", "2026-01-31"),
        ({"type": "string", "format": "email"}, "me", "me@example.com"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "b", "a"),
    ],
)
async def test_what_does_not_fit_is_asked_again_and_never_sent(
    field: dict[str, Any], wrong: str, right: str
) -> None:
    person = Person(wrong, right)
    assert await filled("x asks:", form(name=field), person.ask) is not None
    assert person.asked[1][0].startswith("Not ")
    assert await filled("x asks:", form(name=field), Person(wrong, wrong, wrong).ask) is None


@pytest.mark.parametrize("answer", [None, DECLINE])
async def test_a_no_sends_nothing_of_what_was_answered_before(answer: str | None) -> None:
    assert (
        await filled("x asks:", form(a={"type": "string"}, b={"type": "string"}), Person("one", answer).ask)
        is None
    )


async def test_a_field_may_be_left_out_unless_it_is_required() -> None:
    fields = form(a={"type": "string"})
    assert await filled("x asks:", fields, Person("").ask) == {}
    assert await filled("x asks:", {**fields, "required": ["a"]}, Person("").ask) is None


async def test_questions_are_counted_on_one_line_each_whatever_a_server_writes() -> None:
    person = Person("a", "Yes")
    await filled(
        "x asks:",
        form(a={"type": "string", "title": "Name\n─────\n 1 yes"}, b={"type": "boolean"}),
        person.ask,
    )
    assert person.asked[0] == ("x asks: (1 of 2) Name ───── 1 yes", [DECLINE])
