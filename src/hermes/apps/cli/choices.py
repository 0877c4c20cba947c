"""What the common options said; imports nothing heavy, for every start passes here."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    from hermes.agent.spec import SessionOptions


class Choices(Struct, frozen=True, kw_only=True):
    """The options of one start; empty ones take what is configured."""

    model: str = ""
    base_url: str = ""
    toolsets: tuple[str, ...] | None = None
    resume: str = ""
    profile: str = ""
    yolo: bool = False
    debug: bool = False
    verbose: bool = False
    as_json: bool = False
    max_turns: int = 0
    max_cost: float = 0.0
    images: tuple[str, ...] = ()
    output_schema: str = ""
    goal: bool = False
    worktree: str = ""
    locked: bool = False
    safe_mode: bool = False
    accept_hooks: bool = False

    @property
    def flags(self) -> Mapping[str, Any]:
        """The settings that options of this start stand for."""
        wanted = {"plugins.safe_mode": self.safe_mode, "hooks_auto_accept": self.accept_hooks}
        return {key: True for key, is_wanted in wanted.items() if is_wanted}


def session_options(choices: Choices, *, attended: bool) -> "SessionOptions":
    """The session that the options ask for."""
    cwd = Path.cwd() if choices.worktree else None
    options: SessionOptions = import_object("hermes.agent.spec:SessionOptions")(
        resume=choices.resume,
        model=choices.model,
        base_url=choices.base_url,
        toolsets=choices.toolsets,
        yolo=choices.yolo,
        attended=attended,
        max_steps=choices.max_turns,
        max_cost=choices.max_cost,
        cwd=cwd,
    )
    return options
