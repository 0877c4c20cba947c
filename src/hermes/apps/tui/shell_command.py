"""`!command`: the person's own commands, under the same rules and with the same lines as the model's."""

import json
from functools import partial
from typing import TYPE_CHECKING

import anyio

from hermes.apps.tui.state import TuiState
from hermes.types.error import HermesError, Refused
from hermes.types.event import Added, ToolFinished, ToolProgress, ToolStarted
from hermes.types.message import ContextBlock, ToolCall, ToolResult

if TYPE_CHECKING:
    from hermes.agent.session import Session

_SECONDS = 600.0
_TOLD = "I ran `{0}` myself; exit code {1[exit_code]}, output:\n```\n{1[output]}\n```"


class ShellCommand:
    """Runs one command at a time; `stop` ends it."""

    def __init__(self, desk: TuiState) -> None:
        self._desk = desk
        self._scope: anyio.CancelScope | None = None
        self._count = 0

    @property
    def busy(self) -> bool:
        """Whether a command runs."""
        return self._scope is not None

    def stop(self) -> None:
        """Stop the running command."""
        if self._scope is not None:
            self._scope.cancel()

    def start(self, text: str) -> None:
        """Run what follows `!`; after `!!` the model does not hear of it."""
        secret = text.startswith("!!")
        command = text.lstrip("!").strip()
        session = self._desk.session
        if not command:
            self._desk.warn("! needs a command, such as !ls.")
        elif self.busy:
            self._desk.warn("A command is running; Esc stops it.")
        elif session is None:
            self._desk.warn("No session is open yet; /model sets a model.")
        else:
            self._desk.spawn(partial(self._run, session, command, secret))

    # Told by one more mark
    async def _run(self, session: "Session", command: str, secret: bool) -> None:  # noqa: FBT001
        desk, started = self._desk, self._desk.now()
        self._count += 1
        call = ToolCall(id=f"shell-{self._count}", name="terminal", arguments={"command": command})
        desk.hear(ToolStarted(call=call, emoji="💻"))
        result: dict[str, object] = {"output": "", "exit_code": -1, "status": "interrupted"}
        with anyio.CancelScope() as self._scope:
            result = await self._result(session, call, command)
        self._scope = None
        failed = result["exit_code"] != 0
        told = ToolResult(id=call.id, at=0.0, call_id=call.id, name=call.name, content=json.dumps(result))
        desk.hear(ToolFinished(call_id=call.id, seconds=desk.now() - started, failed=failed, result=told))
        desk.hear(Added(message=told))
        desk.spawn(desk.update_status)
        if not secret:
            session.mailbox.add_news(ContextBlock(kind="command", text=_TOLD.format(command, result)))

    async def _result(self, session: "Session", call: ToolCall, command: str) -> dict[str, object]:
        def progress(text: str) -> None:
            self._desk.hear(ToolProgress(call_id=call.id, text=text))

        try:
            done = await session.workspace.run(command, timeout=_SECONDS, on_output=progress)
        except Refused as error:
            return {"output": "", "exit_code": -1, "error": str(error), "status": "blocked"}
        except HermesError as error:
            return {"output": "", "exit_code": -1, "error": str(error)}
        return {"output": done.text, "exit_code": done.code, "error": None}
