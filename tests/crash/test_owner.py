"""A session has one living owner (invariant 31): whoever else opens it is told who has it, until that process is gone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OWNER = Path(__file__).with_name("owner.py")
pytestmark = pytest.mark.timeout(600)


class Process:
    """One `owner.py`."""

    def __init__(self, folder: Path, what: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, OWNER, folder, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def next(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        return dict(json.loads(line)) if line else {}

    def go_on(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def end(self) -> None:
        if self.child.poll() is None:
            self.kill()
        for stream in (self.child.stdin, self.child.stdout):
            assert stream is not None
            stream.close()


@contextmanager
def working(folder: Path, *what: str) -> Iterator[list[Process]]:
    processes = [Process(folder, one) for one in what]
    try:
        yield processes
    finally:
        for process in processes:
            process.end()


def started(owner: Process) -> str:
    """The session of an owner that is in the middle of its second batch."""
    session = str(owner.next()["session"])
    assert [owner.next(), owner.next()] == [{"ran": 1}, {"ran": 2}]
    return session


def refused(folder: Path, session: str, owner: Process) -> None:
    """Eight processes want the session, and all are told who has it."""
    with working(folder, *[session] * 8) as others:
        for other in others:
            told = other.next()
            assert (told["refused"], told["pid"]) == ("SessionOwned", owner.child.pid)
            assert f"Session {session} is open in cli (process {owner.child.pid} on" in told["words"]
            assert f"hermes sessions release {session} takes it" in told["words"]


def test_eight_that_resume_a_session_at_work_are_told_who_has_it(tmp_path: Path) -> None:
    """While it works and while it is stopped; the owner's turn ends as if nobody had come."""
    with working(tmp_path, "new") as (owner,):
        session = started(owner)
        refused(tmp_path, session, owner)
        owner.child.send_signal(signal.SIGSTOP)
        refused(tmp_path, session, owner)
        owner.child.send_signal(signal.SIGCONT)
        owner.go_on()
        assert owner.next() == {"ran": 3}
        end = owner.next()
        assert [json.loads(content)["result"] for content in end["contents"]] == ["did 1", "did 2", "did 3"]
        refused(tmp_path, session, owner)


def test_of_eight_that_resume_a_session_whose_owner_was_killed_one_gets_it(tmp_path: Path) -> None:
    with working(tmp_path, "new") as (owner,):
        session = started(owner)
        owner.kill()
        with working(tmp_path, *[session] * 8) as others:
            told = [other.next() for other in others]
            (winner,) = (other for other, one in zip(others, told, strict=True) if "session" in one)
            assert {one["pid"] for one in told if "refused" in one} == {winner.child.pid}
            end = winner.next()
    assert end["kinds"] == [
        "user", "assistant", "tool_result", "assistant", "tool_result", "tool_result", "assistant", "user", "assistant",
    ]  # fmt: skip
    first, second, third = (json.loads(content) for content in end["contents"])
    assert (first, second["status"], third["status"]) == ({"result": "did 1"}, "outcome_unknown", "not_run")


def test_a_session_that_is_taken_is_lost_to_the_process_that_had_it(tmp_path: Path) -> None:
    """`hermes sessions release` is the only way; the next call with effects of the old owner is not made."""
    environ = {**os.environ, "HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home")}
    with working(tmp_path, "new") as (owner,):
        session = started(owner)
        said = subprocess.run(
            [sys.executable, "-m", "hermes", "sessions", "release", session],
            env=environ, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert f"{session} is free: process {owner.child.pid} on" in said.stdout
        with working(tmp_path, session) as (other,):
            assert other.next() == {"session": session}
            assert "contents" in other.next()
            owner.go_on()
            told = owner.next()
            assert told["outcome"] == "failed"
            assert told["failure"].startswith(
                f"Session {session} was taken over by another process; nothing was"
            )
