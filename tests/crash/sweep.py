"""A crash sweep: one turn with twelve calls is killed (SIGKILL) at every fault point in its own process, then resumed; prints what was lost or repeated.

Fault points lie before and after every write of the store, and at the start and the end of every tool. Usage: sweep.py FOLDER sequential|parallel FIRST STEP
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

import hermes
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.store.database import Database
from hermes.store.protocol import UsageEntry
from hermes.store.sqlite_store import SqliteStore, open_store
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.message import Message, ToolResult, User

CALLS = 12
PLANS = {
    "sequential": [call("effect", {"number": number}, call_id=f"c{number}") for number in range(CALLS)],
    "parallel": [
        calls(
            *[("write_file", {"path": f"f{number}", "content": str(number)}) for number in range(at, at + 4)],
            ids=[f"c{number}" for number in range(at, at + 4)],
        )
        for at in range(0, CALLS, 4)
    ],
}
AT_ONCE = {"sequential": 1, "parallel": 4}


class Ledger:
    """What really happened, one synced line each: `start`, `end` of a tool, `durable` when its result was written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, word: str, number: object) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{word} {number}\n".encode())
        os.fsync(handle)
        os.close(handle)

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


class Points:
    """Counts fault points; at the wanted one the process is killed."""

    def __init__(self, wanted: int) -> None:
        self.passed, self._wanted = 0, wanted

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self._wanted:
            os.kill(os.getpid(), signal.SIGKILL)


class WatchedStore(SqliteStore):
    """The real store, with a fault point on both sides of every write, and one inside each transaction."""

    points: Points
    ledger: Ledger

    async def append(self, session_id: str, *messages: Message) -> None:
        self.points()
        await super().append(session_id, *messages)
        for message in messages:
            if isinstance(message, User):
                self.ledger.note("heard", message.text)
        self.points()

    async def settle(self, session_id: str, *results: ToolResult) -> None:
        self.points()
        await super().settle(session_id, *results)
        for result in results:
            if not result.failed:
                self.ledger.note("durable", result.call_id)
        self.points()

    async def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        self.points()
        await super().begin(session_id, call_id, tool, digest)
        self.points()

    async def finish(self, session_id: str, result: ToolResult) -> None:
        self.points()
        await super().finish(session_id, result)
        self.ledger.note("durable", result.call_id)
        self.points()

    def count(self, entry: UsageEntry) -> None:
        self.points()
        super().count(entry)
        self.points()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with super()._transaction():
            yield
            self.points()


async def turn(folder: Path, mode: str, points: Points, *, resume: str) -> None:
    ledger = Ledger(folder / "ledger")

    def effect_body(number: int) -> str:
        points()
        ledger.note("start", number)
        ledger.note("end", number)
        points()
        return f"did {number}"

    @hermes.tool
    def effect(number: int) -> str:
        """An effect that must not happen twice."""
        return effect_body(number)

    @hermes.tool
    async def write_file(path: str, content: str) -> str:
        """The same, under a name that may run side by side."""
        await anyio.sleep(0.001 * (7 - int(content) % 4))
        return effect_body(int(content))

    model = ScriptedModel(*([say("carried on")] if resume else [*PLANS[mode], say("all done")]))
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home")}
    async with open_runtime(environ=environ, http=model.http()) as runtime:
        store = WatchedStore(Database(runtime.home.sessions_db, "sessions"), runtime.home.search_db)
        store.points, store.ledger = points, ledger
        runtime.services.ledger.store = store
        runtime.opener.services = replace(runtime.services, store=store)
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets=(),
                functions=(effect, write_file),
                resume=resume,
                cwd=folder,
            )
        )
        await session.send("continue" if resume else "do the twelve things")
        await session.close()
        await store.close()


def in_child(folder: Path, mode: str, point: int, *, resume: str = "") -> int:
    """Run a turn in a forked process; 0 when it came to its end, -9 when it was killed."""
    pid = os.fork()
    if pid == 0:
        points = Points(point)
        try:
            anyio.run(turn_with, folder, mode, points, resume)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


async def turn_with(folder: Path, mode: str, points: Points, resume: str) -> None:
    await turn(folder, mode, points, resume=resume)


async def last_log(home: Path) -> tuple[Message, ...]:
    async with open_store(home / "sessions.db", home / "search.db") as store:
        rows = await store.recent()
        return (await store.load(rows[0].id)).log if rows else ()


def violations(folder: Path, mode: str, point: int) -> Iterator[str]:
    """What must not be, after a kill and a resumption."""
    lines = Ledger(folder / "ledger").lines()
    log = anyio.run(last_log, folder / "home")
    answers: dict[str, list[dict[str, Any]]] = {}
    for message in log:
        if isinstance(message, ToolResult):
            answers.setdefault(message.call_id, []).append(json.loads(message.content))
    heard = [message.text for message in log if isinstance(message, User)]
    yield from (
        f"point {point}: the user's words {line[6:]!r} are lost"
        for line in lines
        if line.startswith("heard ") and line[6:] not in heard
    )
    yield from _forgotten(lines, answers, mode, point)
    for number in range(CALLS):
        name, given = f"c{number}", answers.get(f"c{number}", [])
        started = lines.count(f"start {number}")
        if started > 1:
            yield f"point {point}: call {number} ran {started} times"
        if started and len(given) != 1:
            yield f"point {point}: call {number} ran and has {len(given)} answers"
        if f"durable {name}" in lines and given != [{"result": f"did {number}"}]:
            yield f"point {point}: the finished result of call {number} became {given}"
        if given and not started and given[0].get("status") not in {"not_run", "outcome_unknown"}:
            yield f"point {point}: call {number} never ran and has the answer {given}"


def _forgotten(
    lines: list[str], answers: dict[str, list[dict[str, Any]]], mode: str, point: int
) -> Iterator[str]:
    """Calls that had ended and whose results are lost, beyond those that ran when the process was killed."""
    forgotten = [
        number
        for number in range(CALLS)
        if f"end {number}" in lines and f"c{number}" in answers and "status" in answers[f"c{number}"][0]
    ]
    # Between the end of a call's effect and the write of its result every call that runs can be caught, and no other.
    if len(forgotten) > AT_ONCE[mode]:
        yield f"point {point}: the calls {forgotten} had ended and their results are lost"
    for number in forgotten:
        if answers[f"c{number}"][0]["status"] != "outcome_unknown":
            yield f"point {point}: call {number} had ended and has the answer {answers[f'c{number}']}"


def main(top: Path, mode: str, first: int, step: int) -> None:
    whole = top / "whole"
    whole.mkdir(parents=True)
    points = Points(0)
    anyio.run(
        turn_with, whole, mode, points, ""
    )  # here, so that the processes to kill begin with the tables read
    count = points.passed
    found = list(violations(whole, mode, 0))
    for point in range(first, count + 1, step):
        folder = top / str(point)
        folder.mkdir()
        code = in_child(folder, mode, point)
        # Usage is written in batches: a run may have a point or two fewer than the whole one had
        if code != -signal.SIGKILL and not (code == 0 and point > count - 3):
            found.append(f"point {point}: the process ended with {code} instead of being killed")
        if (folder / "home" / "sessions.db").exists() and Ledger(folder / "ledger").lines():
            again = in_child(folder, mode, 0, resume="latest")
            if again != 0:
                found.append(f"point {point}: resuming ended with {again}")
        found += violations(folder, mode, point)
    sys.stdout.write(json.dumps({"points": len(range(first, count + 1, step)), "violations": found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
