"""What making room in a session of 200,000 tokens takes without the model's time, medians of wall and CPU.

Beside it, by hand: the same messages written as JSON once, which any summariser has to do at least.
`scripts/bench compaction`.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import anyio
import msgspec

from hermes.agent.compaction.compactor import Compactor
from hermes.agent.compaction.settings import CompressionSettings
from hermes.agent.compaction.sizes import total
from hermes.agent.context import ContextRequest
from hermes.agent.log import Log
from hermes.agent.services import Redactor
from hermes.composition import SYSTEM_PORTS
from hermes.lib.secretvalues import SecretValues
from hermes.models.side_calls import SideQuestion
from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User
from hermes.types.request import Endpoint

ROUNDS = 15
TOKENS = 200_000
SOURCE = "    def area(self, width: float, height: float) -> float:  # in square metres\n" * 40
LISTING = "-rw-r--r-- 1 ada ada 4711 Nov  2 12:00 src/package/module_with_a_name.py\n" * 30
TOOLS = (("read_file", "path", SOURCE), ("terminal", "command", LISTING))
RECORD = "## Active task\n- Mend the area [1]\n## Completed actions\n1. Read the source [2-9]\n"


def main() -> None:
    """Print one Markdown table."""
    log = session(TOKENS)
    compactor = Compactor(CompressionSettings())
    ours, cpu = measured(lambda: anyio.run(partial(compactor.make_room, wanted(log), focus="")))
    hand, hand_cpu = measured(lambda: [msgspec.json.encode(one) for one in log.messages])
    print(f"{len(log.messages)} messages, {total(log.messages):,} tokens\n")
    print("| measured | wall, ms | CPU, ms | goal |\n|---|---:|---:|---:|")
    print(f"| making room, a model's record included, its time not | {ours:.1f} | {cpu:.1f} | ≤ 150 |")
    print(f"| by hand: every message as JSON | {hand:.1f} | {hand_cpu:.1f} | |")
    print(f"\n{ours / hand:.1f} × the floor")


def measured(job: Callable[[], Any]) -> tuple[float, float]:
    """The medians of a job in milliseconds: wall and CPU."""
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        job()
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    return median(walls), median(cpus)


def session(tokens: int) -> Log:
    """A log of so many tokens whose next message is a reply: requests, calls, results of several sizes."""
    log, size = Log(), 0
    for message in messages():
        if size >= tokens and isinstance(message, User):
            return log.add(message)
        log, size = log.add(message), size + total([message])
    raise AssertionError("messages do not end")


def messages() -> Iterator[Message]:
    """Turns of ten steps, for ever."""
    for turn in itertools.count():
        yield User(id=f"u{turn}", at=0.0, text=f"Mend the area in module {turn}, and say what was wrong.")
        for step in range(10):
            name, output = (("read_file", SOURCE), ("terminal", LISTING))[step % 2]
            arguments = (
                {"path": f"src/module_{turn}_{step}.py"} if step % 2 == 0 else {"command": f"ls {step}"}
            )
            call = ToolCall(id=f"c{turn}.{step}", name=name, arguments=arguments)
            yield Assistant(id=f"a{turn}.{step}", at=0.0, text="I look at it.", calls=(call,))
            content = msgspec.json.encode({"output": f"{turn} {step}\n{output}", "exit_code": 0}).decode()
            yield ToolResult(id=f"r{turn}.{step}", at=0.0, call_id=call.id, name=name, content=content)
        yield Assistant(id=f"e{turn}", at=0.0, text="It was the height. " * 20)


def wanted(log: Log) -> ContextRequest:
    """A request for room by a session with secrets to take out, whose model answers at once."""

    async def ask(_question: SideQuestion) -> str:
        return RECORD

    return ContextRequest(
        log=log,
        endpoint=Endpoint(provider="p", base_url="http://h/v1", model="m", context_window=TOKENS),
        system="You are an agent.",
        tools=(),
        reply=0,
        ports=SYSTEM_PORTS,
        ask=ask,
        redact=Redactor(SecretValues("sk-live-0123456789abcdef")).redact,
        asked_window=TOKENS,
    )


if __name__ == "__main__":
    main()
