"""How the screen is started, and what it asks of the runtime below it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hermes.config.environ import environment
from hermes.config.home import Home, locate
from hermes.lib.lazy import import_object
from hermes.present.words import short_path

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime

CHOOSE = "?"
"""The session that is still to be chosen."""

Opening = Callable[[], "AbstractAsyncContextManager[Runtime]"]
"""Opens the runtime; it is called in the background, once the prompt takes keys."""


class ModelChoices(Protocol):
    """What was said on the command line; empty parts come from the settings.

    `resume` is `?` for the list of sessions.
    """

    @property
    def resume(self) -> str:
        """A session's id, title, `latest`, or `?`."""

    @property
    def profile(self) -> str:
        """The profile, empty for the one in force."""

    @property
    def flags(self) -> Mapping[str, Any]:
        """The settings that options stand for."""


class StartFacts(Struct, frozen=True, kw_only=True):
    """Everything the screen is started with. `options` gives the session to ask for: resume, model and
    address if they are set.
    """

    opening: Opening
    options: Callable[[str, str, str], "SessionOptions"]
    home: Home
    environ: Mapping[str, str]
    cwd: Path
    version: str
    resume: str = ""
    profile: str = ""

    @property
    def directory(self) -> str:
        """The directory as people write it."""
        return self.short(self.cwd)

    def short(self, path: Path) -> str:
        """A path as people write it."""
        return short_path(path, Path(self.environ.get("HOME") or Path.home()))


def start(choices: ModelChoices, options: Callable[..., "SessionOptions"]) -> StartFacts:
    """The start that a command line asks for; `options` makes the runtime's session options from choices."""
    environ = environment()

    def wished(resume: str, model: str, base_url: str) -> "SessionOptions":
        made = replace(options(choices, attended=True), resume=resume)
        return (
            replace(made, model=model or made.model, base_url=base_url or made.base_url)
            if model or base_url
            else made
        )

    return StartFacts(
        opening=lambda: import_object("hermes.runtime:open_runtime")(
            profile=choices.profile, flags=choices.flags
        ),
        options=wished,
        home=locate(environ, choices.profile),
        environ=environ,
        cwd=Path.cwd(),
        version=str(import_object("hermes:__version__")),
        resume=choices.resume,
        profile=choices.profile,
    )


def with_model_of(session: "Session | None", options: "SessionOptions") -> "SessionOptions":
    """The options of a new session that goes on with the model of this one."""
    return replace(options, endpoint=session.chosen) if session is not None else options


async def keep_mode(old: "Session | None", fresh: "Session") -> None:
    """Let a new session change and ask as the one that is left: the person has seen no other mode."""
    if old is not None and old.mode != fresh.mode:
        await fresh.change_mode(old.mode)


def protection(session: "Session") -> tuple[str, bool]:
    """How a session's commands are guarded, in a few words, and whether nothing asks."""
    policy = session.environment.gate.policy
    asks = not policy.yolo and policy.mode != "off"
    box = {"off": "no sandbox", "workspace": "sandbox", "container": "container"}.get(
        policy.sandbox, f"{policy.sandbox} sandbox"
    )
    if session.is_planning:
        return f"{box} · plan: nothing changes", False
    if asks and session.asks_edits:
        return f"{box} · asks, also of edits", False
    return (f"{box} · asks" if asks else f"{box} · never asks"), not asks
