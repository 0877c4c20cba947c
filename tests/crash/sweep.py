"""A crash sweep: one turn with twelve calls is killed (SIGKILL, its whole process group) at every fault point in a process of its own,
then goes on where it was cut, or is resumed with a new message; prints what was lost, repeated or cannot be sent on.

Fault points lie before and after every write of the store, inside its transactions and after them, at the start and the end of every
tool, and inside every command. Usage: sweep.py FOLDER MODE FIRST STEP
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

import hermes
from hermes.agent import recovery
from hermes.agent.log import Log
from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.store.database import Database
from hermes.store.protocol import UsageEntry
from hermes.store.sqlite_store import SqliteStore, open_store
from hermes.testing import ScriptedModel, call, calls, say
from hermes.types.error import HermesError
from hermes.types.message import Assistant, Message, ToolResult, User
from hermes.types.profile import Profile
from tests.wire import test_histories, test_pairs

CALLS = 12
COMMAND = "echo start {0} >>ledger; sh ./at {0}; echo end {0} >>ledger; echo did {0}"
"""`at` kills the group of the session at the number that it was made for."""


def write(number: int) -> tuple[str, dict[str, object]]:
    return "write_file", {"path": f"f{number}", "content": str(number)}


def command(number: int) -> tuple[str, dict[str, object]]:
    return "terminal", {"command": COMMAND.format(number)}


def batches(kinds: str) -> list[Any]:
    """Replies of four calls each: `f` writes a file, `c` runs a command."""
    made = {"f": write, "c": command}
    return [
        calls(
            *[made[kind](at + place) for place, kind in enumerate(kinds)],
            ids=[f"c{number}" for number in range(at, at + 4)],
        )
        for at in range(0, CALLS, 4)
    ]


PLANS = {
    "sequential": [call("effect", {"number": number}, call_id=f"c{number}") for number in range(CALLS)],
    "parallel": batches("ffff"),
    "commands": [call(*command(number), call_id=f"c{number}") for number in range(CALLS)],
    "files": batches("ffff"),
    "mixed": batches("ffcf"),
}
REAL = {"commands", "files", "mixed"}
AT_ONCE = {"sequential": 1, "parallel": 4, "commands": 1, "files": 4, "mixed": 4}
INSIDE = {"commands": range(CALLS), "mixed": range(2, CALLS, 4)}
"""The calls that are killed from inside their command too; such a point is below zero."""


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
    """Counts fault points; at the wanted one the process is killed with its group."""

    def __init__(self, wanted: int) -> None:
        self.passed, self._wanted = 0, wanted

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self._wanted:
            os.kill(0, signal.SIGKILL)


class WatchedStore(SqliteStore):
    """The real store, with a fault point on both sides of every write, one inside each transaction and one after it."""

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
                self.ledger.note("durable", f"{result.call_id} {digest(result)}")
        self.points()

    async def begin(self, session_id: str, call_id: str, tool: str, digest: str) -> None:
        self.points()
        await super().begin(session_id, call_id, tool, digest)
        self.points()

    async def finish(self, session_id: str, result: ToolResult) -> None:
        self.points()
        await super().finish(session_id, result)
        if recovery.is_cut(result):  # what the call is taken to have given if it is killed now
            return
        self.ledger.note("durable", f"{result.call_id} {digest(result)}")
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
        self.points()


def digest(result: ToolResult) -> str:
    return hashlib.sha256(result.content.encode()).hexdigest()


def watch_files(runtime: Runtime, points: Points, ledger: Ledger) -> None:
    """Fault points around every call of a real tool, and a line for each file that is about to be written."""

    async def before(tool_name: str, tool_call_id: str) -> None:
        points()
        if tool_name == "write_file":
            ledger.note("start", tool_call_id.removeprefix("c"))

    async def after(tool_name: str, tool_call_id: str) -> None:
        if tool_name == "write_file":
            ledger.note("end", tool_call_id.removeprefix("c"))
        points()

    runtime.hooks.register("pre_tool_call", before)
    runtime.hooks.register("post_tool_call", after)


def rest_of(mode: str, resume: str) -> list[Any]:
    """What the model says: all of the turn, the rest of it after so many replies, or words to a new message."""
    return [say("carried on")] if resume == "latest" else [*PLANS[mode], say("all done")][int(resume or 0) :]


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

    model = ScriptedModel(*rest_of(mode, resume))
    environ = {"HOME": str(folder), "HERMES_HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    flags = {"terminal.sandbox": "off", "checkpoints.turns": False}
    async with open_runtime(environ=environ, http=model.http(), flags=flags) as runtime:
        store = WatchedStore(Database(runtime.home.sessions_db, "sessions"), runtime.home.search_db)
        store.points, store.ledger = points, ledger
        runtime.services.ledger.store = store
        runtime.opener.services = replace(runtime.services, store=store)
        if mode in REAL:
            watch_files(runtime, points, ledger)
        session = await runtime.session(
            SessionOptions(
                base_url="http://127.0.0.1:1/v1",
                model="m",
                toolsets=("terminal", "file") if mode in REAL else (),
                functions=() if mode in REAL else (effect, write_file),
                resume=resume and "latest",
                cwd=folder,
            )
        )
        if resume.isdigit():
            await session.continue_turn()
        else:
            await session.send("and now?" if resume else "do the twelve things")
        await session.close()
        await store.close()


def in_child(folder: Path, mode: str, point: int, *, resume: str = "") -> int:
    """Run a turn in a forked process with a group of its own; 0 when it came to its end, -9 when it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            kill = f"[ $1 != {-1 - point} ] || kill -9 -{os.getpid()}\n" if point < 0 else ""
            (folder / "at").write_text(kill)
            anyio.run(turn_with, folder, mode, Points(point), resume)
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


