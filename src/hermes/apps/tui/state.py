"""The state that keys, commands and events share, and the two tasks that keep the screen up to date."""

import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from msgspec.structs import replace

from hermes.agent.conversation import Conversation
from hermes.apps.tui.attention import ASKED, end_words, signal_of
from hermes.apps.tui.backing import StartFacts, protection
from hermes.apps.tui.editor import Editor
from hermes.apps.tui.file_completion import FileCompletion
from hermes.apps.tui.git import git_branch
from hermes.apps.tui.mentions import gathered
from hermes.apps.tui.prints import flush_standard, printed_lines
from hermes.apps.tui.question_box import Box
from hermes.apps.tui.region import LiveRegion, Overlay
from hermes.apps.tui.screen import Screen, Views
from hermes.apps.tui.slash_completion import SlashCompletion
from hermes.apps.tui.status import Facts, cost_of, header_lines
from hermes.apps.tui.transcript import Transcript
from hermes.lib.threads import waker
from hermes.present.goals import goal_short
from hermes.present.lines import notice_lines
from hermes.present.settings import DisplaySettings
from hermes.present.spans import Line, line
from hermes.present.words import short_path
from hermes.types.actor import Actor
from hermes.types.event import (
    Added,
    Answered,
    Asked,
    Attempted,
    Event,
    GoalChanged,
    Notice,
    StepStarted,
    ToolFinished,
    TurnFinished,
)
from hermes.types.message import Attachment, Message, ToolResult
from hermes.types.question import Approve

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
    from hermes.apps.tui.chips import Chips
    from hermes.runtime import Runtime
    from hermes.types.error import Failure

_FRAME = 0.05
_TICK = 0.1
_LOOK = 1.0


