"""One question, one answer: the answer on stdout and nothing else, steps on stderr, an exit code that tells
the truth.
"""

import os
import select
import signal
import stat
import sys
from collections.abc import Callable

import anyio
import click

from hermes.agent.losses import losses
from hermes.agent.session import Session
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.jsonlines import JsonLines
from hermes.apps.cli.progress import ensure_model
from hermes.apps.cli.steps import Steps
from hermes.config.environ import environment, publish
from hermes.config.home import locate
from hermes.environments.settings import TerminalSettings
from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.runtime import Runtime, open_runtime
from hermes.types.event import Outcome, TurnFinished

CODES: dict[Outcome, int] = {"done": 0, "failed": 1, "refused": 3, "budget": 4, "cut": 5, "interrupted": 130}
BLOCKED = 6
PATIENCE = 2.0
"""Seconds to wait for a silent stdin before saying so."""


def answer(question: str, choices: Choices) -> int:
    """Answer and give the exit code: 0 answered, 1 failed, 2 usage, 3 an approval was refused, 4 out of
    steps, 5 the answer is not whole, 6 a goal that is not reached without the user, 130 interrupted.

    Where a session is resumed and nothing is asked, its turn that was cut off goes on, or its goal.
    """
    text = "\n\n".join(part for part in (question, _piped()) if part.strip())
    if not text.strip() and choices.resume in {"", "?"}:
        raise click.UsageError("There is no question: give it after -z, or on stdin.")
    return anyio.run(_run, text, choices)


async def _run(text: str, choices: Choices) -> int:
    publish(locate(environment(), choices.profile).env_file)
    async with open_runtime(profile=choices.profile) as runtime:
        for warning in runtime.loaded.warnings:
            click.echo(f"hermes: {warning}", err=True)
        await ensure_model(runtime, choices)
        return await _ask(runtime, text, choices)


async def _ask(runtime: Runtime, text: str, choices: Choices) -> int:
    session = await runtime.session(session_options(choices, attended=False))
    for loss in losses(session, runtime.settings[TerminalSettings]):
        click.echo(f"hermes: {visible(loss)}", err=True)
    consumer: JsonLines | Steps = JsonLines(session) if choices.as_json else Steps(verbose=choices.verbose)
    try:
        if choices.goal:
            end, code = await import_object("hermes.apps.cli.goal_run:pursue")(session, text, consumer)
        else:
            end = await one_turn(session, text, consumer)
            code = CODES[end.outcome]
    finally:
        await session.close()
    consumer.finish(end)
    return int(code)


async def one_turn(session: Session, text: str, consumer: JsonLines | Steps) -> TurnFinished:
    """Run a turn, or without words the one that was cut off, and give its end; a signal interrupts it."""
    end: TurnFinished | None = None
    turn = session.stream(text) if text.strip() else session.stream_continued()
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


def _piped() -> str:
    """All of stdin when something was piped or redirected there; a terminal or /dev/null adds nothing."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([0], [], [], PATIENCE)[0]:
        click.echo("hermes: waiting for stdin to end (</dev/null if there is nothing to add)", err=True)
    return sys.stdin.buffer.read().decode("utf-8", "replace")
