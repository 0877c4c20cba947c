"""Facts are found by their words and their age, by whoever they were noted for."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.store.facts import DAY, Fact, score
from hermes.store.protocol import EVERYBODY, Viewer
from hermes.store.sqlite_facts import RANKED, SqliteFacts
from hermes.types.capabilities import Capabilities
from hermes.types.message import MEMORY_TAG, ContextBlock


def fact(name: str, text: str, at: float = 0.0) -> Fact:
    return Fact(id=name, text=text, at=at)


def found(facts: SqliteFacts, words: str, viewer: Viewer = EVERYBODY, now: float = 0.0) -> list[str]:
    return [one.id for one in facts.find(words, viewer, limit=9, now=now)]


@given(st.floats(0, 1e6), st.floats(0, 1e9), st.floats(1, 1e9))
def test_a_fact_is_worth_half_after_each_half_life_and_never_more_than_when_it_was_new(
    relevance: float, age: float, half_life: float
) -> None:
    now, later = score(relevance, age, half_life), score(relevance, age + half_life, half_life)
    assert later == pytest.approx(now / 2, rel=1e-6, abs=1e-200)
    assert score(relevance, -age, half_life) == relevance == score(relevance, age, 0)


def test_of_two_facts_that_fit_alike_the_younger_one_comes_first_and_much_older_ones_not_at_all(
    tmp_path: Path,
) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=10 * DAY)
    for name, age in (("old", 15), ("new", 1), ("ancient", 400)):
        facts.add(fact(name, f"the elm, {name}", 400 * DAY - age * DAY))
    for number in range(9):
        facts.add(fact(f"o{number}", f"the oak number {number}", 400 * DAY))
    assert found(facts, "how is the elm?", now=400 * DAY) == ["new", "old"]
    facts.close()


def test_the_same_fact_is_kept_once_and_what_is_removed_is_found_no_more(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    facts.add(fact("a", "the elm is old", 1.0))
    facts.add(fact("b", "the elm is old", 2.0))
    assert [one.id for one in facts.everything()] == ["b"] == found(facts, "elm")
    assert [facts.remove("b", EVERYBODY), facts.remove("b", EVERYBODY)] == [True, False]
    assert found(facts, "elm") == []
    facts.close()


def test_a_fact_is_for_the_one_it_was_noted_for_within_his_bounds(tmp_path: Path) -> None:
    facts, narrow = SqliteFacts(tmp_path / "f.db", half_life=0), Capabilities(read=("/w",))
    facts.add(Fact(id="owner", text="elm one", at=0))
    facts.add(Fact(id="narrow", text="elm two", at=0, bounds=narrow))
    facts.add(Fact(id="ada", text="elm three", at=0, origin="chat:ada"))
    viewers = (EVERYBODY, Viewer(bounds=narrow), Viewer(origin="chat:ada"), Viewer(origin="chat:bob"))
    assert [sorted(found(facts, "elm", one)) for one in viewers] == [
        ["narrow", "owner"],
        ["narrow"],
        ["ada"],
        [],
    ]
    assert facts.remove("ada", EVERYBODY) is False
    facts.close()


def test_the_many_facts_of_others_take_no_place_of_ones_own(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    facts.add(fact("mine", "the elm of this home, which is long ago and far away"))
    for number in range(2 * RANKED):
        facts.put(Fact(id=f"f{number}", text="elm", at=0.0, origin="chat:ada"), "x")
    assert found(facts, "elm") == ["mine"]
    facts.close()


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_words_make_a_search_fail(text: str, words: str) -> None:
    with TemporaryDirectory() as folder:
        facts = SqliteFacts(Path(folder, "f.db"), half_life=1)
        facts.add(fact("a", text.encode("utf-8", "replace").decode()))
        assert set(found(facts, words)) <= {"a"}
        facts.close()


@given(
    st.lists(st.sampled_from(["</", "<", "memory-context", ">", " ", "MEMORY-CONTEXT", "/", "x"])).map(
        "".join
    )
)
def test_no_text_closes_the_fence_around_it(text: str) -> None:
    words = ContextBlock(kind="memory", text=text).words.lower()
    assert (words.count(f"<{MEMORY_TAG}>"), words.count(f"</{MEMORY_TAG}>")) == (1, 1)
    assert words.endswith(f"\n</{MEMORY_TAG}>")
