"""A process that lives long: 20,000 turns over 500 chats, of which 25 are open at a time. Each takes four
turns, is closed, and is opened again when its turn comes.

Memory, blocks that Python has given out, descriptors and threads after each tenth.
`scripts/bench soak [--turns N] [--chats N]`.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from statistics import linear_regression

import anyio
import psutil
from bench_measure import TEXT, folder, options, runtime, server
from bench_sessions import raise_file_limit
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.conversation import Conversation, Conversations
from hermes.runtime import Runtime
from hermes.types.actor import Actor
from hermes.types.event import TurnFinished

LOOKS = 10
HEAD = ("turns", "seconds", "memory, MB", "blocks of Python", "descriptors", "threads")
SETTLED = 2
"""Looks that belong to warming up."""
AT_ONCE = 25
VISIT = 4
"""Turns of a chat until it is closed."""
IDLE = 0.0
"""Seconds after which a chat counts as idle: none, so that all are closed when they are asked."""


class Look(Struct, frozen=True):
    """The process after so many turns."""

    turns: int
    seconds: float
    memory: float
    blocks: int
    descriptors: int
    threads: int


class Nobody:
    """The screen of a chat that nobody looks at."""

    def sent(self, text: str) -> None:
        """A turn begins."""

    def returned(self, text: str, _by: Actor | None) -> None:
        """Messages come back."""
        raise AssertionError(text)

    def refused(self, sentence: str) -> None:
        """A turn could not begin."""
        raise AssertionError(sentence)


class Chats:
    """Chats of one runtime, each with its session, which is resumed when it was closed."""

    def __init__(self, runtime: Runtime, url: str, spawn: Callable[..., object]) -> None:
        self._runtime, self._options, self._spawn = runtime, options(url), spawn
        self._ids: dict[str, str] = {}
        self.all = Conversations(self._open, runtime.ports.monotonic, idle_seconds=IDLE)

    async def _open(self, key: str) -> Conversation:
        chosen = replace(self._options, resume=self._ids.get(key, ""))
        session = await self._runtime.session(chosen)
        self._ids[key] = session.id
        return Conversation(self._spawn, Nobody(), session)

    async def visit(self, key: str) -> None:
        """Some messages and their answers."""
        for _ in range(VISIT):
            await self._turn(await self.all.get(key))

    async def _turn(self, chat: Conversation) -> None:
        assert chat.session is not None
        with chat.session.watch() as events:
            chat.send(TEXT)
            async for event in events:
                if isinstance(event, TurnFinished):
                    assert event.outcome == "done", event
                    chat.finished(event)
                    return


async def soak(turns: int, count: int) -> list[Look]:
    """The looks at a process that takes so many turns."""
    looks: list[Look] = []
    with server(5) as url, folder() as path:
        async with runtime(path) as opened, anyio.create_task_group() as group:
            chats, started = Chats(opened, url, group.start_soon), time.perf_counter()
            visits = turns // VISIT
            for number in range(0, visits, AT_ONCE):
                async with anyio.create_task_group() as present:
                    for one in range(number, number + AT_ONCE):
                        present.start_soon(chats.visit, f"chat {one % count}")
                await chats.all.close_idle()
                if (number + AT_ONCE) * LOOKS // visits > len(looks):
                    looks.append(_look((number + AT_ONCE) * VISIT, time.perf_counter() - started))
    return looks


def _look(turns: int, seconds: float) -> Look:
    gc.collect()
    process = psutil.Process()
    return Look(
        turns=turns,
        seconds=seconds,
        memory=process.memory_info().rss / 1e6,
        blocks=sys.getallocatedblocks(),
        descriptors=process.num_fds(),
        threads=process.num_threads(),
    )


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--chats", type=int, default=500)
    chosen = parser.parse_args()
    raise_file_limit()
    looks = anyio.run(soak, chosen.turns, chosen.chats)
    print("| " + " | ".join(HEAD) + " |\n|" + "---:|" * len(HEAD))
    for one in looks:
        figures = (f"{one.turns:,}", f"{one.seconds:.0f}", f"{one.memory:.1f}", f"{one.blocks:,}")
        print(f"| {' | '.join(figures)} | {one.descriptors} | {one.threads} |")
    later = looks[SETTLED:]
    slope = linear_regression([one.turns for one in later], [one.memory for one in later]).slope
    print(f"\nMemory after warming up: {slope * 1000:+.2f} MB for each 1,000 turns.")


if __name__ == "__main__":
    main()
