"""A turn of a session that is told what fits its messages, beside one that is not, on the same server."""

from functools import partial

from bench_measure import Row, folder, in_turn, options, runtime, server

from hermes.store.facts import Fact
from hermes.store.sqlite_facts import SqliteFacts

FACTS, ROUNDS = 1_000, 200
TREES = ("elm", "ash", "oak", "birch", "cedar", "hazel", "larch", "maple", "rowan", "willow")


async def recall() -> list[Row]:
    """What 1,000 facts cost a turn whose message fits a tenth of them, in processor time and by the clock."""
    with server(20) as url, folder() as path:
        (path / "with" / ".hermes" / "memories").mkdir(parents=True)
        (path / "without").mkdir()
        _fill(SqliteFacts(path / "with" / ".hermes" / "memories" / "facts.db", half_life=0))
        async with (
            runtime(path / "with", memory__provider="sqlite") as told,
            runtime(path / "without") as untold,
        ):
            sessions = {
                "with": await told.session(options(url)),
                "without": await untold.session(options(url)),
            }
            sides = {name: partial(one.send, "Where does the elm stand?") for name, one in sessions.items()}
            await in_turn(sides, 10)
            found = await in_turn(sides, ROUNDS)
            for session in sessions.values():
                await session.close()
    more = {kind: getattr(found["with"], kind) - getattr(found["without"], kind) for kind in ("cpu", "wall")}
    what = f"recall from {FACTS:,} facts: what it adds to a turn, "
    return [
        Row(what + "CPU", 1e3 * more["cpu"], unit="ms"),
        Row(what + "wall", 1e3 * more["wall"], unit="ms", goal="≤ 1 ms"),
    ]


def _fill(facts: SqliteFacts) -> None:
    for number in range(FACTS):
        tree = TREES[number % len(TREES)]
        facts.put(
            Fact(id=f"f{number}", text=f"The {tree} number {number} stands by gate {number % 7}.", at=0.0),
            "x",
        )
    facts.close()
