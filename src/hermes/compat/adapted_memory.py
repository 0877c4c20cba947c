"""A memory provider of the original's form as one of ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from hermes.agent.memory_provider import MemoryAnswer, MemoryScope, MemoryTool, ProviderHome, Recalled
from hermes.compat.keywords import taken
from hermes.types.error import StoreError


def adapted(provider: Any, home: ProviderHome) -> "AdaptedMemory":
    """The provider for a home; StoreError where it says that it cannot be used."""
    if not provider.is_available():
        raise StoreError(f"it says that it is not available; {_needs(provider)}")
    return AdaptedMemory(provider, home)


class AdaptedMemory:
    """Asks a provider of the original's form. Nobody knows where what it recalls was learnt, or whether it
    comes from another machine, so that all of it counts as from outside.
    """

    def __init__(self, provider: Any, home: ProviderHome) -> None:
        self._provider, self._home = provider, home
        self._session: str | None = None
        self._said: dict[str, list[dict[str, Any]]] = {}

    @property
    def name(self) -> str:
        """The name in the settings."""
        return str(self._provider.name)

    def tools(self) -> Sequence[MemoryTool]:
        """The tools that sessions get."""
        found = [one.get("function", one) for one in self._provider.get_tool_schemas()]
        return [MemoryTool(schema=one) for one in found]

    def system_prompt_block(self) -> str:
        """What the prompt of a new session says of this memory."""
        self._speak_in("")
        return str(self._provider.system_prompt_block() or "")

    def session_started(self, scope: MemoryScope) -> None:
        """A session was opened."""
        self._speak_in(scope.session)

    def prefetch(self, query: str, scope: MemoryScope) -> Sequence[Recalled]:
        """What fits a message."""
        self._speak_in(scope.session)
        found = self._provider.prefetch(query, session_id=scope.session)
        return [Recalled(text=str(found), outside=self._outside)] if found else []

    def queue_prefetch(self, query: str, scope: MemoryScope) -> None:
        """Look for what the message after this turn may need."""
        self._speak_in(scope.session)
        self._provider.queue_prefetch(query, session_id=scope.session)

    def sync_turn(self, user: str, reply: str, scope: MemoryScope) -> None:
        """A turn has ended with this reply."""
        self._speak_in(scope.session)
        said = self._said.setdefault(scope.session, [])
        said += [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]
        sync = self._provider.sync_turn
        sync(user, reply, **taken(sync, session_id=scope.session, messages=[*said]))

    def call(self, tool: str, arguments: Mapping[str, Any], scope: MemoryScope) -> MemoryAnswer:
        """Run one of the tools."""
        self._speak_in(scope.session)
        call = self._provider.handle_tool_call
        content = call(tool, dict(arguments), **taken(call, session_id=scope.session))
        return MemoryAnswer(content=str(content), outside=self._outside)

    def session_ended(self, scope: MemoryScope) -> None:
        """A session was closed."""
        self._speak_in(scope.session)
        self._provider.on_session_end(self._said.pop(scope.session, []))

    def close(self) -> None:
        """Let go of what is open."""
        self._provider.shutdown()

    @property
    def _outside(self) -> tuple[str, ...]:
        return (self.name,)

    def _speak_in(self, session: str) -> None:
        """Get the provider ready for a session: it knows of one at a time."""
        if self._session is None:
            root = str(self._home.folder.parent)
            self._provider.initialize(session, hermes_home=root, platform="cli", agent_context="primary")
        elif session and session != self._session:
            self._provider.on_session_switch(session)
        self._session = session or self._session or ""


def _needs(provider: Any) -> str:
    wanted = [
        str(one.get("env_var") or one["key"]) for one in provider.get_config_schema() if one.get("required")
    ]
    return f"it needs {', '.join(wanted)}." if wanted else "its own documentation says what it needs."
