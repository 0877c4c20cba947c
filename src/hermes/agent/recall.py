"""Recall: what the memory provider of a home knows comes with the messages of its sessions.

Nothing that a provider does delays a turn beyond a bound or breaks it. It works in a thread; while it is
still at a call that took too long, nobody asks it anything.
"""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.memory import MemorySettings
from hermes.agent.memory_provider import (
    FactKeeper,
    MemoryProvider,
    MemoryProviders,
    MemoryScope,
    NextTurnPrefetcher,
    ProviderHome,
    Recalled,
    TurnListener,
)
from hermes.agent.outside import sources_of
from hermes.agent.provenance import tell
from hermes.agent.speakers import seen_within, speakers_in, viewer_of
from hermes.lib.aio import Async
from hermes.lib.lazy import import_object
from hermes.lib.text import CHARACTERS, clip, tokens
from hermes.lib.threads import in_thread
from hermes.store.facts import Fact
from hermes.store.protocol import Viewer
from hermes.tools.registry import ToolRegistry, tool_error
from hermes.types.actor import Actor
from hermes.types.error import ConfigError, HermesError, StoreError
from hermes.types.event import Notice
from hermes.types.message import ContextBlock
from hermes.types.tool import ToolManifest

if TYPE_CHECKING:
    from hermes.agent.session import Session

logger = logging.getLogger(__name__)
T = TypeVar("T")
AFTERWARDS: Final = 30.0
"""Seconds that a provider may take beside the turns, and in a call of its tools."""
LEAVING: Final = 2.0
"""Seconds that the end of a session waits for what its provider has not yet heard."""
SLOW: Final = 0.1
"""The share of its time for a message after which a provider is asked beforehand as well."""
NOTHING: Final = Recalled(text="")
FLOOD: Final = 20
"""Pieces of one recall that are looked at."""


