"""What slash commands can do on this screen."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio

from hermes.apps.tui.backing import CHOOSE, keep_mode, with_model_of
from hermes.apps.tui.folder_question import FolderQuestion
from hermes.apps.tui.model_picker import ModelPicker
from hermes.apps.tui.picker import Picker, last_exchange
from hermes.apps.tui.region import key_table
from hermes.apps.tui.replay import replay_lines
from hermes.apps.tui.screen_question import ScreenQuestion
from hermes.apps.tui.started_as import started_as
from hermes.apps.tui.state import TuiState
from hermes.commands.greeting import greet
from hermes.commands.model import ModelArgs
from hermes.commands.model_choices import chosen_endpoint, known_choices, served_choices, served_names
from hermes.commands.trust import tell_left_out
from hermes.present.checkup import CheckResult, checkup_lines
from hermes.present.consent import YES_OR_NO
from hermes.present.markdown import markdown_lines
from hermes.present.spans import line
from hermes.types.error import ConfigError, HermesError, SessionOwned, StoreError
from hermes.types.question import Approve, Clarify, Grant, Reply

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
    from hermes.runtime import Runtime
    from hermes.store.protocol import SessionRow, SessionStore
    from hermes.types.error import Failure
    from hermes.types.request import Endpoint

_SHOWN_ON_RESUME = 3
_STILL = 0.08
_LOOKED_AT = 20


class TuiCommands:
    """The conversation of one desk, as `hermes.commands` sees it."""

    def __init__(self, desk: TuiState) -> None:
        self._desk = desk
        self._questions = ScreenQuestion(desk)
        self.left_out: set[str] = set()
        self._trust = FolderQuestion(desk, self._questions)

    @property
    def session(self) -> "Session | None":
        """The session in front of the person."""
        return self._desk.session

    @property
    def runtime(self) -> "Runtime":
        """What the sessions share; HermesError while it is not open yet."""
        if self._desk.runtime is None:
            raise HermesError("Hermes is still starting; try again in a moment.")
        return self._desk.runtime

    @property
    def sessions(self) -> "SessionStore":
        """The store of all sessions."""
        return self.runtime.store

    @property
    def failure(self) -> "Failure | None":
        """The last failure of a turn."""
        return self._desk.failure

    @property
    def protection(self) -> str:
        """How commands are guarded."""
        return self._desk.region.facts.guard or "not known yet"

    @property
    def keys(self) -> str:
        """The keys, as Markdown."""
        return key_table()

    @property
    def profile(self) -> str:
        """The profile that the screen was started with."""
        return self._desk.start.profile

    @property
    def options(self) -> "SessionOptions":
        """What a new session would be asked for: it goes on with the model in front of the person."""
        return with_model_of(self.session, self._desk.options())

    def report(self, found: Sequence[CheckResult]) -> None:
        """Show what a look at the installation found."""
        self._desk.show(self._desk.transcript.block("notice", checkup_lines(found, self._desk.screen.width)))

    def tell(self, text: str) -> None:
        """Show Markdown."""
        self._desk.show(self._desk.transcript.block("text", markdown_lines(text, self._desk.screen.width)))

    def warn(self, sentence: str) -> None:
        """Show one sentence that says what is wrong."""
        self._desk.warn(sentence)

    def notice(self, sentence: str) -> None:
        """Show one sentence that the person should know."""
        self._desk.notice(sentence)

    def send(self, text: str) -> None:
        """Send a message, now or when the running turn lets it."""
        self._desk.conversation.send(text)
        self._desk.refresh()

    def queue(self, text: str) -> None:
        """Send a message after the running turn."""
        self._desk.conversation.queue(text)
        self._desk.refresh()

    def continue_turn(self) -> None:
        """Go on with the turn that was cut off."""
        self._desk.conversation.continue_turn()
        self._desk.refresh()

    def edit(self, text: str) -> None:
        """Put a text into the draft."""
        self._desk.returned(text)

    def leave(self) -> None:
        """End the screen."""
        self._desk.screen.stop()

    async def agreed(self, title: str, about: str, why: Sequence[str]) -> bool:
        """Whether the person says yes; no when they leave instead."""
        question = Approve(command=about, cwd="", reasons=tuple(why), rule="screen")
        answer = await self._questions.ask(question, title=title, offered=YES_OR_NO)
        return isinstance(answer, Grant)

    async def secret(self, about: str) -> str:
        """What the person types while stars stand for it. What they leave half typed is gone, and a draft
        from before comes back.
        """
        draft = self._desk.editor.set_aside()
        answer = await self._questions.ask(Clarify(text=about), hidden=True)
        self._desk.editor.discard()
        self._desk.editor.insert(draft)
        return answer.text if isinstance(answer, Reply) else ""

    async def open(self, *, resume: str = "") -> None:
        """Put a new session in front of the person, or an earlier one."""
        desk, runtime = self._desk, self.runtime
        found = await self._found(runtime, resume)
        if found and desk.session is not None and found == desk.session.id:
            await self._announce(desk.session, again=True)
            return
        options = desk.options(found) if found else self.options
        chosen = options if found else await self._trust.asked(runtime, options)
        if chosen is None:
            return
        fresh = await runtime.session(chosen)
        if not found:
            await keep_mode(desk.session, fresh)
        old, desk.session = desk.session, fresh
        desk.spawn(partial(desk.follow, fresh))
        if old is not None:
            await old.close()
        await desk.update_status()
        await self._announce(fresh, again=old is not None)
        for asked in fresh.questions.left_behind:
            desk.hear(asked)
        desk.conversation.attach(fresh)
        greet(self, runtime.settings)
        if not fresh.spec.notes and not found:
            tell_left_out(self, fresh)

    def stop_asking(self) -> None:
        """Nobody is there any more to answer a question of the screen's own."""
        self._questions.stop()

    async def pick(self) -> None:
        """Open the list of sessions."""
        local, everywhere = await self._rows(str(self._desk.start.cwd)), await self._rows("")
        picker = Picker(local=local, all=everywhere, now=self.runtime.ports.now())
        self._desk.overlay.picker = picker
        self._desk.spawn(partial(self._look_into, picker))
        self._desk.refresh()

    async def pick_model(self) -> None:
        """Open the list of models; those of the server in use come when it answers."""
        runtime, used = self.runtime, self._desk.session.endpoint if self._desk.session else None
        known = partial(
            known_choices,
            runtime.settings, runtime.environ, runtime.routes.auth.providers(), runtime.model_cache,
        )  # fmt: skip
        now = used.model if used is not None else "none"
        picker = ModelPicker(now=now, models=await anyio.to_thread.run_sync(known), asking=used is not None)
        self._desk.overlay.picker = picker
        self._desk.refresh()
        if used is not None:
            self._desk.spawn(partial(self._ask_server, picker, used))

    async def _ask_server(self, picker: ModelPicker, used: "Endpoint") -> None:
        served = served_choices(used, await served_names(self.runtime, used))
        picker.put_first(served, self._desk.editor.text)
        self._desk.refresh()

    async def _look_into(self, picker: Picker) -> None:
        """Read what was said last in the chosen session, as long as the list is open; one that is passed in
        moving on is not read.
        """
        before = ""
        while self._desk.overlay.picker is picker:
            row = picker.choice(self._desk.editor.text)
            if row is not None and row.id == before and row.id not in picker.said:
                picker.said[row.id] = await self._said_last(row.id)
                self._desk.refresh()
            before = row.id if row is not None else ""
            await anyio.sleep(_STILL)

    async def _said_last(self, session_id: str) -> tuple[str, str]:
        try:
            return last_exchange((await self.sessions.read(session_id)).log)
        except StoreError:  # it is gone, or damaged: that is told when it is chosen
            return "", ""

    async def use_model(self, model: str, base_url: str, key: str) -> None:
        """Answer with another model from now on."""
        desk, runtime = self._desk, self.runtime
        endpoint = await chosen_endpoint(runtime, ModelArgs(model=model, base_url=base_url, key=key))
        desk.chosen = (model, base_url)
        if desk.session is None:
            await self.open()
        if desk.session is not None:
            await desk.session.switch_model(endpoint)
        await desk.update_status()

    async def replay(self, turns: int) -> None:
        """Show the last turns again."""
        if self.session is not None:
            rows = replay_lines(self.session, self._desk.screen.width, turns=turns)
            self._desk.show(
                self._desk.transcript.block("replay", rows or [line("Nothing was said yet.", "dim")])
            )

    async def _found(self, runtime: "Runtime", resume: str) -> str:
        """The id of a session that is named in some way."""
        return (await runtime.store.resolve(resume, cwd=str(self._desk.start.cwd))).id if resume else ""

    async def _announce(self, session: "Session", *, again: bool) -> None:
        desk = self._desk
        if again:
            name = f"“{session.title}”" if session.title else session.id
            desk.show(desk.transcript.block("header", [line(f"session {name}", "dim")]))
        else:
            desk.introduce()
        if session.log:
            desk.show(
                desk.transcript.block(
                    "replay", replay_lines(session, desk.screen.width, turns=_SHOWN_ON_RESUME)
                )
            )

    async def _rows(self, cwd: str) -> "list[SessionRow]":
        own = self.session.id if self.session else ""
        rows = await self.sessions.recent(limit=200, cwd=cwd)
        return [row for row in rows if row.messages and row.id != own]


