"""The interactive terminal: `run` shows a prompt at once, then loads what draws the rest."""

import shutil
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes.apps.tui.backing import ModelChoices, StartFacts, start
from hermes.apps.tui.status import early_lines
from hermes.lib.lazy import import_object
from hermes.present.theme import Theme, choose

if TYPE_CHECKING:
    from hermes.agent.spec import SessionOptions


async def run(choices: ModelChoices, options: Callable[..., "SessionOptions"]) -> int:
    """TuiCommands with a person until they leave; gives the exit code."""
    asked = start(choices, options)
    theme = choose(
        asked.environ,
        encoding=sys.stdout.encoding or "",
        is_terminal=sys.stdin.isatty() and sys.stdout.isatty(),
    )
    if not theme.escapes:
        return int(await import_object("hermes.apps.tui.plain:run_plain")(asked, theme))
    with early_prompt(asked, theme):
        return int(await import_object("hermes.apps.tui.front:show")(asked, theme))


@contextmanager
def early_prompt(asked: StartFacts, theme: Theme) -> Iterator[None]:
    """The first picture without its screen: what is typed waits unseen in the terminal until the screen can
    show it.
    """
    before = termios.tcgetattr(sys.stdin)
    quiet = termios.tcgetattr(sys.stdin)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    head = early_lines(asked.version, asked.directory, shutil.get_terminal_size().columns)
    sys.stdout.write(
        "\r" + "".join(theme.write(row) + "\r\n" for row in head) + theme.text("❯ ") + f"\x1b[{len(head)}A\r"
    )
    sys.stdout.flush()
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
