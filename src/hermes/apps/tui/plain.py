"""The same conversation for terminals that understand nothing but text: lines in, lines out, no escape
codes.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec.structs import replace

from hermes.agent.listeners import Listener
from hermes.apps.tui.backing import StartFacts
from hermes.apps.tui.mentions import gathered
from hermes.apps.tui.plain_commands import WIDTH, PlainCommands
from hermes.apps.tui.transcript import Transcript
from hermes.commands.context import opened
from hermes.commands.run import guarded, is_command, run_command
from hermes.commands.skill_settings import ask_for_called
from hermes.lib.aio import background
from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.present.consent import (
    answer_choices,
    answer_from,
    limits,
    place_and_reasons,
    words_under_no,
)
from hermes.present.diff import change
from hermes.present.goals import goal_lines
from hermes.present.lines import asked_about, attempt_line
from hermes.present.settings import DisplaySettings
from hermes.present.spans import Span, line, plain, wrap
from hermes.present.theme import Theme
from hermes.present.touches import touch_sentences
from hermes.types.event import (
    Answered,
    Asked,
    Attempted,
    ChildChanged,
    CompactionStarted,
    Event,
    GoalChanged,
    TurnFinished,
)
from hermes.types.question import Answer, Approve, Clarify, Deny, Question, Reply

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.runtime import Runtime

_INTERRUPTED = 130
_CUT = " …"
_PROMPT = "> "
_LEAVE = frozenset({"", "/quit", "/exit"})


async def run_plain(start: StartFacts, theme: Theme) -> int:
    """Read a line, run a turn, print its lines; an empty line or the end of input leaves, Ctrl-C stops a turn
    or leaves.
    """
    async with start.opening() as runtime:
        display = runtime.settings[DisplaySettings]
        lines = Lines(
            replace(theme, ascii=theme.ascii or display.ascii),
            config_file=str(runtime.home.config_file),
            show_thinking=display.show_thinking,
        )
        for warning in runtime.warnings:
            print(f"warning: {warning}")
        async with anyio.create_task_group() as group:
            await group.start(lines.handle, group.cancel_scope)
            await lines.talk(start, runtime)
            group.cancel_scope.cancel()
    return lines.code


class Lines:
    """One conversation, line by line; `code` is the exit code."""

    def __init__(self, theme: Theme, *, config_file: str, show_thinking: bool) -> None:
        self.code = 0
        self._theme, self._config_file, self._show_thinking = theme, config_file, show_thinking
        self._talk: PlainCommands | None = None
        self._asking, self._typing = anyio.CancelScope(), anyio.CancelScope()
        # invariant: one task reads the terminal; who was cancelled has left before the next one begins
        self._reading = anyio.Lock()
        self._judging = False
        self._shown: dict[str, int] = {}  # by session, the number of its last event that was shown

    async def handle(self, scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Let Ctrl-C stop the running turn, and leave where none runs."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                session = self._talk.session if self._talk else None
                if number == signal.SIGINT and session is not None and (session.busy or self._judging):
                    session.interrupt()
                    self._asking.cancel()
                else:
                    self._print("")
                    self.code = _INTERRUPTED
                    scope.cancel()

    async def talk(self, start: StartFacts, runtime: "Runtime") -> None:
        """Turns and commands until the person leaves."""
        self._talk = talk = PlainCommands(start, runtime, self._print, self._ask)
        runtime.services.extensions.inboxes.append(talk.send)
        await talk.open(resume=start.resume)
        session = opened(talk)
        self._print(f"hermes {start.version} · {session.endpoint.model} · an empty line leaves")
        session.services.routes.warm(session)  # while the first line is typed
        try:
            while not talk.left and (text := await self._next(talk)) not in _LEAVE:
                if is_command(text, opened(talk)):
                    await self._command(talk, text)
                else:
                    await guarded(talk, ask_for_called(talk, text))
                    brought = await anyio.to_thread.run_sync(gathered, text, opened(talk), start.cwd)
                    for sentence in brought.told:
                        self._print(sentence)
                    await self._turn(talk, opened(talk).stream(text, attachments=brought.files))
        finally:
            with anyio.CancelScope(shield=True):
                await opened(talk).close()

    async def _command(self, talk: PlainCommands, text: str) -> None:
        """Run a command, and print what happened in the session by it."""
        with opened(talk).watch() as heard:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, heard)
                await run_command(text, talk)
                heard.close()

    async def _follow(self, events: Listener) -> None:
        transcript = self._transcript()
        async for event in events:
            self._show(transcript, event)

    async def _next(self, talk: PlainCommands) -> str:
        if talk.continues:
            talk.continues = False
            await self._turn(talk, opened(talk).stream_continued())
        if talk.waiting:
            self._print(_echo(talk.waiting[0]))
            return talk.waiting.pop(0)
        return (await self._at_rest(opened(talk))).strip()

    async def _at_rest(self, session: "Session") -> str:
        """The next line; a child that has ended since the last turn is told, over a new prompt."""
        with session.watch(since=self._shown.get(session.id)) as events:
            async with background() as start:
                start(partial(self._tell_of_children, events))
                return await self._ask(_PROMPT)

    async def _tell_of_children(self, events: Listener) -> None:
        transcript = self._transcript()
        async for event in events:
            if isinstance(event, ChildChanged) and event.background and event.has_ended:
                self._print("")
                self._show(transcript, event)
                print(self._theme.text(_PROMPT), end="", flush=True)

    async def _turn(self, talk: PlainCommands, turn: AbstractAsyncContextManager[Listener]) -> None:
        session, asked = opened(talk), list[Asked]()
        transcript = self._transcript()
        end: TurnFinished | None = None
        async with turn as events, background() as start:
            start(partial(self._typed, talk))
            async for event in events:
                self._show(transcript, event)
                if isinstance(event, Attempted) and event.goes_on:
                    self._print(plain(attempt_line(event, event.delay, WIDTH)))
                elif isinstance(event, TurnFinished):
                    talk.failure, end = event.failure, event
                    talk.waiting += [note.text for note in event.unsent if note.kind == "note"]
                elif isinstance(event, Asked) and not event.decided:
                    asked.append(event)
                    if len(asked) == 1:
                        self._typing.cancel()  # the next line is the answer
                        start(partial(self._answered, talk, asked))
                elif isinstance(event, Answered) and asked and asked[0].id == event.id:
                    self._asking.cancel()  # by somebody else
        if end is not None and session.goal is not None and not talk.waiting:
            await self._pursue(talk, end)

    def _transcript(self) -> Transcript:
        return Transcript(
            width=WIDTH, config_fix="hermes doctor tells more.", show_thinking=self._show_thinking
        )

    def _show(self, transcript: Transcript, event: Event) -> None:
        if isinstance(event, CompactionStarted):
            self._print("(summing up older messages; Ctrl-C stops it)")
        for row in transcript.feed(event, time.monotonic()):  # noqa: TID251  # the user's own time
            self._print(plain(row))
        self._shown[event.stamp.session] = event.stamp.sequence

    async def _typed(self, talk: PlainCommands) -> None:
        """What is typed while a turn runs: commands run at once, words wait for its end."""
        with anyio.CancelScope() as self._typing:
            while text := await self._line():
                if is_command(text, talk.session):
                    await run_command(text.strip(), talk)
                    if talk.left:
                        opened(talk).interrupt()
                elif text.strip():
                    talk.queue(text.strip())
                    self._print("(sent when this turn has ended; /steer MESSAGE reaches it now)")

    async def _pursue(self, talk: PlainCommands, end: TurnFinished) -> None:
        """Have the goal judged, and let the message of its next turn wait to be sent; Ctrl-C pauses it."""
        session, self._asking = opened(talk), anyio.CancelScope()
        before, self._judging = session.goal, True
        if text := await import_object("hermes.agent.goals:after_turn")(session, end, self._asking):
            talk.waiting.append(text)
        self._judging = False
        if session.goal is not before:
            for row in goal_lines(GoalChanged(goal=session.goal), WIDTH):
                self._print(plain(row))

    async def _answered(self, talk: PlainCommands, asked: list[Asked]) -> None:
        """Have the questions answered one after the other; then what is typed is read as before."""
        while asked:
            opened(talk).answer(asked[0].id, await self._answer(talk, asked[0].question))
            asked.pop(0)
        await self._typed(talk)

    async def _answer(self, talk: PlainCommands, question: Question) -> Answer:
        if not isinstance(question, Approve):
            return await self._clarified(talk, question)
        if not question.cwd:
            question = replace(question, cwd=str(opened(talk).spec.cwd))
        choices = answer_choices(question, self._config_file)
        told = [place_and_reasons(question), *touch_sentences(question.touches)]
        told += [*(f"  {choice.keys[0]}  {choice.label}" for choice in choices), limits(question)]
        for row in [
            "Make this change?" if question.diff else "Run this?",
            asked_about(question),
            *map(plain, change(visible(question.diff), WIDTH, longest=1_000_000).rows),
            *(plain(part) for text in told if text for part in wrap(line(text), WIDTH)),
        ]:
            self._print(row)
        asked = "Type a number, yes, no, or what to do instead"
        return await self._decided(talk, question, asked, answer_from)

    async def _decided(
        self,
        talk: PlainCommands,
        question: Approve,
        asked: str,
        meant: Callable[[str, Approve, float], Answer],
    ) -> Answer:
        """The answer of the number typed, or what words are `meant` for; a number is never words."""
        said = (await self._said(talk, f"{asked} > ")).strip()
        choices = answer_choices(question, self._config_file)
        given = {key: choice.answer for choice in choices for key in choice.keys}
        if said not in given and not said.isdecimal():
            return meant(said, question, time.time())  # noqa: TID251  # the user's own time
        if (answer := given.get(said)) is not None:
            return answer
        again = "Say what to do instead" if said in given else f"No choice is {said}. Type one, or words"
        return await self._decided(talk, question, again, words_under_no if said in given else meant)

    async def _clarified(self, talk: PlainCommands, question: Clarify) -> Answer:
        """The words typed, or the choice whose number was; no words leave the question unanswered. A number
        that no choice has is taken for words when it is typed again.
        """
        self._print(visible(question.text))
        for number, option in enumerate(question.options, 1):
            self._print(f"  {number}  {visible(option)}")
        asked = "Type a number or your own answer" if question.options else "Type your answer"
        said = (await self._said(talk, f"{asked}; an empty line leaves it open > ")).strip()
        choices = dict(zip(map(str, range(1, 10)), question.options, strict=False))
        if choices and said.isdecimal() and said not in choices:
            again = f"No choice is {said}. Type it again to answer with it, or something else > "
            said = (await self._said(talk, again)).strip()
        chosen = choices.get(said, said)
        return Reply(text=chosen) if chosen else Deny()

    async def _said(self, talk: PlainCommands, prompt: str) -> str:
        """The words typed as an answer; commands typed before them run at once."""
        while is_command(text := await self._ask(prompt)):
            await run_command(text.strip(), talk)
            if talk.left:
                opened(talk).interrupt()
        return text

    async def _ask(self, prompt: str) -> str:
        """One typed line; empty at the end of input."""
        print(self._theme.text(prompt), end="", flush=True)
        with anyio.CancelScope() as self._asking:
            return await self._line()
        return ""

    async def _line(self) -> str:
        """The next line, with its end; "" at the end of input. A thread that waits for it could not be left
        behind.
        """
        async with self._reading:
            await anyio.wait_readable(sys.stdin)
            return os.read(sys.stdin.fileno(), 65536).decode(errors="replace")

    def _print(self, text: str) -> None:
        print(self._theme.text(text), flush=True)


def _echo(text: str) -> str:
    """A message that is sent now, in one line: its first one, up to a word that fits."""
    first, *more = text.split("\n")
    shown, *rest = wrap(line(visible(first)), WIDTH - len(_CUT), first=(Span("> "),))
    return f"{plain(shown)}{_CUT if more or rest else ''}"
