"""One question, one answer: the answer on stdout and nothing else, steps on stderr, an exit code that tells
the truth.
"""

import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import anyio
import anyio.to_thread
import click
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.attachments import attachment, is_unseen
from hermes.agent.losses import losses
from hermes.agent.output import OutputForm
from hermes.agent.prompt.folder_trust import NotesInQuestion
from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.apps.cli.jsonlines import JsonLines
from hermes.apps.cli.piped import fitted, understood
from hermes.apps.cli.progress import ensure_model
from hermes.apps.cli.steps import Steps
from hermes.apps.cli.streams import reserved_stdout
from hermes.config.environ import publish
from hermes.environments.settings import TerminalSettings
from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.runtime import Runtime, open_runtime
from hermes.types.error import ConfigError, HermesError
from hermes.types.event import Outcome, TurnFinished
from hermes.types.message import Attachment

if TYPE_CHECKING:
    from hermes.apps.cli.asked_command import AskedCommand

CODES: dict[Outcome, int] = {"done": 0, "failed": 1, "refused": 3, "budget": 4, "cut": 5, "interrupted": 130}
BLOCKED = 6
PATIENCE = 2.0
"""Seconds to wait for a silent stdin before saying so."""
_NAMED = 3


def answer(question: str, choices: Choices) -> int:
    """Answer and give the exit code: 0 answered, 1 failed, 2 usage, 3 an approval was refused, 4 out of steps
    or money, 5 the answer is not whole or not of the form that was asked for, 6 a goal that is not reached
    without the user, 130 interrupted.

    Where a session is resumed and nothing is asked, its turn that was cut off goes on, or its goal.
    """
    found = _understood(_piped())
    piped, attached = (found, ()) if isinstance(found, str) else ("", (found,))
    if not (question.strip() or piped.strip()) and choices.resume in {"", "?"}:
        raise click.UsageError("There is no question: give it after -z, or on stdin.")
    if choices.goal and choices.output_schema:
        raise click.UsageError("--goal and --output-schema do not go together.")
    with reserved_stdout() as out:
        return anyio.run(_run, Said(question, piped, attached), choices, out)


class Said(Struct, frozen=True):
    """What is asked: the words of the command line, and what came on stdin: a text, or a picture or PDF."""

    question: str
    piped: str
    attached: tuple[Attachment, ...] = ()

    def text(self, session: Session, folder: Path) -> str:
        """The message; what was piped is in a file where it would fill the model's window."""
        piped = fitted(self.piped, session, folder)
        return "\n\n".join(part for part in (self.question, piped) if part.strip())


async def _run(said: Said, choices: Choices, out: TextIO) -> int:
    publish(home_with_skills(choices).env_file)
    form, goal = None, "pursue" if choices.goal else ""
    if choices.output_schema:
        form = import_object("hermes.apps.cli.schema_run:wanted_form")(choices.output_schema)
    try:
        attachments = (*said.attached, *map(attachment, choices.images))
    except HermesError as error:
        raise ConfigError(str(error)) from error
    async with open_runtime(profile=choices.profile, flags=choices.flags) as runtime:
        for warning in runtime.warnings:
            click.echo(f"hermes: {visible(warning)}", err=True)
        options = session_options(choices, attended=False)
        notes = None
        if not options.resume:
            notes = await anyio.to_thread.run_sync(runtime.notes_in_question, options)
        session = await runtime.session(options)
        try:
            command = await _commanded(runtime, session, said, choices, options)
            session = command.session if command else session
            if command is not None and not command.goes_on:
                return _told(command.end(), _consumer(session, choices, out))
            if command is not None:
                said = replace(said, question=command.message())
            await ensure_model(runtime, session.endpoint)
            beforehand = _beforehand(session, runtime.settings[TerminalSettings], attachments)
            for sentence in (*beforehand, *_unasked(session, notes)):
                click.echo(f"hermes: {visible(sentence)}", err=True)
            text = said.text(session, runtime.home.results)
            return await _ask(session, text, attachments, form, _consumer(session, choices, out), goal)
        finally:
            await session.close()


