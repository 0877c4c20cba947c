"""The small tasks done by other agents with the built-in model, which is served once for all: prints a
Markdown table of right answers and median seconds.

Each task is a process of its own in the task's folder, with a home of its own; its seconds are those of the
process. Whether tools were used is not judged, for some agents end every task by a command.
"""

import argparse
import datetime as dt
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import anyio
from bench_tasks import Outcome, add_selection, asked, cell, selected, total, totals_by
from peer_gate import Gate
from peers import MODEL, PEERS, STEPS, Job, surroundings
from task_parts import Task

from hermes.composition import model_cache
from hermes.models.local import serving
from hermes.models.local.catalogue import LocalModel, find, location

WINDOW = 32_768


@dataclass(frozen=True, slots=True)
class Run:
    """How a process went: its seconds, those it waited for the model, its model calls, why it ended."""

    seconds: float
    model_seconds: float
    steps: int
    ended: str
    answer: str
    printed: str


async def main() -> None:
    """Serve the model, do the chosen tasks with each agent and print the tables."""
    chosen = arguments()
    tasks = selected(chosen)
    programs = {name: PEERS[name].install() for name in chosen.agents}
    server = await served()
    try:
        askers = [Asker(name, program, server, chosen) for name, program in programs.items()]
        results = {asker.name: asker.do_all(tasks) for asker in askers}
    finally:
        server.close()
    print("\n".join(table(tasks, results)))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="scripts/bench peers", description=__doc__)
    parser.add_argument("--agents", nargs="+", choices=sorted(PEERS), default=sorted(PEERS))
    add_selection(parser)
    parser.add_argument("--seconds", type=float, default=180, help="most for a task (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add each answer to this file of JSON lines")
    parser.add_argument("--verbose", action="store_true", help="show what each agent prints on stderr")
    return parser.parse_args()


async def served() -> serving.LocalServer:
    """The built-in model with the window it was trained for, so that no agent's prompt is cut."""
    model = find(MODEL)
    path = location(model, model_cache(os.environ)) if isinstance(model, LocalModel) else model
    if not path.exists():
        raise SystemExit(f"{path} is not there: scripts/bench tasks {MODEL} fetches it.")
    return await serving.LocalServer.start(path, context_window=WINDOW)


@dataclass(frozen=True, slots=True)
class Asker:
    """An installed agent, the model server, and what the command line asks for."""

    name: str
    program: Path
    server: serving.LocalServer
    chosen: argparse.Namespace

    def do_all(self, tasks: list[Task]) -> list[Outcome]:
        """The tasks, once the model has read what the agent's prompts begin with and its files are warm."""
        with tempfile.TemporaryDirectory() as folder:
            run = self.run("Hello!", Path(folder), steps=1, seconds=300)
        print(f"{self.name}: ready in {run.seconds:.0f} s", file=sys.stderr)
        return [self.do(task) for task in tasks]

    def do(self, task: Task) -> Outcome:
        """One task in a fresh workspace."""
        with tempfile.TemporaryDirectory(prefix="task-") as folder:
            root = Path(folder)
            task.build(root)
            run = self.run(task.question, root, steps=STEPS, seconds=self.chosen.seconds)
            right = task.check(root, run.answer)
        self.note(task, run, right=right)
        return Outcome(right, run.seconds, run.steps, run.answer)

    def run(self, question: str, root: Path, *, steps: int, seconds: float) -> Run:
        """The agent's process in that folder with a fresh home, until it ends or its time or steps do."""
        with tempfile.TemporaryDirectory() as folder:
            home, log = Path(folder), Path(folder) / "printed"
            began = time.perf_counter()
            with Gate(self.server.base_url, self.server.key, steps) as gate, log.open("wb") as printed:
                job = Job(question, root, home, gate.base_url)
                process = self.started(job, printed)
                ended = until_end(process, gate, began + seconds)
                took = time.perf_counter() - began
            answer = PEERS[self.name].answer(job, gate)
            return Run(took, gate.model_seconds, gate.steps, ended, answer, log.read_text(errors="replace"))

    def started(self, job: Job, printed: BinaryIO) -> "subprocess.Popen[bytes]":
        """The agent's process, the head of a group of its own."""
        return subprocess.Popen(
            [str(self.program), *PEERS[self.name].arguments(job)],
            cwd=job.root,
            env=surroundings(PEERS[self.name], job),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def note(self, task: Task, run: Run, *, right: bool) -> None:
        """Say how it went, and keep it."""
        mark = "ok   " if right else "WRONG"
        how = f"{run.seconds:5.1f} s {run.steps} {self.name} {task.name}: {run.answer[:120]!r}"
        print(f"{mark} {how} (ended by {run.ended})", file=sys.stderr)
        if self.chosen.verbose:
            print(run.printed, file=sys.stderr)
        if self.chosen.out:
            about = {"agent": self.name, "task": task.name, "kind": task.kind, "language": task.language}
            kept = {**about, "question": task.question, "right": right, **asdict(run)}
            with self.chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def until_end(process: "subprocess.Popen[bytes]", gate: Gate, limit: float) -> str:
    """Wait for the process; why it ended. Nothing of its group stays."""
    try:
        while process.poll() is None and not gate.spent and time.perf_counter() < limit:
            time.sleep(0.05)
        return "itself" if process.poll() is not None else "steps" if gate.spent else "time"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def table(tasks: list[Task], results: dict[str, list[Outcome]]) -> list[str]:
    """The Markdown report."""
    today = f"{dt.date.today():%d %B %Y}"  # noqa: DTZ011  # a local date
    lines = [f"Measured: {today}, {os.cpu_count()} cores ({platform.machine()}), `scripts/bench peers`.", ""]
    lines += [f"- {name}: {', '.join(PEERS[name].packages)}" for name in results]
    lines += ["", f"| Task | {' | '.join(f'{name} | s | steps' for name in results)} |"]
    lines.append("|" + "---|" * (1 + 3 * len(results)))
    for number, task in enumerate(tasks):
        lines.append(f"| {asked(task)} | {' | '.join(cell(of[number]) for of in results.values())} |")
    lines.append(f"| **Right, median seconds, steps** | {' | '.join(map(total, results.values()))} |")
    kinds = totals_by("Kind", [task.kind for task in tasks], results)
    return [*lines, "", *kinds, "", *totals_by("Language", [task.language for task in tasks], results)]


if __name__ == "__main__":
    anyio.run(main)
