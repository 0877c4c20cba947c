"""A question whose answer has to fit a JSON Schema: asked, checked, asked again."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from hermes.agent.output import OutputForm, answered, output_by
from hermes.apps.cli.oneshot import CODES, one_turn
from hermes.types.error import ConfigError, Failure, OutputInvalid
from hermes.types.event import ReplyRestarted

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.apps.cli.jsonlines import JsonLines
    from hermes.apps.cli.steps import Steps
    from hermes.types.event import TurnFinished
    from hermes.types.message import Attachment

NOT_FITTING = 5


def wanted_form(path: str) -> OutputForm[Any]:
    """The form that a file with a JSON Schema says; ConfigError where it holds none."""
    try:
        return output_by(msgspec.json.decode(Path(path).read_bytes()))
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigError(f"{path} cannot be used: {error}.") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error


async def fitting(
    session: "Session",
    text: str,
    form: OutputForm[Any],
    consumer: "JsonLines | Steps",
    attachments: "Sequence[Attachment]",
) -> "tuple[TurnFinished, int, Any]":
    """The last turn with what all took, the exit code, and the JSON of the answer; where none fits, None and
    a turn that failed by that.

    The consumer hears before each further try that the text of the one before is void.
    """
    ends: list[TurnFinished] = []

    async def send(text: str, *, attachments: "Sequence[Attachment]" = ()) -> "TurnFinished":
        if ends:
            consumer.feed(ReplyRestarted(void=ends[-1].text))
        ends.append(await one_turn(session, text, consumer, attachments, form.schema))
        return ends[-1]

    try:
        output = await answered(form, text, send, attachments)
    except OutputInvalid as error:
        end, code = _unanswered(_all_of(ends), error), CODES[ends[-1].outcome] or NOT_FITTING
        if ends[-1].failure is None and end.failure is not None:
            consumer.feed(end)
        return end, code, None
    return _all_of(ends), CODES[ends[-1].outcome], output


def _unanswered(end: "TurnFinished", error: OutputInvalid) -> "TurnFinished":
    """The end of a turn whose answer is of no use: failed by what stopped it, else because nothing fits."""
    end = replace(end, text="")
    if end.failure is not None or end.outcome == "interrupted":
        return end
    outcome = "failed" if end.outcome in {"done", "cut"} else end.outcome
    return replace(end, outcome=outcome, failure=Failure(reason="unknown", message=str(error)))


def _all_of(ends: "Sequence[TurnFinished]") -> "TurnFinished":
    """The last turn, with the tokens and the seconds of all."""
    used = reduce(add, (one.usage for one in ends))
    return replace(ends[-1], usage=used, seconds=sum(one.seconds for one in ends))
