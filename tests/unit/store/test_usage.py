"""What was spent stays counted, by day, session, task and model, whatever process spent it."""

from pathlib import Path

import pytest

from hermes.store.sessions import Sessions
from hermes.store.usage import Entry, Spent
from hermes.types.usage import NO_USAGE, Usage

USED = Usage(input_tokens=100, output_tokens=10, cache_read=80, cache_write=5, reasoning=3, requests=1, cost=0.25, unpriced=0)


def entry(day: str = "2026-11-22", session: str = "s1", model: str = "m", *, failed: bool = False) -> Entry:
    return Entry(day=day, session=session, task="chat", provider="p", model=model, usage=USED, counted=0.3, failed=failed)


def test_requests_add_up_and_failed_ones_are_told_apart(tmp_path: Path) -> None:
    store = Sessions(tmp_path / "s.db")
    for one in (entry(), entry(failed=True), entry(day="2026-11-21"), entry(session="s2", model="n")):
        store.usage.add(one)
    assert store.usage.of_session("s1") == USED + USED + USED
    assert store.usage.of_session("nobody") == NO_USAGE
    assert store.usage.summary("model") == [Spent(what="p/m", usage=USED + USED + USED, failed=1), Spent(what="p/n", usage=USED, failed=0)]
    assert [(one.what, one.usage.requests) for one in store.usage.summary("day", since="2026-11-22")] == [("2026-11-22", 3)]
    store.close()


def test_a_day_is_counted_over_all_processes(tmp_path: Path) -> None:
    stores = [Sessions(tmp_path / "s.db") for _ in range(2)]
    for store in stores:
        store.usage.add(entry())
    found = [store.usage.counted_on("2026-11-22") for store in stores]
    assert [tokens for tokens, _ in found] == [220, 220]
    assert [money for _, money in found] == [pytest.approx(0.6)] * 2
    assert stores[0].usage.counted_on("2026-11-23") == (0, 0.0)
    for store in stores:
        store.close()
