"""The program of one trial: it opens a session in a home made for it, calls one tool with arguments made from
its schema, and writes what was wrong.
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import httpx2
import msgspec

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.apps.verify.calls import ToolTrial
from hermes.apps.verify.report import ToolList, ToolTrialReport
from hermes.config.environ import environment
from hermes.lib.threads import in_thread
from hermes.runtime import Runtime, open_runtime
from hermes.tools.discovery import BUILT_IN
from hermes.tools.verify.faults import ToolFault
from hermes.tools.verify.rules import schema_faults
from hermes.types.tool import ToolEntry

CHECK_SECONDS: Final = 5.0
"""How long a tool's availability check may take: a session's start waits for it."""
_MODEL: Final = ("no-model", "http://127.0.0.1:9/v1")


def main(report: Path, name: str = "", seconds: str = "10") -> None:
    """Write the report of one tool, or which tools there are, and end at once: what a tool has left running
    holds nothing up.
    """
    found = anyio.run(_listed) if not name else anyio.run(_tried, name, float(seconds))
    report.write_bytes(msgspec.json.encode(found))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def _listed() -> ToolList:
    async with open_runtime(environ=environment(), http=_no_model()) as runtime:
        entries = runtime.registry.entries().values()
        return ToolList(
            tools=tuple(one.name for one in entries),
            built_in=tuple(one.name for one in entries if one.source == BUILT_IN),
            broken={one.path: one.reason for one in runtime.opener.tool_folder.faults},
        )


async def _tried(name: str, seconds: float) -> ToolTrialReport:
    async with open_runtime(environ=environment(), http=_no_model()) as runtime:
        entry = runtime.registry.entries()[name]
        wrong = [*schema_faults(entry), *await _availability(entry)]
        if wrong:
            return ToolTrialReport(tool=name, faults=tuple(wrong))
        if not runtime.registry.checks.available(entry.check_fn):
            return ToolTrialReport(tool=name, uncalled="it says that it cannot be used here")
        opened = partial(_session, runtime)
        return await ToolTrial(entry, runtime.home, Path.cwd(), seconds).run(opened)


async def _availability(entry: ToolEntry) -> list[ToolFault]:
    """What is wrong with the check whether the tool can be used."""
    check = entry.check_fn
    if check is None:
        return []
    try:
        with anyio.fail_after(CHECK_SECONDS):
            await in_thread(check)
    except TimeoutError:
        return [ToolFault("availability", f"its check did not end within {CHECK_SECONDS:.0f} s.")]
    except Exception as error:  # noqa: BLE001  # a tool file's own code
        return [ToolFault("availability", f"its check raised {type(error).__name__}: {error}.")]
    return []


async def _session(runtime: Runtime) -> Session:
    """A session that nobody watches: what needs a yes is refused. It has no tools of its own: the checks of
    others are not asked, of which one may hang.
    """
    model, place = _MODEL
    return await runtime.session(
        SessionOptions(
            model=model,
            base_url=place,
            toolsets=(),
            attended=False,
            cwd=Path.cwd(),
            source="verify",
        )
    )


def _no_model() -> httpx2.AsyncClient:
    """A network in which every model refuses: what a tool would have one do fails at once."""
    return httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(400)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
