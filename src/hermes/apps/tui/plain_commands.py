"""What slash commands can do where there are only lines."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from hermes.apps.tui.backing import CHOOSE, StartFacts, keep_mode, with_model_of
from hermes.apps.tui.echo import unechoed
from hermes.apps.tui.folder_question import TITLE, WHY
from hermes.apps.tui.picker import age
from hermes.apps.tui.replay import replay_lines
from hermes.commands.greeting import greet
from hermes.commands.model import ModelArgs, in_use
from hermes.commands.model_choices import chosen_endpoint
from hermes.commands.trust import tell_left_out
from hermes.lib.visible import visible
from hermes.present.checkup import CheckResult, checkup_lines
from hermes.present.lines import notice_lines
from hermes.present.markdown import markdown_lines
from hermes.present.spans import cut_text, plain
from hermes.types.error import ConfigError
from hermes.types.event import Notice

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
    from hermes.runtime import Runtime
    from hermes.store.protocol import SessionStore
    from hermes.types.error import Failure

WIDTH: Final = 80
_LISTED: Final = 10
_SHOWN_ON_RESUME: Final = 3


class PlainCommands:
    """The conversation of a person at a terminal without escapes, as `hermes.commands` sees it.

    `waiting` is what is to be sent before the next line is read, `left` whether the person wants to go,
    `continues` whether the turn that was cut off is to go on first.
    """

    def __init__(
        self,
        start: StartFacts,
        runtime: "Runtime",
        show: Callable[[str], None],
        ask: Callable[[str], Awaitable[str]],
    ) -> None:
        self._start, self.runtime, self._show, self._ask = start, runtime, show, ask
        self.session: Session | None = None
        self.failure: Failure | None = None
        self.waiting: list[str] = []
        self.left = self.continues = False
        self.left_out: set[str] = set()

    @property
    def sessions(self) -> "SessionStore":
        """The store of all sessions."""
        return self.runtime.store

    @property
    def protection(self) -> str:
        """How commands are guarded."""
        return f"sandbox {self.session.environment.gate.policy.sandbox}" if self.session else "not known yet"

    @property
    def keys(self) -> str:
        """The keys, as Markdown."""
        return (
            "Ctrl-C stops the running turn, or leaves. An empty line leaves where none runs. While one runs,"
            " commands run at once (`/status`, `/steer MESSAGE`, `/stop`), and other lines wait for its end."
        )

    @property
    def profile(self) -> str:
        """The profile that the app was started with."""
        return self._start.profile

    @property
    def options(self) -> "SessionOptions":
        """What a new session would be asked for: it goes on with the model in front of the person."""
        return with_model_of(self.session, self._start.options("", "", ""))

    def report(self, found: Sequence[CheckResult]) -> None:
        """Show what a look at the installation found."""
        for row in checkup_lines(found, WIDTH):
            self._show(plain(row))

    def tell(self, text: str) -> None:
        """Show Markdown."""
        for row in markdown_lines(text, WIDTH):
            self._show(plain(row))

    def warn(self, sentence: str) -> None:
        """Show what is wrong."""
        self._show(f"error: {visible(sentence)}")

    def notice(self, sentence: str) -> None:
        """Show what the person should know."""
        for row in notice_lines(Notice(level="info", text=sentence), WIDTH):
            self._show(plain(row))

    def send(self, text: str) -> None:
        """Send a message next."""
        self.waiting.append(text)

    def queue(self, text: str) -> None:
        """Send a message next, after a turn that runs."""
        self.waiting.append(text)

    def continue_turn(self) -> None:
        """Go on with the turn that was cut off, before the next line is read."""
        self.continues = True

    def edit(self, text: str) -> None:
        """Show the text, for a line cannot be filled in here."""
        self._show(f"You had said: {visible(text)}")

    def leave(self) -> None:
        """End the app."""
        self.left = True

    async def agreed(self, title: str, about: str, why: Sequence[str]) -> bool:
        """Whether the person types yes."""
        for row in (title, *about.splitlines(), *why):
            self._show(visible(row))
        return (await self._ask("yes, or no (Enter) > ")).strip().lower() in {"y", "yes"}

    async def secret(self, about: str) -> str:
        """What the person types, which the terminal does not show."""
        self._show(visible(about))
        with unechoed():
            return (await self._ask("(not shown; Enter leaves it out) > ")).strip()

    async def open(self, *, resume: str = "") -> None:
        """Put a new session in front of the person, or an earlier one."""
        chosen = (await self.pick_id()) if resume == CHOOSE else resume
        if chosen and self.session is not None:
            chosen = (await self.sessions.resolve(chosen, cwd=str(self._start.cwd))).id
            if chosen == self.session.id:
                return
        options = self._start.options(chosen, "", "") if chosen else self.options
        if not chosen:
            options = await self._with_notes(options)
        fresh = await self.runtime.session(options)
        if not chosen:
            await keep_mode(self.session, fresh)
        old, self.session = self.session, fresh
        if old is not None:
            await old.close()
            self._show(f"session “{fresh.title}”" if fresh.title else f"session {fresh.id}")
            await self.replay(_SHOWN_ON_RESUME)
        greet(self, self.runtime.settings)
        if not fresh.spec.notes and not chosen:
            tell_left_out(self, fresh)

    async def _with_notes(self, options: "SessionOptions") -> "SessionOptions":
        """The options, without the notes of the folder unless they may count; that is asked once."""
        try:
            found = self.runtime.notes_in_question(options)
        except ConfigError:  # opening the session says the same
            return options
        if found is None:
            return options
        names = ", ".join(visible(str(one.relative_to(found.folder))) for one in found.files)
        self._show(f"{TITLE} {self._start.short(found.folder)}: {names}")
        counts = (await self._ask(f"{WHY}; yes, or no (Enter) > ")).strip().lower() in {"y", "yes"}
        self.runtime.trust.keep(found.folder, counts=counts)
        return replace(options, notes=counts)

    async def pick(self) -> None:
        """Let the person choose an earlier session by its number."""
        if chosen := await self.pick_id():
            await self.open(resume=chosen)

    async def pick_id(self) -> str:
        """The id of the session with the number typed; empty for a new one."""
        near = await self.sessions.recent(limit=_LISTED, cwd=str(self._start.cwd))
        found = near or await self.sessions.recent(limit=_LISTED)
        now = self.runtime.ports.now()
        for number, row in enumerate(found, 1):
            name = row.title or row.first_text or row.id
            self._show(cut_text(f"{number:>3}  {age(now - row.updated):>4}  {name}", WIDTH))
        prompt = "Number of the session, or nothing for a new one > "
        said = (await self._ask(prompt)).strip() if found else ""
        return found[int(said) - 1].id if said.isdecimal() and 0 < int(said) <= len(found) else ""

    async def pick_model(self) -> None:
        """Tell which model answers, and how to change it."""
        self.tell(in_use(self))

    async def use_model(self, model: str, base_url: str, key: str) -> None:
        """Answer with another model from now on."""
        wish = ModelArgs(model=model, base_url=base_url, key=key)
        endpoint = await chosen_endpoint(self.runtime, wish)
        if self.session is not None:
            await self.session.switch_model(endpoint)

    async def replay(self, turns: int) -> None:
        """Show the last turns again."""
        for row in replay_lines(self.session, WIDTH, turns=turns) if self.session else ():
            self._show(plain(row))
