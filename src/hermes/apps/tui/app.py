"""The interactive terminal: `run` shows a prompt at once, then loads what draws the rest."""

import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes.apps.tui.backing import Choices, start
from hermes.lib.lazy import load
from hermes.present.theme import Theme, choose

if TYPE_CHECKING:
    from hermes.runtime import SessionOptions


async def run(choices: Choices, options: Callable[..., "SessionOptions"]) -> int:
    """Talk with a person until they leave; gives the exit code."""
    asked = start(choices, options)
    theme = choose(asked.environ, encoding=sys.stdout.encoding or "", is_terminal=sys.stdin.isatty() and sys.stdout.isatty())
    if not theme.escapes:
        return int(await load("hermes.apps.tui.plain:run_plain")(asked, theme))
    with early_prompt(theme):
        return int(await load("hermes.apps.tui.front:show")(asked, theme))


@contextmanager
def early_prompt(theme: Theme) -> Iterator[None]:
    """A prompt without its screen: what is typed waits unseen in the terminal until the screen can show it."""
    before = termios.tcgetattr(sys.stdin)
    quiet = termios.tcgetattr(sys.stdin)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    sys.stdout.write(theme.text("\r\n❯ \x1b[A\r"))
    sys.stdout.flush()
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
