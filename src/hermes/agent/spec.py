"""What one session is: plain data, fixed when it is opened."""

from pathlib import Path

from msgspec import Struct

from hermes.types.actor import Actor
from hermes.types.request import Endpoint, Options
from hermes.types.tool import Snapshot


class SessionSpec(Struct, frozen=True, kw_only=True):
    """A session's identity, prompt, tools, model and limits.

    `actor` is who opened it and may answer its questions; `parent` the session that it is a child of. With
    `attended` somebody answers questions, within `approval_timeout` seconds (0: however long it takes);
    without, every answer is no. `yolo` asks only where nothing but a no is possible. Text that was cut by its
    length is continued up to `continuations` times.
    """

    id: str
    system: str
    tools: Snapshot
    endpoint: Endpoint
    options: Options
    cwd: Path
    actor: Actor
    parent: str = ""
    attended: bool = True
    yolo: bool = False
    max_steps: int = 90
    continuations: int = 4
    approval_timeout: float = 60.0
