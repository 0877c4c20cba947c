"""The interactive terminal: `run` opens the screen first and everything else behind it."""

import sys
import time

import anyio

from hermes.apps.tui.actions import DeskActions
from hermes.apps.tui.backing import Start
from hermes.apps.tui.desk import Desk
from hermes.apps.tui.files import Paths, list_files
from hermes.apps.tui.keys import bindings
from hermes.apps.tui.plain import run_plain
from hermes.apps.tui.talk import Talk, open_first
from hermes.present.theme import choose
from hermes.present.words import duration, tokens
from hermes.types.error import HermesError

_CLOSING = 3.0


async def run(start: Start) -> int:
    """Talk with a person until they leave; gives the exit code."""
    theme = choose(start.environ, encoding=sys.stdout.encoding or "", is_terminal=sys.stdin.isatty() and sys.stdout.isatty())
    if not theme.escapes:
        return await run_plain(start, theme)
    began = time.monotonic()
    async with anyio.create_task_group() as group:
        desk = Desk(start, theme, group)
        talk = Talk(desk)
        desk.screen.bind(bindings(DeskActions(desk, talk), desk.editor))
        life = Life(desk, talk)
        await desk.screen.run(lambda: _begin(desk, life))
        with anyio.move_on_after(_CLOSING):
            await life.end()
        group.cancel_scope.cancel()
    desk.screen.write_pending()
    print(theme.text(farewell(desk, time.monotonic() - began)), end="")
    return life.code


def _begin(desk: Desk, life: "Life") -> None:
    if desk.start.environ.get("TERM") != "linux" and not desk.start.environ.get("COLORFGBG"):
        desk.screen.ask_background()
    for work in (desk.paint, desk.tick, life.run):
        desk.spawn(work)


class Life:
    """The runtime and the session behind a screen, from after the first picture to the end."""

    def __init__(self, desk: Desk, talk: Talk) -> None:
        self._desk, self._talk = desk, talk
        self._leaving, self._ended = anyio.Event(), anyio.Event()
        self.code = 0

    async def run(self) -> None:
        """Open, wait, close; a fault at opening is one sentence and the end."""
        try:
            async with self._desk.start.opening() as runtime:
                self._desk.runtime = runtime
                await open_first(self._talk, self._desk)
                self._desk.paths = Paths(await list_files(self._desk.start.cwd))
                await self._leaving.wait()
                if self._desk.session is not None:
                    await self._desk.session.close()
        except HermesError as error:
            self._desk.warn(str(error))
            self._desk.flush()
            self.code = 1
            self._desk.screen.stop()
        self._ended.set()

    async def end(self) -> None:
        """Close the session and the runtime; a runtime that is still opening is not waited for."""
        self._leaving.set()
        if self._desk.runtime is not None:
            await self._ended.wait()


def farewell(desk: Desk, seconds: float) -> str:
    """One line: how to go on, how long it took, what it used; nothing when nothing was said."""
    session = desk.session
    if session is None or not session.log:
        return ""
    used = session.usage.input_tokens + session.usage.output_tokens
    return f"hermes -r {session.id} goes on · {duration(seconds)} · {tokens(used)} tokens\n"
