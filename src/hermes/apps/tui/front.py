"""The screen first, and everything else behind it."""

import signal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.key_binding import KeyBindings

from hermes.apps.tui.backing import StartFacts
from hermes.apps.tui.chips import Chips
from hermes.apps.tui.prints import Terminal, kept_terminal
from hermes.apps.tui.screen import Screen, Views
from hermes.apps.tui.status import early_lines
from hermes.lib.lazy import import_object
from hermes.present.theme import Theme

if TYPE_CHECKING:
    from hermes.apps.tui.life import Life

_CLOSING = 3.0


async def show(asked: StartFacts, theme: Theme) -> int:
    """TuiCommands with a person until they leave; gives the exit code."""
    with kept_terminal() as terminal:
        code, farewell = await _show(asked, theme, terminal)
    print(theme.text(farewell), end="")
    return code


async def _show(asked: StartFacts, theme: Theme, terminal: Terminal) -> tuple[int, str]:
    chips = Chips()
    screen = Screen(
        theme=theme,
        history=history_of(asked.home.history, asked.cwd),
        chips=chips,
        environ=asked.environ,
        terminal=terminal,
    )
    screen.views = Views(
        above=lambda width, _: early_lines(asked.version, asked.directory, width), below=lambda *_: []
    )
    async with anyio.create_task_group() as group:
        opening = Opening(asked, screen, chips, group)
        await screen.run(opening.begin)
        farewell = await opening.end()
        group.cancel_scope.cancel()
    screen.write_pending()
    return opening.code, farewell


class Opening:
    """From the first picture, which needs little, to a screen that has everything."""

    def __init__(self, start: StartFacts, screen: Screen, chips: Chips, group: TaskGroup) -> None:
        self._start, self._screen, self._chips, self._group = start, screen, chips, group
        self._life: Life | None = None
        self._entered = False
        self._signal = 0
        keys = KeyBindings()
        keys.add("enter")(lambda _: self._enter())
        keys.add("c-c")(lambda _: screen.stop())
        keys.add("c-d")(lambda _: screen.stop())
        screen.bind(keys)

    @property
    def code(self) -> int:
        """The exit code."""
        if self._signal:
            return 128 + self._signal
        return self._life.code if self._life else 0

    def begin(self) -> None:
        """Start to load the rest, beside the screen."""
        self._group.start_soon(self.configure)
        self._group.start_soon(self._leave_on_signal)

    async def configure(self) -> None:
        """Load what the first picture did not need; keys are taken meanwhile, an early Enter is made up
        for.
        """
        if self._start.environ.get("TERM") != "linux" and not self._start.environ.get("COLORFGBG"):
            self._screen.ask_background()
        made = await anyio.to_thread.run_sync(import_object, "hermes.apps.tui.life:Life")
        self._life = made(self._start, self._screen, self._chips, self._group)
        if self._entered:
            self._life.actions.enter()
        await self._life.run()

    async def end(self) -> str:
        """Close what was opened, within a few seconds; gives the last line."""
        if self._life is None:
            return ""
        with anyio.move_on_after(_CLOSING):
            await self._life.end()
        return self._life.farewell()

    async def _leave_on_signal(self) -> None:
        """A signal to end, or a terminal that is gone, leaves as a person does: the turn is interrupted, its
        commands end, and the terminal is as it was.
        """
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            async for number in signals:
                self._signal = int(number)
                self._screen.stop()

    def _enter(self) -> None:
        self._entered = self._entered or bool(self._screen.buffer.text.strip())


def history_of(folder: Path, directory: Path) -> History:
    """What was typed in a directory before; its file is made when the first line is added."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return FileHistory(str(folder / f"{sha256(str(directory).encode()).hexdigest()[:16]}.txt"))