async def _commanded(
    runtime: Runtime, session: Session, said: Said, choices: Choices, options: SessionOptions
) -> "AskedCommand | None":
    """What came of a question that is a slash command."""
    if not said.question.lstrip().startswith("/"):
        return None
    run_asked = import_object("hermes.apps.cli.asked_command:run_asked")
    command: AskedCommand | None = await run_asked(runtime, session, said.question, choices, options)
    if command and not command.goes_on and (said.piped or said.attached or choices.images):
        click.echo("hermes: the command sends nothing; stdin and files were left out", err=True)
    return command


def _consumer(session: Session, choices: Choices, out: TextIO) -> JsonLines | Steps:
    """What tells of a turn: lines of JSON, or steps and the answer."""
    if choices.as_json:
        return JsonLines(session, out)
    live = out.isatty() and not choices.output_schema
    return Steps(out, session.services.redactor.redact, verbose=choices.verbose, live=live)


def _told(end: TurnFinished, consumer: JsonLines | Steps) -> int:
    """Show the end of a command that asks the model nothing; its exit code."""
    if end.failure is not None and isinstance(consumer, JsonLines):
        consumer.feed(end)
    consumer.finish(end)
    return CODES[end.outcome]


def _beforehand(
    session: Session, terminal: TerminalSettings, attachments: Sequence[Attachment]
) -> Iterator[str]:
    """What the user should know before the answer."""
    yield from losses(session, terminal)
    place = session.spec.cwd
    if session.log and place != Path.cwd() and place.is_dir():
        yield f"This session works in {place}."
    if unseen := [one.name for one in attachments if is_unseen(one, session)]:
        yield f"{session.endpoint.full_name} learns the name of {', '.join(unseen)} and no more."


def _unasked(session: Session, notes: NotesInQuestion | None) -> Iterator[str]:
    """Which files of a project a new session takes instructions from, though nobody was asked about them."""
    if notes is None or not session.spec.notes:
        return
    names = [str(one.relative_to(notes.folder)) for one in notes.files]
    shown = ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
    yield (
        f"{shown} in {notes.folder} tells the model how to work, and nobody was asked about that folder."
        " context_files.trust: known leaves such files out; the screen asks, and keeps the answer."
    )


async def _ask(
    session: Session,
    text: str,
    attachments: tuple[Attachment, ...],
    form: OutputForm[Any] | None,
    consumer: JsonLines | Steps,
    goal: str,
) -> int:
    output: Any = None
    if goal:
        work = import_object(f"hermes.apps.cli.goal_run:{goal}")
        end, code = await work(session, text, consumer, attachments)
    elif form is not None:
        fitting = import_object("hermes.apps.cli.schema_run:fitting")
        end, code, output = await fitting(session, text, form, consumer, attachments)
    else:
        end = await one_turn(session, text, consumer, attachments)
        code = CODES[end.outcome]
    await session.close()
    consumer.finish(end, output)
    return int(code)


async def one_turn(
    session: Session,
    text: str,
    consumer: JsonLines | Steps,
    attachments: Sequence[Attachment] = (),
    output_schema: Mapping[str, Any] | None = None,
) -> TurnFinished:
    """Run a turn, or without words the one that was cut off, and give its end; a signal interrupts it."""
    end: TurnFinished | None = None
    turn = (
        session.stream(text, attachments=attachments, output_schema=output_schema)
        if text.strip()
        else session.stream_continued()
    )
    async with anyio.create_task_group() as group, turn as events:
        await group.start(interrupt_on_signal, session.interrupt)
        async for event in events:
            consumer.feed(event)
            if isinstance(event, TurnFinished):
                end = event
        group.cancel_scope.cancel()
    if end is None:
        raise AssertionError("a turn ends with TurnFinished")
    return end


async def interrupt_on_signal(
    interrupt: Callable[[], None], *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    """Call this for each signal that asks the program to end."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            interrupt()


def _understood(data: bytes) -> str | Attachment:
    try:
        return understood(data)
    except HermesError as error:
        raise ConfigError(str(error)) from error


def _piped() -> bytes:
    """All of stdin when something was piped or redirected there; a terminal or /dev/null adds nothing."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return b""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return b""
    if not select.select([0], [], [], PATIENCE)[0]:
        click.echo("hermes: waiting for stdin to end (</dev/null if there is nothing to add)", err=True)
    return sys.stdin.buffer.read()