class TuiState:
    """One screen with one session at a time."""

    def __init__(self, start: StartFacts, screen: Screen, chips: "Chips", group: TaskGroup) -> None:
        self.start, self._group = start, group
        self.runtime: Runtime | None = None
        self.session: Session | None = None
        self.failure: Failure | None = None
        self.chosen = ("", "")
        self.files = FileCompletion(start.cwd, spawn=self.spawn, now=self.now, changed=self._offer)
        self.overlay = Overlay()
        self.transcript = Transcript(width=80, config_fix="/model takes another model, address or key.")
        self.conversation = Conversation(self.spawn, self, files=self._brought)
        self.screen = screen
        screen.buffer.on_text_changed += lambda _: self.conversation.typing()
        slash = SlashCompletion(self.spawn, lambda: self.session, lambda: self.runtime, self._offer)
        self.editor = Editor(screen.buffer, chips, slash.items, self.files.items, lambda: self.overlay.hides)
        screen.hides = lambda: self.overlay.hides
        self._home = Path(start.environ.get("HOME") or Path.home())
        self.region = LiveRegion(
            transcript=self.transcript,
            conversation=self.conversation,
            editor=self.editor,
            overlay=self.overlay,
            facts=Facts(version=start.version, directory=start.directory),
            theme=screen.theme,
            status=DisplaySettings().status,
        )
        self._rows: list[Line] = []
        self._minding = False
        self._dirty, self._lively, self._heard_all = anyio.Event(), anyio.Event(), anyio.Event()
        screen.views = Views(above=self._above, below=self._below)

    # ------------------------------------------------------------------ painting

    def now(self) -> float:
        """Seconds of the screen's clock."""
        return time.monotonic()  # noqa: TID251  # the user's own time

    def show(self, rows: Sequence[Line]) -> None:
        """Add finished lines, with the next picture."""
        self._rows += rows
        self.refresh()

    def refresh(self) -> None:
        """Paint soon: at once after a pause, at most twenty times a second."""
        self._dirty.set()
        if self._moves:
            self._lively.set()

    @property
    def display(self) -> DisplaySettings:
        """The settings of the screen, as far as they are known."""
        return self.runtime.settings[DisplaySettings] if self.runtime else DisplaySettings()

    @property
    def _moves(self) -> bool:
        return self.transcript.lively or self.conversation.busy

    def configure(self, runtime: "Runtime") -> None:
        """Take the runtime, and its settings of the screen."""
        self.runtime = runtime
        display = self.display
        self.region.status = display.status
        self.transcript.show_thinking = display.show_thinking
        self.screen.theme = replace(self.screen.theme, ascii=self.screen.theme.ascii or display.ascii)
        self.refresh()

    def introduce(self) -> None:
        """Put the header into the scrollback; from now on the screen is complete."""
        if not self.region.opened:
            self.spawn(self.show_prints)
        self.region.opened = True
        self.show(self.transcript.block("header", header_lines(self.region.facts, self.screen.width)))

    def refused(self, sentence: str) -> None:
        """Show why a turn could not begin."""
        self.warn(sentence)

    def warn(self, sentence: str) -> None:
        """Show one sentence that says what is wrong."""
        self._told(Notice(level="error", text=sentence))

    def notice(self, sentence: str) -> None:
        """Show one sentence that the person should know."""
        self._told(Notice(level="info", text=sentence))

    def _told(self, notice: Notice) -> None:
        self.show(self.transcript.block("notice", notice_lines(notice, self.screen.width)))

    async def paint(self) -> None:
        """Bring what changed to the screen, as long as it runs."""
        while True:
            await self._dirty.wait()
            self._dirty = anyio.Event()
            self.flush()
            await anyio.sleep(_FRAME)

    def flush(self) -> None:
        """Bring everything to the screen now."""
        self.transcript.width = self.screen.width
        self.region.theme = self.screen.theme
        rows, self._rows = self._rows, []
        if rows:
            self.screen.print(rows)
        else:
            self.screen.refresh()

    async def show_prints(self) -> None:
        """Show what tools and libraries print, as often as pictures are painted."""
        prints, wake, told = self.screen.prints, waker(), [""]
        while True:
            came = anyio.Event()

            def note(came: anyio.Event = came) -> None:
                told[0] = told[0] or self.transcript.printer
                came.set()

            prints.wake = partial(wake, note)
            if prints.waiting:
                note()
            await came.wait()
            await anyio.sleep(_FRAME)
            rows, hidden = prints.take()
            by = told[0] or self.transcript.printer  # which may not have been heard of
            redact = self.session.services.redactor.redact if self.session is not None else str
            shown = printed_lines([redact(row) for row in rows], hidden, by, self.screen.width)
            self.show(self.transcript.block("tool", shown))
            told[0] = ""

    async def tick(self) -> None:
        """Let clocks and spinners move while something runs; nothing is written otherwise."""
        while True:
            await self._lively.wait()
            self._lively = anyio.Event()
            while self._moves:
                self._dirty.set()
                await anyio.sleep(_TICK)

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something beside the screen."""
        self._group.start_soon(work)

    # ------------------------------------------------------------------ events

    async def follow(self, session: "Session") -> None:
        """Show everything that happens in a session, until it closes."""
        self._heard_all = heard_all = anyio.Event()
        with session.watch() as events:
            async for event in events:
                self.hear(event)
        heard_all.set()

    async def show_rest(self) -> None:
        """Show what a session that has closed said last."""
        await self._heard_all.wait()
        self.flush()

    def hear(self, event: Event) -> None:
        """Show one event."""
        self.show(self.transcript.feed(event, self.now()))
        if isinstance(event, ToolFinished):
            flush_standard()  # what a tool printed without a line end
        if isinstance(event, Asked) and not event.decided:
            self._asked(event)
        elif isinstance(event, Answered):
            self.close_box(event.id)
        elif isinstance(event, StepStarted | Attempted):
            self.region.facts = replace(self.region.facts, model=model_after(event))
        elif isinstance(event, Added):
            self._added(event.message)
        elif isinstance(event, TurnFinished):
            self._finished(event)
        elif isinstance(event, GoalChanged):
            self.region.facts = replace(self.region.facts, goal=goal_short(event.goal))

    def _added(self, message: Message) -> None:
        if isinstance(message, ToolResult):
            self.spawn(self._mind_background)
            for text in self.conversation.arrived(message):
                self.sent(text)
        elif self.session is not None:
            self.region.facts = replace(self.region.facts, context=self.session.context_tokens)

    async def _mind_background(self) -> None:
        """Tell how many processes run in the background, until none does; one task looks for all."""
        if self._minding:
            return
        self._minding = True
        while running := len(self.in_background()):
            self._tell_background(running)
            await anyio.sleep(_LOOK)
        self._tell_background(0)
        self._minding = False

    def _tell_background(self, running: int) -> None:
        if running != self.region.facts.background:
            self.region.facts = replace(self.region.facts, background=running)
            self.refresh()

    def in_background(self) -> list[str]:
        """The commands of the processes that run in the background."""
        opened = self.session.opened if self.session is not None else None
        running = opened.workspace.processes.list() if opened is not None else []
        return [one.command for one in running if one.code is None]

    def _asked(self, event: Asked) -> None:
        config = self.runtime.home.config_file if self.runtime else ""
        question = event.question
        if isinstance(question, Approve):
            question = replace(
                question,
                cwd=short_path(Path(question.cwd), self._home)
                if question.cwd
                else self.region.facts.directory,
            )
        self.add_box(
            Box(
                id=event.id,
                question=question,
                opened=self.now(),
                config_file=str(config),
                expires=event.expires,
            )
        )

    def _call_person(self, words: str) -> None:
        """Write what calls somebody who looks elsewhere, as the settings want it."""
        if words:
            signal = signal_of(self.display, words, self.region.facts.directory, self.start.environ)
            self.screen.output.write_raw(signal)
            self.screen.output.flush()

    def add_box(self, box: Box) -> None:
        """Put a question before the person."""
        self.overlay.boxes.append(box)
        self.overlay.asked += 1
        self.screen.output.set_title(f"hermes {ASKED}")
        self._call_person(ASKED)
        self.refresh()

    def close_box(self, question_id: str) -> None:
        """Take an answered question away; the next one starts its guard anew."""
        self.overlay.boxes = [box for box in self.overlay.boxes if box.id != question_id]
        if self.overlay.box is not None:
            self.overlay.box.reopen(self.now())
        else:
            self._forget_boxes()

    def _forget_boxes(self) -> None:
        if self.overlay.asked:
            self.screen.output.set_title("hermes")
            self.screen.output.flush()
        self.overlay.boxes, self.overlay.asked = [], 0

    def _finished(self, end: TurnFinished) -> None:
        self.failure = end.failure or self.failure
        self.overlay.boxes = [box for box in self.overlay.boxes if box.settle is not None]
        if not self.overlay.boxes:
            self._forget_boxes()
        self._call_person(end_words(end, self.display.notify_after))
        self.spawn(self.update_status)
        if self.session is not None:
            self.conversation.finished(end)

    def sent(self, text: str) -> None:
        """Show a message that the model gets now."""
        self.show(self.transcript.sent(text))

    def returned(self, text: str, by: Actor | None = None) -> None:
        """Put a text into the draft."""
        del by  # there is one person at a screen
        self.editor.put(text)
        self.refresh()

    # ------------------------------------------------------------------ facts and files

    def options(self, resume: str = "") -> "SessionOptions":
        """The session to ask the runtime for: as the command line said, with the model and address chosen
        since; one that is resumed after another keeps its own.
        """
        model, base_url = self.chosen if self.session is None or not resume else ("", "")
        return self.start.options(resume, model, base_url)

    async def update_status(self) -> None:
        """Read again what the status line tells."""
        session = self.session
        opened = session.opened if session is not None else None
        left = session.spec.cwd if session is not None else self.start.cwd
        cwd = Path(opened.workspace.cwd) if opened is not None else left
        facts = replace(self.region.facts, branch=await git_branch(cwd), directory=self.start.short(cwd))
        if session is None:
            facts = replace(facts, model="", window=0, context=0)
        else:
            guard, unguarded = protection(session)
            facts = replace(
                facts,
                model=session.endpoint.model,
                window=session.endpoint.known_window,
                context=session.context_tokens,
                guard=guard,
                unguarded=unguarded,
                title=session.title,
                goal=goal_short(session.goal),
                cost=cost_of(session),
            )
            self.transcript.key = session.endpoint.credential
        self.region.facts = facts
        self.refresh()

    def _offer(self) -> None:
        self.editor.update_menu()
        self.refresh()

    async def _brought(self, text: str) -> tuple[Attachment, ...]:
        """The files that a message names; what of them cannot be sent is said."""
        if self.session is None or "@" not in text:
            return ()
        found = await anyio.to_thread.run_sync(gathered, text, self.session, self.start.cwd)
        if found.files:
            names = ", ".join(one.name for one in found.files)
            self.show(self.transcript.block("user", [line(f"  with {names}", "dim")]))
        for sentence in found.told:
            self.notice(sentence)
        return found.files

    def _above(self, width: int, height: int) -> list[Line]:
        waiting = self._rows[-height:] if height > 0 else []  # what a key paints before it is printed
        return [*waiting, *self.region.above(width, height - len(waiting), self.now())]

    def _below(self, width: int, height: int) -> list[Line]:
        return self.region.below(width, height)


def model_after(event: StepStarted | Attempted) -> str:
    """The model that answers after an event, by the name that the status line has for it."""
    if isinstance(event, Attempted) and event.action == "next_endpoint":
        return event.next.partition("/")[2]
    return event.model
