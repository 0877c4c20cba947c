"""What stands behind a screen: the desk, the runtime and the session, from after the first picture to the
end.
"""

import time
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from hermes.apps.tui.actions import DeskActions
from hermes.apps.tui.backing import StartFacts
from hermes.apps.tui.chips import Chips
from hermes.apps.tui.commands import TuiCommands, open_first
from hermes.apps.tui.keys import bindings
from hermes.apps.tui.screen import Screen
from hermes.apps.tui.started_as import started_as
from hermes.apps.tui.state import TuiState
from hermes.apps.tui.status import cost_of
from hermes.lib.lazy import import_object
from hermes.lib.text import duration
from hermes.lib.visible import visible
from hermes.present.spans import cut_text, fitting
from hermes.present.words import tokens
from hermes.types.error import HermesError
from hermes.types.event import Notice

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.runtime import Runtime


class Life:
    """One screen's desk, its runtime and its session."""

    def __init__(self, start: StartFacts, screen: Screen, chips: Chips, group: TaskGroup) -> None:
        self._desk = TuiState(start, screen, chips, group)
        self._talk = TuiCommands(self._desk)
        self._began = time.monotonic()  # noqa: TID251  # the user's own time
        self.actions = DeskActions(self._desk, self._talk)
        screen.bind(bindings(self.actions, self._desk.editor))
        self._leaving, self._ended = anyio.Event(), anyio.Event()
        self.code = self._working = 0
        self._model, self._processes = "", list[str]()

    async def run(self) -> None:
        """Open, wait, close; a fault at opening is one sentence and the end."""
        for work in (self._desk.paint, self._desk.tick):
            self._desk.spawn(work)
        try:
            async with self._desk.start.opening() as runtime:
                self._desk.configure(runtime)
                runtime.services.extensions.inboxes.append(self._talk.send)
                await open_first(self._talk, self._desk)
                for warning in runtime.warnings:
                    self._desk.hear(Notice(level="warning", text=warning))
                self._desk.files.items("")  # known when the first `@` is typed
                await self._leaving.wait()
                if self._desk.session is not None:
                    self._model = other_model(self._desk.session, runtime)
                    self._working = sum(1 for _ in self._desk.session.children.tree())
                    self._processes = self._desk.in_background()
                    await self._desk.session.close()
                    await self._desk.show_rest()
        except HermesError as error:
            self._desk.warn(str(error))
            self._desk.flush()
            self.code = 1
            self._desk.screen.stop()
        self._ended.set()

    async def end(self) -> None:
        """Close the session and the runtime; a runtime that is still opening is not waited for."""
        self._leaving.set()
        self._talk.stop_asking()
        if self._desk.runtime is not None:
            await self._ended.wait()

    def farewell(self) -> str:
        """How to go on, how many children ended with the session, the model where it is not the default one,
        how long it took, what it used, in one line; above it the processes that ended with the session.
        Nothing when nothing was said.
        """
        session = self._desk.session
        if session is None or not session.log:
            return ""
        used = session.usage.input_tokens + session.usage.output_tokens
        children = "child" if self._working == 1 else "children"
        parts = [
            f"to go on: {started_as(self._desk.start.environ)} -r {session.id}",
            *([f"{self._working} {children} ended with it"] if self._working else []),
            *([self._model] if self._model else []),
            duration(time.monotonic() - self._began),  # noqa: TID251  # the user's own time
            *dict.fromkeys((f"{tokens(used)} tokens", *cost_of(session))),
        ]
        width = self._desk.screen.width
        ended = "".join(
            f"{cut_text(f'ended with it: {one}', width)}\n" for one in map(_in_a_line, self._processes)
        )
        return f"{ended}{fitting(parts, width)}\n"


def _in_a_line(command: str) -> str:
    return " ".join(visible(command).split())


def other_model(session: "Session", runtime: "Runtime") -> str:
    """The model of a session by its name, where a new session would have another one."""
    used = session.endpoint
    try:
        usual = runtime.endpoint()
    except HermesError:
        return used.model
    if used.local and usual.local and not usual.model:  # the built-in one has its name since it runs
        built_in = str(import_object("hermes.models.local.catalogue:default")().alias)
        usual = replace(usual, model=built_in if used.model else "")
    same = (used.provider, used.base_url, used.model) == (usual.provider, usual.base_url, usual.model)
    return "" if same else used.model
