"""A question whose answer has to fit a JSON Schema: asked, checked, asked again."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from hermes.agent.output import OutputForm, answered, output_by
from hermes.apps.cli.oneshot import CODES, one_turn
from hermes.lib.visible import visible
from hermes.types.error import ConfigError, OutputInvalid

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
    """The last turn, the exit code, and the JSON of the answer; where none fits, which stderr tells, None and
    a turn without words.
    """
    ends: list[TurnFinished] = []

    async def send(text: str, *, attachments: "Sequence[Attachment]" = ()) -> "TurnFinished":
        ends.append(await one_turn(session, text, consumer, attachments, form.schema))
        return ends[-1]

    try:
        output = await answered(form, text, send, attachments)
    except OutputInvalid as error:
        if ends[-1].failure is None and ends[-1].outcome != "interrupted":
            click.echo(f"hermes: {visible(str(error))}", err=True)
        return replace(ends[-1], text=""), CODES[ends[-1].outcome] or NOT_FITTING, None
    return ends[-1], CODES[ends[-1].outcome], output
