"""Sessions as a tree: each branch below the session that it began with."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hermes.store.protocol import SessionRow


def session_tree(rows: Sequence[SessionRow]) -> Iterator[tuple[str, SessionRow]]:
    """Each session with the lines in front of it; branches in the order in which they were made, below
    theirs. One whose origin is gone stands by itself.
    """
    known = {row.id for row in rows}
    below: dict[str, list[SessionRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: (one.created, one.id)):
        below[row.origin if row.origin in known else ""].append(row)
    tops = {row.id: place for place, row in enumerate(rows)}
    for row in sorted(below[""], key=lambda one: tops[one.id]):
        yield "", row
        yield from _branches(row.id, below, "")


def family(rows: Sequence[SessionRow], session_id: str) -> list[SessionRow]:
    """A session, those that it came from, and all their branches."""
    by_id = {row.id: row for row in rows}
    top = session_id
    while top in by_id and by_id[top].origin in by_id:
        top = by_id[top].origin
    return [row for row in rows if top in _line(row, by_id)]


def _line(row: SessionRow, by_id: Mapping[str, SessionRow]) -> Iterator[str]:
    """A session's id and those of all that it came from."""
    yield row.id
    while row.origin in by_id:
        row = by_id[row.origin]
        yield row.id


def _branches(
    session_id: str, below: Mapping[str, Sequence[SessionRow]], lines: str
) -> Iterator[tuple[str, SessionRow]]:
    inner = below.get(session_id, ())
    for number, row in enumerate(inner, 1):
        last = number == len(inner)
        yield f"{lines}{'└─ ' if last else '├─ '}", row
        yield from _branches(row.id, below, f"{lines}{'   ' if last else '│  '}")
