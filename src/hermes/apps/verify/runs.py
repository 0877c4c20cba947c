"""Trials as programs of their own: each with a home, a folder and variables made for it, and an end."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final, TypeVar

import anyio
import msgspec
from msgspec import Struct

from hermes.apps.verify.report import ToolList, ToolTrialReport
from hermes.lib.aio import collect
from hermes.lib.child_processes import open_process
from hermes.lib.text import clip
from hermes.tools.verify.faults import ToolFault
from hermes.types.error import HermesError

_AT_ONCE: Final = 2
_START_SECONDS: Final = 60.0
_CALLS_THAT_LAST: Final = 6
"""A trial ends at the first call that does not; some that take nearly as long as they may are waited for."""
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "PYTHONPATH")
"""No key and no secret: what is tried must not reach what is yours."""
_FILES: Final = {
    "notes.md": "# Notes\n\nOne thing, and another.\n",
    "word": "A file that is called as one of the values that are tried.\n",
    "data/numbers.csv": "a,b\n1,2\n",
}

T = TypeVar("T")


class VerifiedTools(Struct, frozen=True):
    """The tools of some files and the built-in ones, to be tried for `seconds` a call."""

    files: Sequence[Path]
    environ: Mapping[str, str]
    seconds: float

    async def listed(self) -> ToolList:
        """Which tools there are; HermesError where not even that can be found out."""
        found = await self._run(ToolList)
        if isinstance(found, str):
            raise HermesError(f"The tools cannot be listed: loading them {found}")
        return found

    async def tried(self, names: Sequence[str]) -> list[ToolTrialReport]:
        """How each of the tools did, in order."""
        return await collect([partial(self._tried, name) for name in names], limit=_AT_ONCE)

    async def _tried(self, name: str) -> ToolTrialReport:
        found = await self._run(ToolTrialReport, name, str(self.seconds))
        if isinstance(found, str):
            return ToolTrialReport(tool=name, faults=(ToolFault("program", f"trying it {found}"),))
        return found

    async def _run(self, kind: type[T], *words: str) -> T | str:
        """The report of one program, or how that ended without one."""
        with _place(self.files) as base:
            report = base / "report.json"
            command = [sys.executable, "-m", "hermes.apps.verify.trial", str(report), *words]
            ended = await self._ended(command, base)
            try:
                return msgspec.json.decode(report.read_bytes(), type=kind)
            except (OSError, msgspec.DecodeError):
                return ended

    async def _ended(self, command: Sequence[str], base: Path) -> str:
        """How the program ended, in words; nothing of what it started is left."""
        printed = base / "printed"
        options: dict[str, Any] = {
            "cwd": base / "work",
            "env": self._environ(base),
            "start_new_session": True,
        }
        with printed.open("wb") as output:
            async with open_process(
                command, stdin=DEVNULL, stdout=output, stderr=output, **options
            ) as process:
                code = None
                try:
                    with anyio.move_on_after(_START_SECONDS + self.seconds * _CALLS_THAT_LAST):
                        code = await process.wait()
                finally:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
        said = clip(printed.read_text(errors="replace").strip()[-300:], 300)
        return "did not end, and was killed." if code is None else f"ended Hermes (code {code}): {said}"

    def _environ(self, base: Path) -> dict[str, str]:
        passed = {name: self.environ[name] for name in _PASSED_ON if name in self.environ}
        own = {"HOME": base / "home", "HERMES_HOME": base / "hermes", "TMPDIR": base / "tmp"}
        return {**passed, **{name: str(path) for name, path in own.items()}}


@contextmanager
def _place(files: Sequence[Path]) -> Iterator[Path]:
    """A folder with a home, the tool files and some files to work on, which is removed then."""
    base = Path(tempfile.mkdtemp(prefix="hermes-verify-"))
    try:
        for name in ("home", "hermes/tools", "work", "tmp"):
            (base / name).mkdir(parents=True, mode=0o700)
        for file in files:
            shutil.copy(file, base / "hermes" / "tools" / file.name)
        for name, text in _FILES.items():
            (base / "work" / name).parent.mkdir(exist_ok=True)
            (base / "work" / name).write_text(text)
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)
