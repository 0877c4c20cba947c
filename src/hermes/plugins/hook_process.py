"""Run the program of a hook: it reads JSON on its standard input, and is ended with all that it started."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import ByteReceiveStream
from msgspec import Struct

from hermes.environments.child_env import child_environment
from hermes.lib.child_processes import open_process

BLOCKS: Final = 2
"""The exit code of a command that blocks what was to happen; what it says on standard error is why."""
FOR_MODEL: Final = 20_000
"""Letters of a command's words that a model reads."""
_MOST: Final = 1_000_000
_NO_TEXT: Final = "\0\ufeff\ufffd \t\r\n"
"""What other encodings of text put before it."""


class UnreadableAnswer(Exception):
    """Why nobody knows what a command has answered."""


class HookRun(Struct, frozen=True, kw_only=True):
    """How a command has ended: its exit code, None where its time was over, and what it has printed, `cut`
    where that was more than an answer may be.
    """

    code: int | None
    output: str = ""
    errors: str = ""
    cut: bool = False

    @property
    def how(self) -> str:
        """What is told of one that has failed."""
        return (
            "was not done in time" if self.code is None else f"failed with {self.code}: {self.errors[:500]}"
        )

    @property
    def printed(self) -> str:
        """What it has printed, without white space around it and the mark that some programs begin with."""
        return self.output.strip().removeprefix("\ufeff").strip()

    def answer(self) -> dict[str, Any] | None:
        """The table of JSON that it has printed, None where it printed other text; UnreadableAnswer where it
        printed more than is read, or began a table that is none.
        """
        if self.cut:
            raise UnreadableAnswer(f"it is longer than {_MOST} bytes")
        try:
            found = msgspec.json.decode(self.printed)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            if self.printed.lstrip(_NO_TEXT).startswith("{"):
                raise UnreadableAnswer(f"it is no JSON: {error}") from error
            return None
        return found if isinstance(found, dict) else None


class HookProgram(Struct, frozen=True, kw_only=True):
    """What is run: its arguments, the user's variables, those that it gets besides, the folder that it starts
    in (None for ours), and for how long.
    """

    argv: Sequence[str]
    environ: Mapping[str, str]
    seconds: float
    more: Mapping[str, str] = {}
    cwd: Path | None = None

    async def run(self, told: Mapping[str, Any]) -> HookRun:
        """Run it on what it is told; ValueError, TypeError or RecursionError where that cannot be written."""
        given = as_json(told)
        with anyio.move_on_after(self.seconds):
            return await _ran(self, given)
        return HookRun(code=None)


def as_json(told: Mapping[str, Any]) -> bytes:
    """Words for a program, in ASCII: half a letter that a model has written stops none from reading them."""
    try:
        return msgspec.json.encode(told, enc_hook=str)
    except UnicodeEncodeError:
        return json.dumps(told, default=str).encode()


async def _ran(program: HookProgram, given: bytes) -> HookRun:
    output, errors = bytearray(), bytearray()
    environ = {**child_environment(program.environ).given, **program.more}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {**pipes, "env": environ, "cwd": program.cwd, "start_new_session": True}
    try:
        async with open_process(program.argv, **options) as process:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read, process.stdout, output)
                    tasks.start_soon(_read, process.stderr, errors)
                    if process.stdin is not None:
                        with suppress(anyio.BrokenResourceError):  # it does not want to know
                            await process.stdin.send(given)
                        await process.stdin.aclose()
                    code = await process.wait()
                    tasks.cancel_scope.deadline = anyio.current_time() + 0.5
            finally:
                if process.returncode is None:  # what it has started goes with it
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, ValueError) as error:  # there is no such program, or a zero byte in its words
        why = getattr(error, "strerror", None) or error
        return HookRun(code=127, errors=f"it cannot be started: {why}")
    return HookRun(
        code=code,
        output=output[:_MOST].decode("utf-8", "replace"),
        errors=errors[:_MOST].decode("utf-8", "replace"),
        cut=len(output) > _MOST,
    )


async def _read(stream: ByteReceiveStream | None, printed: bytearray) -> None:
    """Read all, and keep as much as an answer may be, and a byte that tells that there was more."""
    if stream is not None:
        async for chunk in stream:
            printed += chunk[: max(0, _MOST + 1 - len(printed))]
