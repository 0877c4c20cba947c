"""What an interactive app offers to slash commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hermes.present.checkup import CheckResult
from hermes.types.error import Failure, HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
    from hermes.runtime import Runtime
    from hermes.store.protocol import SessionStore


class CommandContext(Protocol):
    """One person at one app. `session` is None while no model is set; `left_out` are the names of keys that
    the person was asked for and did not give.
    """

    left_out: set[str]

    @property
    def session(self) -> "Session | None":
        """The session in front of the person."""

    @property
    def runtime(self) -> "Runtime":
        """What the sessions of this app share; HermesError while it is not open yet."""

    @property
    def sessions(self) -> "SessionStore":
        """The store of all sessions."""

    @property
    def failure(self) -> Failure | None:
        """The last failure of a turn."""

    @property
    def protection(self) -> str:
        """How commands are guarded, in a few words."""

    @property
    def keys(self) -> str:
        """Markdown that lists the keys of this app."""

    @property
    def profile(self) -> str:
        """The profile that this app was started with, empty for the one in force."""

    @property
    def options(self) -> "SessionOptions":
        """What a new session would be asked for."""

    def tell(self, text: str) -> None:
        """Show Markdown to the person."""

    def report(self, found: Sequence[CheckResult]) -> None:
        """Show what a look at the installation found."""

    def warn(self, sentence: str) -> None:
        """Show one sentence that says what is wrong and what to do."""

    def notice(self, sentence: str) -> None:
        """Show one sentence that the person should know; nothing is wrong."""

    def send(self, text: str) -> None:
        """Send a message now, or after the running turn."""

    def queue(self, text: str) -> None:
        """Send a message after the running turn; now when none runs."""

    def continue_turn(self) -> None:
        """Go on with the turn that was cut off."""

    def edit(self, text: str) -> None:
        """Put a text where the person writes."""

    def leave(self) -> None:
        """End the app."""

    async def agreed(self, title: str, about: str, why: Sequence[str]) -> bool:
        """Whether the person says yes to something, shown whole, for reasons; no where nobody answers."""

    async def secret(self, about: str) -> str:
        """What the person types, which is neither shown nor kept anywhere; empty where they give nothing."""

    async def open(self, *, resume: str = "") -> None:
        """Put a new session in front of the person, or an earlier one."""

    async def pick(self) -> None:
        """Let the person choose an earlier session."""

    async def pick_model(self) -> None:
        """Let the person choose a model, or tell how to change it where there can be no list."""

    async def use_model(self, model: str, base_url: str, key: str) -> None:
        """Answer with another model from now on; ConfigError when it cannot be used."""

    async def replay(self, turns: int) -> None:
        """Show the last turns again."""


def opened(talk: CommandContext) -> "Session":
    """The session in front of the person; HermesError while there is none."""
    if talk.session is None:
        raise HermesError("No model is set yet; /model sets one.")
    return talk.session


def idle(talk: CommandContext) -> None:
    """HermesError while a turn runs."""
    if talk.session is not None and talk.session.busy:
        raise HermesError("A turn is running; stop it first (Esc, or /stop).")