class Found:
    """What a kill and a resumption have left, against what really happened."""

    def __init__(self, folder: Path, mode: str, point: int) -> None:
        self._mode, self._point = mode, point
        self._lines = Ledger(folder / "ledger").lines()
        self._log = anyio.run(last_log, folder / "home")
        self._answers: dict[str, list[ToolResult]] = {}
        for message in self._log:
            if isinstance(message, ToolResult):
                self._answers.setdefault(message.call_id, []).append(message)

    @property
    def unknown(self) -> int:
        """How many calls were answered as of unknown outcome."""
        return sum(self._status(name) == "outcome_unknown" for name in self._answers)

    @property
    def words(self) -> list[str]:
        """What was said, without calls and their results."""
        return [one.text for one in self._log if isinstance(one, User | Assistant) and one.text]

    def violations(self) -> Iterator[tuple[str, str]]:
        """What must not be: of which kind, and in words."""
        yield from self._lost()
        yield from self._repeated()
        if words := self._refused():
            yield "invalid", f"{self._at}: {words}"

    @property
    def _at(self) -> str:
        return f"{self._mode}, point {self._point}"

    def _status(self, name: str) -> str:
        told: Mapping[str, Any] = {}
        with contextlib.suppress(ValueError):
            told = json.loads(self._answers[name][0].content)
        return str(told.get("status", "")) if isinstance(told, dict) else ""

    def _lost(self) -> Iterator[tuple[str, str]]:
        heard = [message.text for message in self._log if isinstance(message, User)]
        for line in self._lines:
            word, _, rest = line.partition(" ")
            if word == "heard" and rest not in heard:
                yield "lost", f"{self._at}: the user's words {rest!r}"
            if word == "durable":
                name, kept = rest.split()
                if [digest(one) for one in self._answers.get(name, ())] != [kept]:
                    yield "lost", f"{self._at}: the finished result of {name}"
        # Between the end of a call's effect and the write of its result every call that runs can be caught, and no other.
        ended = [f"c{number}" for number in range(CALLS) if f"end {number}" in self._lines]
        forgotten = [name for name in ended if name in self._answers and self._status(name)]
        if len(forgotten) > AT_ONCE[self._mode]:
            yield "lost", f"{self._at}: {forgotten} had ended"

    def _repeated(self) -> Iterator[tuple[str, str]]:
        for number in range(CALLS):
            name, times = f"c{number}", self._lines.count(f"start {number}")
            answers = len(self._answers.get(name, ()))
            if times > 1 or answers > 1:
                yield "repeated", f"{self._at}: {name} ran {times} times and has {answers} answers"
            if times and answers == 0:
                yield "lost", f"{self._at}: {name} ran and has no answer"
            status = self._status(name) if answers else ""
            if f"end {number}" in self._lines and status not in {"", "outcome_unknown"}:
                yield "lost", f"{self._at}: {name} had ended and is answered as {status}"
            if answers and not times and status not in {"not_run", "outcome_unknown"}:
                yield "repeated", f"{self._at}: {name} never ran and has an answer"

    def _refused(self) -> str:
        """Why a strict server of some wire would not take the next request."""
        asked = (*self._log, User(id="next", at=0.0, text="and now?"))
        log = Log()
        try:
            for message in asked:
                log = log.add(message)
            for kind in test_histories.KINDS:
                test_histories.check(kind, [log.messages], Profile(), frozenset())
            test_pairs.check(log.messages, Profile(), frozenset())
        except (HermesError, AssertionError) as error:
            return f"{type(error).__name__}: {error}"
        return ""


def is_cut(log: tuple[Message, ...]) -> bool:
    return bool(log) and not (isinstance(log[-1], Assistant) and not log[-1].calls)


def main(top: Path, mode: str, first: int, step: int) -> None:
    whole = top / "whole"
    whole.mkdir(parents=True)
    (whole / "at").touch()
    points = Points(0)
    # here, so that the processes to kill begin with the tables read
    anyio.run(turn_with, whole, mode, points, "")
    count, found, unknown = points.passed, list(Found(whole, mode, 0).violations()), 0
    unreached = 0
    wanted = [*range(1, count + 1), *(-1 - number for number in INSIDE.get(mode, ()))][first - 1 :: step]
    for point in wanted:
        folder = top / str(point)
        folder.mkdir()
        code = in_child(folder, mode, point)
        # Usage is written in batches: on a busy machine a run has a few points fewer than the whole one had
        if code == 0 and point > count - 30:
            unreached += 1
        elif code != -signal.SIGKILL:
            found.append(("other", f"{mode}, point {point}: the process ended with {code}, not killed"))
        log = anyio.run(last_log, folder / "home")
        goes_on = point % 2 == 0 and is_cut(log)
        if log:
            said = sum(isinstance(message, Assistant) for message in log)
            again = in_child(folder, mode, 0, resume=str(said) if goes_on else "latest")
            if again != 0:
                found.append(("other", f"{mode}, point {point}: resuming ended with {again}"))
        left = Found(folder, mode, point)
        if goes_on and left.words != ["do the twelve things", "all done"]:
            found.append(("lost", f"{mode}, point {point}: the turn went on to {left.words}"))
        unknown += left.unknown
        found += left.violations()
    report = {"points": len(wanted) - unreached, "unknown": unknown, **Counter(kind for kind, _ in found)}
    sys.stdout.write(json.dumps({**report, "violations": [words for _, words in found]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
