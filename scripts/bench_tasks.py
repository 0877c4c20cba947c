"""Small tasks done by a real local model through the library: prints a Markdown table of right answers,
seconds and steps.
"""

import argparse
import datetime as dt
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio
from held_out_tasks import HELD_OUT
from more_tasks import MORE
from small_tasks import TUNED
from task_parts import Task

from hermes.agent.session import Session
from hermes.agent.spec import SessionOptions
from hermes.models.local.catalogue import entries
from hermes.runtime import Runtime, open_runtime
from hermes.types.event import Event, Notice, StepStarted, TurnFinished
from hermes.types.message import Assistant, ToolResult

SEEN = [*TUNED, *MORE]
SETS = {"tuned": SEEN, "held-out": HELD_OUT, "all": SEEN + HELD_OUT}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task as it went: `seconds` from the question to the end of the turn, `steps` model calls."""

    right: bool
    seconds: float
    steps: int
    answer: str


async def main() -> None:
    """Do the chosen tasks with each model and print the table."""
    chosen = arguments()
    tasks = selected(chosen)
    results = {}
    with tempfile.TemporaryDirectory() as home:
        # A program's own start
        environ = {**os.environ, "HERMES_HOME": home, "TMPDIR": tempfile.gettempdir()}
        for model in chosen.models:
            async with open_runtime(environ=environ) as runtime:
                await load(runtime, model)
                results[model] = [await do(runtime, model, task, loud=chosen.verbose) for task in tasks]
    print("\n".join(table(tasks, results)))


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="scripts/bench tasks", description=__doc__)
    parser.add_argument(
        "models",
        nargs="*",
        default=[model.alias for model in entries()],
        help="aliases or GGUF files (default: all built in)",
    )
    add_selection(parser)
    parser.add_argument("--verbose", action="store_true", help="show calls and results on stderr")
    return parser.parse_args()


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The options that say which tasks are done."""
    parser.add_argument("--set", choices=sorted(SETS), default="all")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="tasks whose name has one of these texts"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of these the first, the N + 1st …")


def selected(chosen: argparse.Namespace) -> list[Task]:
    """The tasks that these options name."""
    named = [task for task in SETS[chosen.set] if any(text in task.name for text in chosen.only)]
    return named[:: chosen.every]


async def load(runtime: Runtime, model: str) -> None:
    """Fetch and load the model and let it read its prompt once, so that the table shows tasks and not
    downloads.
    """
    began = time.perf_counter()
    await turn(await runtime.session(SessionOptions(model=f"local/{model}", attended=False)), "Hello!")
    print(f"{model}: ready in {time.perf_counter() - began:.0f} s", file=sys.stderr)


async def do(runtime: Runtime, model: str, task: Task, *, loud: bool) -> Outcome:
    """One task in a fresh workspace and session."""
    with tempfile.TemporaryDirectory(prefix="task-") as folder:
        root = Path(folder)
        task.build(root)
        session = await runtime.session(SessionOptions(model=f"local/{model}", cwd=root, attended=False))
        try:
            end, steps = await turn(session, task.question)
        finally:
            await session.close()
        called = any(isinstance(message, ToolResult) for message in session.log)
        right = task.tools_needed in {None, called} and task.check(root, end.text)
    outcome = Outcome(right, end.seconds, steps, end.text)
    print(
        f"{'ok   ' if right else 'WRONG'} {end.seconds:5.1f} s {steps} {task.name}: {end.text[:120]!r}",
        file=sys.stderr,
    )
    if loud:
        print(transcript(session), file=sys.stderr)
    return outcome


async def turn(session: Session, text: str) -> tuple[TurnFinished, int]:
    """Run one turn; its end and the number of model calls."""
    heard: list[Event] = []
    async with session.stream(text) as events:
        async for event in events:
            heard.append(event)
            if isinstance(event, Notice):
                print(event.text, file=sys.stderr)
    end = next(event for event in heard if isinstance(event, TurnFinished))
    return end, sum(isinstance(event, StepStarted) for event in heard)


def transcript(session: Session) -> str:
    """Calls and results, one a line."""
    lines = []
    for message in session.log:
        if isinstance(message, Assistant):
            lines += [f"      > {call.name} {dict(call.arguments)}" for call in message.calls]
        if isinstance(message, ToolResult):
            lines.append(f"      < {message.content[:300]}")
    return "\n".join(lines)


def table(tasks: Sequence[Task], results: dict[str, list[Outcome]]) -> list[str]:
    """The Markdown report."""
    # A local date
    head = f"{dt.date.today():%d %B %Y}, {os.cpu_count()} cores ({platform.machine()}), `scripts/bench tasks`"  # noqa: DTZ011
    columns = " | ".join(f"{model} | s | steps" for model in results)
    lines = [f"Measured: {head}.", "", f"| Task | {columns} |", "|" + "---|" * (1 + 3 * len(results))]
    held = {task.name for task in HELD_OUT}
    for number, task in enumerate(tasks):
        cells = " | ".join(cell(outcomes[number]) for outcomes in results.values())
        lines.append(f"| {asked(task)}{' *' if task.name in held else ''} | {cells} |")
    totals = " | ".join(total(outcomes) for outcomes in results.values())
    return [
        *lines,
        f"| **Right, median seconds, steps** | {totals} |",
        "",
        "\\* held out: no prompt or example was written with this task in view.",
        "",
        *totals_by("Kind", [task.kind for task in tasks], results),
        "",
        *totals_by("Language", [task.language for task in tasks], results),
    ]


def asked(task: Task) -> str:
    """The question as the cell of a table."""
    return " ".join(task.question.replace("|", " ").split())


def totals_by(what: str, groups: Sequence[str], results: dict[str, list[Outcome]]) -> list[str]:
    """A table of the right answers and the median seconds of each group; `groups` names that of each task."""
    lines = [f"| {what} | {' | '.join(f'{name} | s' for name in results)} |"]
    lines.append("|" + "---|" * (1 + 2 * len(results)))
    for group in dict.fromkeys(groups):
        parts = [
            [outcome for outcome, its in zip(outcomes, groups, strict=True) if its == group]
            for outcomes in results.values()
        ]
        lines.append(f"| {group} | {' | '.join(map(part, parts))} |")
    return lines


def part(outcomes: Sequence[Outcome]) -> str:
    """How many were right, the median of the seconds."""
    seconds = median(outcome.seconds for outcome in outcomes)
    return f"{sum(outcome.right for outcome in outcomes)} of {len(outcomes)} | {seconds:.1f}"


def cell(outcome: Outcome) -> str:
    """Right or wrong, seconds, steps."""
    return f"{'✓' if outcome.right else '✗'} | {outcome.seconds:.1f} | {outcome.steps}"


def total(outcomes: Sequence[Outcome]) -> str:
    """How many were right, the median of the seconds, the sum of the steps."""
    seconds = sorted(outcome.seconds for outcome in outcomes)
    right = sum(outcome.right for outcome in outcomes)
    return (
        f"**{right} of {len(outcomes)}** | {seconds[len(seconds) // 2]:.1f} |"
        f" {sum(outcome.steps for outcome in outcomes)}"
    )


if __name__ == "__main__":
    anyio.run(main)
