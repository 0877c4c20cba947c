"""What a session is opened with, and what it is: plain data, fixed when it is opened."""

import datetime as dt
import math
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from msgspec import Struct

from hermes.lib.abridged import Abridged
from hermes.models.settings import Effort
from hermes.safety.sources import Source
from hermes.tools.function import FunctionTool
from hermes.types.actor import Actor
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.error import ConfigError
from hermes.types.ports import Ports
from hermes.types.request import Endpoint, Options
from hermes.types.tool import ToolSnapshot


class SessionOptions(Abridged, Struct, frozen=True, kw_only=True):
    """What a session is opened with; empty fields take what is configured.

    `api_key` is the model's, in place of one that is configured, and is never shown; `endpoint` stands for
    model, address and key together, as another session has them. `resume` names a session
    (id, start of an id, title, `latest`). `functions` are tools made with `@hermes.tool`. `attended` says
    that somebody will answer questions; without anybody the answer to every question is no. `system` replaces
    the prompt, `ephemeral` follows it in each request and is never stored. `actor` is who opens it (the app
    `source`, unless it is said), `parent` the session that it is a child of: without toolsets and model of
    its own it has those of that one. `effort` is how hard the model thinks. `max_cost` are the US dollars
    that it may spend while it is open, 0 for no limit. `deps` is what tools get as `ctx.deps`. `capabilities`
    are what it may do at most, within those of its home and its parent. Without `notes` those of the project
    do not count, whatever was answered about them.
    """

    unshown: ClassVar = ("api_key",)

    resume: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    endpoint: Endpoint | None = None
    toolsets: tuple[str, ...] | None = None
    functions: tuple[FunctionTool, ...] = ()
    system: str = ""
    ephemeral: str = ""
    cwd: str | Path | None = None
    source: str = "cli"
    yolo: bool = False
    attended: bool = True
    max_steps: int = 0
    max_cost: float = 0.0
    deps: Any = None
    actor: Actor | None = None
    parent: str = ""
    effort: Effort = ""
    capabilities: Capabilities = ALL
    notes: bool = True


class SessionSpec(Struct, frozen=True, kw_only=True):
    """A session's identity, prompt, tools, model and limits.

    `actor` is who opened it and may answer its questions; `capabilities` what it may do at most; `parent` the
    session that it is a child of, `depth` how many such there are above it, and `outside` what those have
    read from outside. With `attended` somebody answers questions, within `approval_timeout` seconds
    (`clarify_timeout` where no approval is asked; 0: however long it takes); without, every approval is
    refused, and `clarify_policy` answers the rest. `yolo` asks only where nothing but a no is possible. Text
    that was cut by its length is continued up to `continuations` times. `ephemeral` follows the prompt in
    requests and stands nowhere else. What goes on for `long_seconds` is told of; 0 is never. A goal may take
    `goal_turns` turns before a person is asked. `max_cost` is what this opening of the session may spend, in
    US dollars; 0 is no limit. `deps` is what its tools get. `model_lost` says, where a session was resumed
    with another model than it was left with, why that is so; `tools_kept`, where one was, that toolsets were
    named which count for nothing there. `notes` says whether those of the project count.
    """

    id: str
    system: str
    tools: ToolSnapshot
    endpoint: Endpoint
    options: Options
    cwd: Path
    actor: Actor
    capabilities: Capabilities = ALL
    parent: str = ""
    depth: int = 0
    outside: tuple[Source, ...] = ()
    ephemeral: str = ""
    attended: bool = True
    yolo: bool = False
    max_steps: int = 90
    continuations: int = 4
    approval_timeout: float = 0.0
    clarify_timeout: float = 0.0
    clarify_policy: Literal["decide", "first"] = "decide"
    long_seconds: float = 0.0
    goal_turns: int = 20
    max_cost: float = 0.0
    deps: Any = None
    model_lost: str = ""
    notes: bool = True
    tools_kept: bool = False


def new_session_id(ports: Ports) -> str:
    """An id that no session has: the time (UTC), and a random part."""
    return f"{dt.datetime.fromtimestamp(ports.now(), tz=dt.UTC):%Y%m%d_%H%M%S}_{ports.token()}"


def check(chosen: SessionOptions) -> None:
    """ConfigError for what no session can be opened with."""
    if not 0 <= chosen.max_cost < math.inf or chosen.max_steps < 0:
        raise ConfigError(
            "max_cost and max_steps are limits: give a number above zero, or 0 for none of yours."
        )
    if chosen.effort not in get_args(Effort):
        raise ConfigError(
            f"There is no effort {chosen.effort!r}; there are: {', '.join(get_args(Effort)[1:])}."
        )