async def open_first(talk: TuiCommands, desk: TuiState) -> None:
    """The first session of a screen; without a model the screen says what sets one and stays open."""
    choose = desk.start.resume == CHOOSE
    try:
        await talk.open(resume="" if choose else desk.start.resume)
    except ConfigError as error:
        await desk.update_status()
        desk.introduce()
        desk.warn(f"{error} /model NAME http://host:port/v1 sets one here.")
    except SessionOwned as error:
        await _open_beside(talk, desk, str(error))
    except StoreError as error:
        if not desk.start.resume:
            raise
        await talk.open()  # where no session can be had that is said, and once
        desk.warn(str(error))
    if choose:
        await talk.pick()


async def _open_beside(talk: TuiCommands, desk: TuiState, told: str) -> None:
    """A new session with the model of one that is open elsewhere, and what is told of that one."""
    taken = await talk.sessions.resolve(desk.start.resume, cwd=str(desk.start.cwd))
    asked = desk.start.options("", "", "")
    if not (asked.model or asked.base_url):
        desk.chosen = (taken.model, taken.base_url)
    try:
        await talk.open()
    except ConfigError:  # its model cannot be had any more
        desk.chosen = ("", "")
        await talk.open()
    desk.warn(f"{told} This is a new session. {await _one_before(talk, desk, taken)}".rstrip())


async def _one_before(talk: TuiCommands, desk: TuiState, taken: "SessionRow") -> str:
    """How to go on with the last session here that nobody has open; empty where there is none."""
    for row in await talk.sessions.recent(limit=_LOOKED_AT, cwd=str(desk.start.cwd)):
        if row.messages and row.id != taken.id and await talk.sessions.owner_of(row.id) is None:
            name = f" “{row.title}”" if row.title else ""
            command = f"{started_as(desk.start.environ)} -r {row.id}"
            return f"{command} goes on with the one before{name}."
    return ""
