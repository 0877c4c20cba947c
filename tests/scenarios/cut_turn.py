"""A stored session whose process was killed while a call ran."""

from pathlib import Path

from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import Assistant, ToolCall, ToolResult, User


async def cut_turn(home: Path, work: Path, steps: int = 1) -> None:
    """Write it, as `s1`, to the store of a home: so many calls, of which the last has begun and has no outcome."""
    async with open_store(home / "sessions.db", home / "search.db") as store:
        row = SessionRow(id="s1", cwd=str(work), model="", created=1.0, updated=1.0)
        await store.create(row, system="You are Hermes.", tools=[])
        await store.append("s1", User(id="u1", at=1.0, text="do it"))
        for number in range(steps):
            made = ToolCall(id=f"c{number}", name="effect", arguments={}, raw="{}")
            await store.append("s1", Assistant(id=f"a{number}", at=1.0, text="", calls=(made,)))
            await store.begin("s1", made.id, made.name, "")
            if number < steps - 1:
                result = ToolResult(
                    id=f"r{number}", at=1.0, call_id=made.id, name=made.name, content="did it"
                )
                await store.settle("s1", result)