class SessionRecall(Struct, frozen=True):
    """The provider's tools as one session calls them; satisfies `types.tool.ProviderTools`."""

    recall: "Recall"
    session: "Session"

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Run one of them."""
        return await self.recall.call(self.session, tool, arguments)


class _Beforehand(Struct, frozen=True, kw_only=True):
    """What was found for the next message, and for whom."""

    viewer: Viewer
    found: Recalled


class Recall:
    """The memory provider of a home, as sessions use it; one that is not chosen costs nothing."""

    def __init__(
        self,
        providers: MemoryProviders,
        home: ProviderHome,
        registry: ToolRegistry,
        spawn: Callable[[Async[Any]], object],
        redact: Callable[[str], str],
    ) -> None:
        self.providers, self._home, self._registry = providers, home, registry
        self._spawn, self._redact = spawn, redact
        self._settings = home.settings[MemorySettings]
        self._provider: MemoryProvider | None = None
        self._late: threading.Event | None = None
        self._missing = ""
        self._told: set[str] = set()
        self._free = anyio.Lock()  # invariant: a provider is asked one thing at a time
        self._is_slow = False
        self._next: dict[str, _Beforehand] = {}
        self._heard: dict[str, anyio.Event] = {}

    def use(self, provider: MemoryProvider) -> None:
        """Have this provider beside the built-in notes, and give its tools to the sessions opened from now
        on; HermesError when there is one already.
        """
        if self._provider is not None:
            raise HermesError(
                f"The memory provider {self._provider.name} is in use, and there is at most one;"
                f" {provider.name} was not added."
            )
        self._provider = provider
        for tool in provider.tools():
            name = str(tool.schema["name"])
            self._registry.register(
                name=name,
                toolset="memory",
                schema=tool.schema,
                handler=partial(_call, name),
                is_async=True,
                emoji="🧠",
                outside=False,
                manifest=ToolManifest(effects=tool.effects),
            )

    def open(self) -> None:
        """Begin with the provider that the settings name; ConfigError when they have a fault. Where what it
        keeps cannot be read, sessions go without it, and each is told so.
        """
        if self._provider is None and self._settings.provider:
            try:
                self.use(self.providers.make(self._settings.provider, self._home))
            except StoreError as error:
                self._missing = f"The memory provider {self._settings.provider} is not in use: {error}"

    def close(self) -> None:
        """Let go of the provider, unless it is still at something."""
        if self._provider is not None and not self._is_late:
            try:
                self._provider.close()
            except Exception:
                logger.exception("the memory provider %s could not be closed", self._provider.name)

    def refuse_within(self, workspace: Path) -> None:
        """ConfigError where the notes of a provider lie in a session's folder, or around it: whatever a
        command writes there would be remembered as the user's own.
        """
        notes = self._settings.notes_folder
        folder = Path(notes).expanduser().resolve() if notes and self._settings.provider else None
        if folder and (folder.is_relative_to(workspace) or workspace.is_relative_to(folder)):
            raise ConfigError(
                f"memory.notes_folder is {folder}, which commands of a session in {workspace} may write:"
                " choose another place for notes, or work in another folder.",
                key="memory.notes_folder",
            )

    async def prompt_block(self) -> str:
        """What the provider has the prompt of a new session say."""
        if self._provider is None:
            return ""
        words = await self._ask(self._provider.system_prompt_block, self._settings.recall_timeout)
        return self._clean(clip(words or "", self._settings.recall_tokens * CHARACTERS))

    async def started(self, session: "Session") -> None:
        """Tell that a session was opened."""
        if provider := self._of(session):
            scope = await scope_of(session)
            self._spawn(partial(self._ask, partial(provider.session_started, scope), AFTERWARDS))

    @property
    def name(self) -> str:
        """The name of the provider in use; "" where there is none."""
        return self._provider.name if self._provider else ""

    async def noted(self, session: "Session") -> Sequence[Fact]:
        """The facts that the user of a session may be told, the oldest first; none of a provider that does
        not list them, or not in time.
        """
        if not isinstance(self._provider, FactKeeper):
            return ()
        viewer = await viewer_of(session)
        facts = await self._ask(self._provider.noted, AFTERWARDS)
        return [one for one in facts or () if one.is_for(viewer)]

    async def recalled(self, session: "Session", text: str, by: Actor) -> tuple[ContextBlock, ...]:
        """What is recalled for a message of somebody's: of what is found in time or, failing that, what was
        found for it beforehand.
        """
        self._tell_missing(session)
        provider = self._of(session)
        if provider is None:
            return ()
        scope = await scope_of(session, (by.origin,))
        limit, clock = self._settings.recall_timeout, self._home.ports.monotonic
        begun = clock()
        found = await self._ask(partial(self._prefetch, provider, text, scope), limit)
        self._is_slow = found is None or clock() - begun > limit * SLOW
        beforehand = self._next.pop(session.id, None)
        if found is None and beforehand is not None and beforehand.viewer == scope.viewer:
            found = beforehand.found
        return _block(provider.name, found or NOTHING)

    def _tell_missing(self, session: "Session") -> None:
        """Say once in a session that its memory cannot be had."""
        if self._missing and not session.spec.parent and session.id not in self._told:
            self._told.add(session.id)
            session.emit(Notice(level="warning", text=self._missing))

    async def heard(self, session: "Session", text: str, reply: str, spoken: Collection[str]) -> None:
        """Tell how a turn ended, in which those of these origins have spoken.

        Where the provider is slow, or made for it, it looks for what the next turn may need, beside
        everything else.
        """
        provider = self._of(session)
        if provider is None or not (self._is_slow or isinstance(provider, TurnListener | NextTurnPrefetcher)):
            return
        scope, done = await scope_of(session, spoken), anyio.Event()
        before = self._heard.get(session.id)
        self._heard[session.id] = done

        async def afterwards() -> None:
            try:
                if before is not None:
                    await before.wait()
                if isinstance(provider, TurnListener):
                    await self._ask(partial(provider.sync_turn, text, reply, scope), AFTERWARDS)
                if isinstance(provider, NextTurnPrefetcher):
                    await self._ask(partial(provider.queue_prefetch, text, scope), AFTERWARDS)
                elif self._is_slow:
                    await self._look_ahead(provider, f"{text}\n{reply}", scope)
            finally:
                done.set()

        self._spawn(afterwards)

    async def _look_ahead(self, provider: MemoryProvider, query: str, scope: MemoryScope) -> None:
        found = await self._ask(partial(self._prefetch, provider, query, scope), AFTERWARDS)
        if found is not None and scope.session in self._heard:  # it has not ended meanwhile
            self._next[scope.session] = _Beforehand(viewer=scope.viewer, found=found)

    async def ended(self, session: "Session") -> None:
        """Tell that a session was closed, once the provider has heard of its last turn."""
        if provider := self._of(session):
            with anyio.move_on_after(LEAVING):
                if last := self._heard.pop(session.id, None):
                    await last.wait()
                await self._ask(partial(provider.session_ended, await scope_of(session)), LEAVING)
            self._next.pop(session.id, None)

    async def call(self, session: "Session", tool: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool of the provider."""
        if self._provider is None:
            return tool_error(self._missing or f"{tool} belongs to a memory provider that is not in use.")
        read = tuple(one.name for one in sources_of(session))
        scope = replace(await scope_of(session), outside=read)
        try:
            with anyio.fail_after(AFTERWARDS):
                async with self._free:
                    answer = await self._in_thread(partial(self._provider.call, tool, arguments, scope))
        except TimeoutError:
            return tool_error(f"The memory provider did not answer within {AFTERWARDS:.0f} s.")
        except HermesError as error:
            return tool_error(str(error))
        for name in answer.outside:
            tell(name)
        return answer.content

    def _of(self, session: "Session") -> MemoryProvider | None:
        """The provider, for a session that somebody talks to: a child gets what its parent tells it."""
        return None if session.spec.parent else self._provider

    async def _ask(self, work: Callable[[], T], seconds: float) -> T | None:
        """What the provider gives within that time; None when it takes longer, fails, or is still at
        something else.
        """
        if self._is_late:
            return None
        with anyio.move_on_after(seconds):
            try:
                async with self._free:
                    return await self._in_thread(work)
            except Exception:
                logger.exception("a memory provider failed")
        return None

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run it in a thread; it is late from when nobody waits for it until it ends."""
        ended = threading.Event()

        def run() -> T:
            try:
                return work()
            finally:
                ended.set()

        try:
            return await in_thread(run)
        except anyio.get_cancelled_exc_class():
            self._late = ended
            raise

    @property
    def _is_late(self) -> bool:
        return self._late is not None and not self._late.is_set()

    def _prefetch(self, provider: MemoryProvider, query: str, scope: MemoryScope) -> Recalled:
        """As much of what a provider finds as there is room for, in one piece; in its thread."""
        room, chosen = self._settings.recall_tokens, list[Recalled]()
        longest = (room - 1) * CHARACTERS
        for piece, _ in zip(provider.prefetch(query, scope), range(FLOOD), strict=False):
            one = replace(piece, text=clip(piece.text, longest))
            room -= tokens(one.text) + 1
            if room < 0:
                break
            chosen.append(one)
        return Recalled(
            text=self._clean("\n".join(one.text for one in chosen)),
            outside=tuple(dict.fromkeys(name for one in chosen for name in one.outside)),
        )

    def _clean(self, text: str) -> str:
        """The text without secrets and without what is hidden or forged in it."""
        return str(import_object("hermes.safety.text.quarantine:quarantine")(self._redact(text)).text)


def _block(name: str, found: Recalled) -> tuple[ContextBlock, ...]:
    learnt = f"memory of {', '.join(found.outside)}" if found.outside else ""
    return (ContextBlock(kind="memory", text=found.text, source=name, outside=learnt),) if found.text else ()


async def scope_of(session: "Session", spoken: Collection[str] = ()) -> MemoryScope:
    """For whom a session recalls and notes; `spoken` as in `speakers_in`."""
    people = await speakers_in(session, spoken)
    return MemoryScope(
        session=session.id,
        viewer=Viewer(bounds=seen_within(session), origins=people.everybody),
        speaker=people.one,
        at=session.services.ports.now(),
    )


async def _call(name: str, args: Mapping[str, Any], **keywords: Any) -> str:
    """The handler of a provider's tool."""
    context = keywords.get("ctx")
    if context is None:
        return tool_error(f"{name} needs a session; it cannot be called on its own.")
    return str(await context.provider_tools.call(name, args))
