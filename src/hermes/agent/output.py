"""An answer of a given form: asked for in words, read, and asked for again where it does not fit."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from hermes.lib.lazy import import_object
from hermes.tools.function_schema import converted, type_schema
from hermes.types.action import PLAN_MODE
from hermes.types.error import OutputInvalid
from hermes.types.event import TurnFinished
from hermes.types.message import Attachment, ContextBlock

if TYPE_CHECKING:
    from hermes.agent.session import Session

T = TypeVar("T")
ATTEMPTS: Final = 3
"""Answers that are looked at before it is given up."""
_ASKED: Final = (
    "The answer to this message, when it comes, is one JSON value that fits this JSON Schema, with nothing"
    " before or after it:\n{schema}"
)
_AGAIN: Final = (
    "That answer does not fit the JSON Schema: {fault}. Answer once more, with the JSON value alone."
)
_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_WRAP: Final = "result"


class OutputForm(Struct, Generic[T], frozen=True):
    """The form of an answer: its JSON Schema, and `read`, which makes the value of JSON; ValueError says what
    does not fit.
    """

    schema: Mapping[str, Any]
    read: Callable[[Any], T]

    def value(self, text: str) -> T:
        """The value that a reply stands for; ValueError says what does not fit."""
        try:
            return self.read(_json_in(text))
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error


class Sending(Protocol):
    """A way to send one message."""

    def __call__(self, text: str, *, attachments: Sequence[Attachment] = ()) -> Awaitable[TurnFinished]:
        """Run a turn and give its end."""


def output_of(kind: type[T]) -> OutputForm[T]:
    """The form of a type: dataclass, TypedDict, msgspec.Struct, pydantic model, or what JSON has.

    What is no object travels in one. TypeError for a type that JSON cannot carry.
    """
    try:
        schema = type_schema(kind)
    except TypeError as error:
        raise TypeError(f"An answer cannot be of the type {kind!r}: JSON cannot carry it.") from error

    def read(given: Any) -> T:
        try:
            value: T = converted(given, kind)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
        return value

    if schema.get("type") == "object":
        return OutputForm(schema, read)
    parts = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    wrapped = {"type": "object", "properties": {_WRAP: schema}, "required": [_WRAP], **parts}
    return OutputForm(wrapped, lambda given: read(_unwrapped(given)))


def output_by(schema: Any) -> OutputForm[Any]:
    """The form that a JSON Schema (2020-12) says, whose value is the JSON itself; ValueError where it is no
    schema.
    """
    validator = import_object("hermes.lib.schema_patterns:schema_checker")()
    if not isinstance(schema, dict):
        raise ValueError("it is no JSON Schema, which is an object")  # noqa: TRY004  # as for any other fault
    try:
        validator.check_schema(schema)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except import_object("jsonschema:SchemaError") as error:
        raise ValueError(f"it is no JSON Schema: {error.message}") from error
    known = import_object("referencing:Registry")()  # which fetches nothing
    _check_references(schema, known)

    def read(given: Any) -> Any:
        for error in validator(schema, registry=known).iter_errors(given):
            raise ValueError(f"{error.json_path}: {error.message}")
        return given

    return OutputForm(schema, read)


def _check_references(schema: Mapping[str, Any], known: Any) -> None:
    """ValueError for a reference that does not lead to a place in the schema itself."""
    made = import_object("referencing.jsonschema:DRAFT202012").create_resource(schema)
    resolver = known.with_resource("", made).resolver()
    unresolvable = import_object("referencing.exceptions:Unresolvable")
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except unresolvable as error:
            raise ValueError(f"$ref {reference!r} leads nowhere in it; nothing is fetched") from error


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _references(one)
    if isinstance(node, dict):
        if isinstance(target := node.get("$ref"), str):
            yield target
        for one in node.values():
            yield from _references(one)


def answer_blocks(session: "Session", schema: Mapping[str, Any] | None) -> Iterator[ContextBlock]:
    """What tells a model of the answer that is wanted: that it is a plan, and the form of it."""
    if session.is_planning:
        yield ContextBlock(kind="limit", text=PLAN_MODE)
    if schema is not None:
        written = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
        yield ContextBlock(kind="output", text=_ASKED.format(schema=written))


async def answered(
    form: OutputForm[T], text: str, send: Sending, attachments: Sequence[Attachment] = ()
) -> T:
    """Send, and again with what does not fit; the value of the first answer that does. OutputInvalid where
    none does.
    """
    end = await send(text, attachments=attachments)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return form.value(said(end))
        except ValueError as error:
            if attempt == ATTEMPTS or end.outcome not in {"done", "refused"}:
                raise OutputInvalid(f"No answer of the form came: {error}.", text=end.text) from error
            end = await send(asked_again(error))
    raise AssertionError("the last attempt ends in an answer or an error")


def said(end: TurnFinished) -> str:
    """The words of a turn that came to an answer; OutputInvalid for one that did not."""
    if end.failure is not None or end.outcome in {"failed", "interrupted"}:
        why = end.failure.message if end.failure else "the turn was stopped"
        raise OutputInvalid(f"No answer came: {why}", text=end.text)
    return end.text


def asked_again(fault: ValueError) -> str:
    """The message that asks for an answer once more."""
    return _AGAIN.format(fault=fault)


def _json_in(text: str) -> Any:
    """The JSON that a reply is, or that stands in its only fence."""
    fenced = _FENCED.findall(text)
    try:
        return msgspec.json.decode(fenced[0] if len(fenced) == 1 else text.strip())
    except msgspec.DecodeError as error:
        raise ValueError("it is not one JSON value") from error


def _unwrapped(given: Any) -> Any:
    """What travels in an object; a model that leaves that out has said the same."""
    return given[_WRAP] if isinstance(given, dict) and given.keys() == {_WRAP} else given
