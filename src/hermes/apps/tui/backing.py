"""How the screen is started, and what it asks of the runtime below it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.lib.lazy import load

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.config.home import Home
    from hermes.runtime import Runtime, SessionOptions

Opening = Callable[[], "AbstractAsyncContextManager[Runtime]"]
"""Opens the runtime; it is called in the background, once the prompt takes keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for on the command line; empty parts come from the settings."""

    model: str = ""
    base_url: str = ""
    toolsets: tuple[str, ...] | None = None
    yolo: bool = False

    def options(self, resume: str = "") -> "SessionOptions":
        """The same, as the runtime takes it."""
        made: SessionOptions = load("hermes.runtime:SessionOptions")(
            resume=resume, model=self.model, base_url=self.base_url, toolsets=self.toolsets, yolo=self.yolo, attended=True
        )
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Everything the screen is started with. `resume` is an id, a title or `latest`; `choose` opens the list of sessions."""

    opening: Opening
    home: "Home"
    environ: Mapping[str, str]
    cwd: Path
    version: str
    wishes: Wishes = Wishes()
    resume: str = ""
    choose: bool = False


def protection(session: "Session") -> tuple[str, bool]:
    """How a session's commands are guarded, in a few words, and whether nothing asks."""
    policy = session.workplace.gate.policy
    asks = not policy.yolo and policy.mode != "off"
    box = "sandbox" if policy.sandbox else "no sandbox"
    return (f"{box} · asks" if asks else f"{box} · never asks"), not asks
