"""`run_agent`: a conversation for plain programs, over `hermes.sync`."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from hermes.compat.conversation import as_tables
from hermes.plugins.aliases import Guest
from hermes.sync import SyncSession
from hermes.sync import open as open_session
from hermes.types.event import TextDelta, TurnFinished

_NAMES: Final = {
    "model": "model",
    "base_url": "base_url",
    "api_key": "api_key",
    "enabled_toolsets": "toolsets",
    "max_iterations": "max_steps",
    "ephemeral_system_prompt": "ephemeral",
    "session_id": "resume",
    "http": "http",
}
"""What a program may give, and what `hermes.sync.open` calls it; all else comes from the settings."""
Stream = Callable[[str], object]


def published(guest: Guest) -> dict[str, Any]:
    """The class, for the files of one guest."""

    class AIAgent(_Agent):
        """A conversation with what is set in this home."""

        def __init__(self, base_url: str | None = None, api_key: str | None = None, **wanted: Any) -> None:
            super().__init__(guest, {"base_url": base_url, "api_key": api_key, **wanted})

    return {"AIAgent": AIAgent}


class _Agent:
    def __init__(self, guest: Guest, wanted: dict[str, Any]) -> None:
        self._options = {_NAMES[key]: value for key, value in wanted.items() if key in _NAMES and value}
        self._options["environ"] = {**guest.environ, "HERMES_HOME": str(guest.home.root)}
        self._open = ExitStack()
        self._session: SyncSession | None = None

    @property
    def session_id(self) -> str:
        """The id of its session."""
        return self._started().id

    def chat(self, message: str, stream_callback: Stream | None = None) -> str:
        """The answer to a message."""
        return str(self.run_conversation(message, stream_callback=stream_callback)["final_response"])

    def run_conversation(
        self,
        user_message: str,
        system_message: str | None = None,
        conversation_history: list[dict[str, Any]] | None = None,
        task_id: str | None = None,
        stream_callback: Stream | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run one turn; its answer, and all that was said. What came before is in the session already: a
        history of another one is refused.
        """
        if conversation_history and self._session is None:
            raise ValueError("A history is not taken over: session_id continues a stored session.")
        if system_message and self._session is None:
            self._options["ephemeral"] = system_message
        ended = self._turn(user_message, stream_callback)
        return {**_told(ended), "messages": as_tables(self._started().log), "session_id": self.session_id}

    def interrupt(self, message: str | None = None) -> None:
        """Stop the running turn."""
        self._started().interrupt(message or "")

    def steer(self, text: str) -> bool:
        """Let a note ride on the next result of a tool."""
        return self._started().steer(text)

    def close(self) -> None:
        """Close its session."""
        self._session = None
        self._open.close()

    def _started(self) -> SyncSession:
        if self._session is None:
            self._session = self._open.enter_context(open_session(**self._options))
        return self._session

    def _turn(self, text: str, tell: Stream | None) -> TurnFinished:
        if tell is None:
            return self._started().send(text)
        for event in self._started().stream(text):
            if isinstance(event, TextDelta):
                tell(event.text)
            elif isinstance(event, TurnFinished):
                return event
        raise RuntimeError("The turn has no end.")


def _told(ended: TurnFinished) -> dict[str, Any]:
    """The end of a turn, by its published names."""
    used = ended.usage
    return {
        "final_response": ended.text,
        "completed": ended.outcome == "done",
        "failed": ended.outcome == "failed",
        "interrupted": ended.outcome == "interrupted",
        "api_calls": used.requests,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "estimated_cost_usd": used.cost,
        **({"error": ended.failure.message} if ended.failure else {}),
    }
