"""How a person who looks elsewhere is called: by the bell, or by a notice of the desktop."""

from collections.abc import Mapping
from typing import Final

from hermes.lib.text import duration
from hermes.lib.visible import visible
from hermes.present.settings import DisplaySettings
from hermes.types.event import TurnFinished

ASKED: Final = "needs an answer"
_ENDS: Final[Mapping[str, str]] = {"done": "has answered", "failed": "could not answer"}
_BOTH_KNOWN: Final = ("kitty", "ghostty", "wezterm", "foot")


def signal_of(display: DisplaySettings, words: str, directory: str, environ: Mapping[str, str]) -> str:
    """What to write to the terminal, as the settings want it; empty where nobody is to be called."""
    kind = display.notify or ("bell" if display.bell else "off")
    if kind == "off":
        return ""
    return "\a" if kind == "bell" else _desktop(f"hermes {words} in {visible(directory)}", environ)


def end_words(end: TurnFinished, after: float) -> str:
    """What to call with at the end of a turn; empty for one that was short, or that the person stopped."""
    if end.seconds <= after or end.outcome == "interrupted":
        return ""
    return f"{_ENDS.get(end.outcome, 'has stopped')} after {duration(end.seconds)}"


def _desktop(text: str, environ: Mapping[str, str]) -> str:
    """Both forms that terminals know; one alone where both are known, or the notice would come twice."""
    notice = f"\x1b]777;notify;hermes;{text}\a"
    name = f"{environ.get('TERM', '')} {environ.get('TERM_PROGRAM', '')}".lower()
    if not any(known in name for known in _BOTH_KNOWN):
        notice += f"\x1b]9;{text}\a"
    if environ.get("TMUX"):  # tmux keeps to itself what is not wrapped for the terminal around it
        wrapped = notice.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{wrapped}\x1b\\"
    return notice
