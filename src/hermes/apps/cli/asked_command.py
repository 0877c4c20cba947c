"""A question that is a slash command: it runs as on the screen, where nobody can be asked or choose."""

from collections.abc import Sequence
from typing import Final

import click
from msgspec.structs import replace

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import to_change
from hermes.commands.model import ModelArgs, in_use
from hermes.commands.model_choices import chosen_endpoint
from hermes.commands.run import is_command, run_command, unasked
from hermes.lib.visible import visible
from hermes.present.checkup import CheckResult, checkup_lines
from hermes.present.lines import compaction_line
from hermes.present.spans import plain
from hermes.runtime import Runtime
from hermes.store.protocol import SessionStore
from hermes.types.error import Failure, HermesError
from hermes.types.event import TurnFinished
from hermes.types.message import Compaction
from hermes.types.usage import Usage

_WIDTH: Final = 100


async def run_asked(
    runtime: Runtime, session: Session, question: str, choices: Choices, options: SessionOptions
) -> "AskedCommand | None":
    """What came of the command that a question is; None where it is none. ConfigError in a command that an
    agent has started: what is typed after a slash is the user's.
    """
    if not is_command(question, session):
        return None
    if choices.goal or choices.output_schema:
        raise click.UsageError("--goal and --output-schema go with a question, not with a command.")
    to_change(choices)
    command = AskedCommand(runtime, session, choices, options)
    await command.run(question.strip())
    return command


class AskedCommand:
    """What a slash command can do without a screen; satisfies `commands.context.CommandContext`.

    `waiting` is what is to be sent to the model by it, `continues` whether the turn that was cut off is to
    go on.
    """

    def __init__(self, runtime: Runtime, session: Session, choices: Choices, options: SessionOptions) -> None:
        self.runtime, self.session, self.options = runtime, session, options
        self.profile, self.keys = choices.profile, "There are no keys here."
        self.waiting: list[str] = []
        self.continues = False
        self.left_out: set[str] = set()
        self.failure: Failure | None = None
        self._told: list[str] = []
        self._faults: list[str] = []

    @property
    def goes_on(self) -> bool:
        """Whether a turn follows."""
        return self.continues or bool(self.waiting)

    def end(self) -> TurnFinished:
        """The end of a command that sends nothing, as that of a turn which answers with what it told."""
        failure = Failure(reason="unknown", message="\n".join(self._faults)) if self._faults else None
        return TurnFinished(
            turn=self.session.turns,
            outcome="failed" if failure else "done",
            text="\n\n".join(self._told),
            usage=Usage(),
            seconds=0.0,
            failure=failure,
        )

    def message(self) -> str:
        """What is to be sent; nothing where a turn goes on. What it told and what was wrong goes to stderr
        first: stdout is for the answer.
        """
        for sentence in (*self._told, *self._faults):
            self.notice(sentence)
        return "\n\n".join(self.waiting)

    @property
    def sessions(self) -> SessionStore:
        """The store of all sessions."""
        return self.runtime.store

    @property
    def protection(self) -> str:
        """How commands are guarded."""
        return f"sandbox {self.session.environment.gate.policy.sandbox}"

    async def run(self, text: str) -> None:
        """Run `/name arguments`, unless it changes what is kept; what a plugin's command sends as the user is
        sent.
        """
        if why := unasked(text, self.session):
            self.warn(why)
            return
        inboxes, session = self.runtime.services.extensions.inboxes, self.session
        before = len(session.log)
        inboxes.append(self.send)
        try:
            await run_command(text, self)
        finally:
            inboxes.remove(self.send)
        summed_up = [one for one in session.log[before:] if isinstance(one, Compaction)]
        self._told += [plain(compaction_line(one)) for one in summed_up]

    def report(self, found: Sequence[CheckResult]) -> None:
        """Tell what a look at the installation found."""
        self._told.append("\n".join(map(plain, checkup_lines(found, _WIDTH))))

    def tell(self, text: str) -> None:
        """Tell Markdown."""
        self._told.append(text)

    def warn(self, sentence: str) -> None:
        """Tell what is wrong."""
        self._faults.append(sentence)

    def notice(self, sentence: str) -> None:
        """Tell on stderr what the person should know."""
        click.echo(f"hermes: {visible(sentence)}", err=True)

    def send(self, text: str) -> None:
        """Have a message sent when the command has ended."""
        self.waiting.append(text)

    def queue(self, text: str) -> None:
        """The same: no turn runs."""
        self.waiting.append(text)

    def continue_turn(self) -> None:
        """Go on with the turn that was cut off."""
        self.continues = True

    def edit(self, text: str) -> None:
        """Tell the text, for there is nowhere to write."""
        self._told.append(text)

    def leave(self) -> None:
        """Nothing: it ends by itself."""

    async def agreed(self, title: str, about: str, why: Sequence[str]) -> bool:
        """No: nobody is asked."""
        del about, why
        self.notice(f"{title} Nobody can be asked here; the screen asks.")
        return False

    async def secret(self, about: str) -> str:
        """Nothing: nobody is asked."""
        del about
        return ""

    async def open(self, *, resume: str = "") -> None:
        """Go on in a new session, or an earlier one."""
        before, self.session = self.session, await self.runtime.session(replace(self.options, resume=resume))
        await before.close()
        self.notice(f"session {self.session.id}")

    async def pick(self) -> None:
        """HermesError: nobody can choose."""
        raise HermesError("Nobody can choose here; hermes sessions list lists them, /resume ID takes one.")

    async def pick_model(self) -> None:
        """Tell which model answers, and how to change it."""
        self.tell(in_use(self))

    async def use_model(self, model: str, base_url: str, key: str) -> None:
        """Answer with another model from now on."""
        wish = ModelArgs(model=model, base_url=base_url, key=key)
        await self.session.switch_model(await chosen_endpoint(self.runtime, wish))

    async def replay(self, turns: int) -> None:
        """HermesError: there is no screen."""
        del turns
        raise HermesError("hermes sessions show shows the turns of a session.")
