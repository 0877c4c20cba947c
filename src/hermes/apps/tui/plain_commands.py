"""What slash commands can do where a terminal understands nothing but text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

from hermes.commands.context import opened
from hermes.present.markdown import markdown_lines
from hermes.present.spans import plain
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.store.protocol import SessionStore
    from hermes.types.error import Failure

_MOVES: Final = "This command needs a terminal that can move its cursor; an empty line leaves."
_KEYS: Final = "An empty line leaves; Ctrl-C stops a turn, or leaves."


class PlainCommands:
    """A conversation in lines, as `hermes.commands` sees it; what is to be sent or answered comes back in
    `to_send`.
    """

    def __init__(
        self, session: "Session", store: "SessionStore", show: Callable[[str], None], *, width: int
    ) -> None:
        self._session, self._store, self._show, self._width = session, store, show, width
        self.to_send: list[str] = []

    @property
    def session(self) -> "Session | None":
        """The session."""
        return self._session

    @property
    def sessions(self) -> "SessionStore":
        """The store of all sessions."""
        return self._store

    @property
    def failure(self) -> "Failure | None":
        """Failures are told in lines as they come."""
        return None

    @property
    def protection(self) -> str:
        """How commands are guarded."""
        return "`/permissions` tells"

    @property
    def keys(self) -> str:
        """The keys."""
        return _KEYS

    def tell(self, text: str) -> None:
        """Print Markdown as text."""
        for row in markdown_lines(text, self._width):
            self._show(plain(row))

    def warn(self, sentence: str) -> None:
        """Print what is wrong."""
        self._show(f"error: {sentence}")

    def send(self, text: str) -> None:
        """Send a message once the command is done."""
        self.to_send.append(text)

    queue = send

    def edit(self, text: str) -> None:
        """Print a text that elsewhere stands in the draft."""
        self._show(text)

    def leave(self) -> None:
        """Say how: `/quit` and `/exit` are no commands here."""
        self._show(_KEYS)

    async def open(self, *, resume: str = "") -> NoReturn:
        """There is one session."""
        del resume
        raise HermesError(_MOVES)

    async def pick(self) -> NoReturn:
        """There is no list to choose from."""
        raise HermesError(_MOVES)

    async def use_model(self, model: str, base_url: str, key: str) -> NoReturn:
        """The model is that of the command line."""
        del model, base_url, key
        raise HermesError("Start again with -m NAME to take another model.")

    async def replay(self, turns: int) -> NoReturn:
        """Print nothing again."""
        del turns
        raise HermesError(f"`hermes sessions show {opened(self).id}` shows all of it.")
