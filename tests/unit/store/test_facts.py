"""Facts are found by their words and their age, by whoever they were noted for."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.store import fact_file
from hermes.store.fact_ranking import FEW
from hermes.store.facts import DAY, Fact, score
from hermes.store.protocol import EVERYBODY, Viewer
from hermes.store.sqlite_facts import RANKED, SqliteFacts
from hermes.types.capabilities import Capabilities
from hermes.types.error import StorageDamaged
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
    viewers = (
        EVERYBODY,
        Viewer(bounds=narrow),
        *(
            Viewer(origins=frozenset(one))
            for one in ({"chat:ada"}, {"chat:bob"}, {"chat:ada", "chat:bob"}, {"", "chat:ada"})
        ),
    )
    assert [sorted(found(facts, "elm", one)) for one in viewers] == [
        ["narrow", "owner"],
        ["narrow"],
        ["ada"],
        [],
        [],
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


def fitting(facts: SqliteFacts, message: str) -> list[str]:
    return [one.id for one in facts.fitting(message, EVERYBODY, limit=6, now=0.0)]


TWO = ("The elm stands by the gate.", "The boiler is serviced in March.")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("elm tree", {"0"}),
        ("where is the elm", {"0"}),
        ("Is there an elm tree somewhere here?", {"0"}),
        ("boiler and elm please", {"0", "1"}),
        ("ELM?", {"0"}),
        ("When are the boilers serviced?", {"1"}),
        ("Is it in there?", set()),
        ("", set()),
    ],
)
def test_of_two_facts_the_one_that_shares_a_word_is_found(
    tmp_path: Path, message: str, expected: set[str]
) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    for number, text in enumerate(TWO):
        facts.add(fact(str(number), text))
    assert set(fitting(facts, message)) == expected
    assert set(found(facts, message)) >= expected
    facts.close()


TWELVE = (
    *TWO,
    "Deployments go to the staging cluster first.",
    "The database password rotates every month.",
    "Ada prefers tabs and short commit messages.",
    "The cat is grey and is called Momo.",
    "Backups run at night and are kept for a week.",
    "The printer on the second floor is out of order.",
    "My sister lives in Lisbon.",
    "The garden hose leaks.",
    "Use uv for Python projects, not pip.",
    "The train to work leaves at 7:42.",
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Is there an elm tree somewhere here?", [0]),
        ("boiler and elm please", [0, 1]),
        ("How do I commit this and push it for Ada?", [4]),
        ("What do I have to know about backups?", [6]),
        ("Which package manager for python?", [10]),
        ("What is the time?", []),
        ("Write a function that sorts a list for me and test it in the shell.", []),
    ],
)
def test_of_twelve_facts_those_that_fit_are_found_and_no_others(
    tmp_path: Path, message: str, expected: list[int]
) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    for number, text in enumerate(TWELVE):
        facts.add(fact(str(number), text))
    assert sorted(fitting(facts, message)) == [str(one) for one in expected]
    facts.close()


def test_of_scripts_without_spaces_and_of_capitals_the_words_are_found(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    for name, text in (
        ("tokyo", "会議は東京で開かれる"),
        ("vm", "The VM is called oak."),
        ("ci", "CI runs at night."),
    ):
        facts.add(fact(name, text))
    assert [fitting(facts, one) for one in ("東京の天気", "Which VM is it?", "is CI slow?")] == [
        ["tokyo"],
        ["vm"],
        ["ci"],
    ]
    assert found(facts, "京") == ["tokyo"]
    facts.close()


def test_what_every_fact_holds_is_found_by_a_query_and_comes_with_no_message(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    for number in range(12):
        facts.put(fact(str(number), f"The boiler has a part number {number}."), "x")
    assert (fitting(facts, "What about the boiler?"), len(found(facts, "boiler"))) == ([], 9)
    facts.close()


CONTENT = [
    f"{first}{second}{third}"
    for first in "bdfgklm"
    for second in ("ulo", "ir", "ata", "ov")
    for third in "nkz"
]
COMMON = ("al", "wo", "ten", "sie", "unda", "warum", "zwischen")


@settings(max_examples=60, deadline=None)
@given(
    size=st.sampled_from([1, 2, 12]),
    draw=st.randoms(use_true_random=False),
    common=st.lists(st.sampled_from(COMMON), min_size=1, unique=True),
)
def test_a_fact_is_found_by_a_word_of_its_own_among_common_ones_and_by_those_alone_not_at_all(
    size: int, draw: Random, common: list[str]
) -> None:
    own = draw.sample(CONTENT, 2 * size)
    with TemporaryDirectory() as folder:
        facts = SqliteFacts(Path(folder, "f.db"), half_life=0)
        for number in range(size):
            words = [*common, *own[2 * number : 2 * number + 2]]
            facts.put(fact(str(number), " ".join(draw.sample(words, len(words)))), "x")
        chosen = draw.randrange(size)
        message = [*common, own[2 * chosen], "nowhere", "qelsewhere"]
        told = fitting(facts, " ".join(draw.sample(message, len(message))))
        alone = fitting(facts, " ".join(common))
        facts.close()
    assert told == [str(chosen)]
    assert alone == [] or size <= FEW


def test_of_a_thousand_facts_the_one_that_shares_a_rare_word_is_found_alone(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    for number in range(1_000):
        facts.put(
            fact(str(number), f"al {'wo ' * (number % 3)}unda plant{number} stands by wall{number % 40}"), "x"
        )
    assert fitting(facts, "Al wo unda: plant7 warum?") == ["7"]
    assert fitting(facts, "al wo, unda stands warum") == []
    facts.close()


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_words_make_a_search_fail(text: str, words: str) -> None:
    with TemporaryDirectory() as folder:
        facts = SqliteFacts(Path(folder, "f.db"), half_life=1)
        facts.add(fact("a", text.encode("utf-8", "replace").decode()))
        assert {*found(facts, words), *fitting(facts, words)} <= {"a"}
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


def lose_log(path: Path) -> None:
    """The file as an older Hermes left it when it was killed, without its log: no table is in it."""
    path.unlink()
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("PRAGMA journal_mode=WAL")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(4096, len(content), 37):
        content[place] ^= 0x55
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.write_bytes(b""), "it holds no table of facts"),
        (lose_log, "it holds no table of facts"),
        (lambda path: path.write_bytes(b"noise" * 4000), "it holds no table of facts"),
        (lambda path: path.write_bytes(path.read_bytes()[:8192]), ".*"),
        (flip, ".*"),
        (lambda path: path.rename(f"{path}-wal"), "it is gone, and f.db-wal is there"),
    ],
)
def test_lost_facts_are_told_and_never_begun_anew(
    tmp_path: Path, damage: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "f.db"
    facts = SqliteFacts(path, half_life=0)
    for number in range(50):
        facts.add(fact(str(number), f"the elm number {number} is {'very ' * 50}old"))
    facts.close()
    fact_file.examine(path)
    damage(path)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    told = (
        rf"f\.db is damaged \((?s:{why})\): no fact in it is told, and none is noted\. Put a copy of the file"
    )
    with pytest.raises(StorageDamaged, match=told):
        fact_file.examine(path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    with pytest.raises(StorageDamaged, match=told):
        SqliteFacts(path, half_life=0)


def test_a_file_of_facts_is_whole_from_its_beginning(tmp_path: Path) -> None:
    facts = SqliteFacts(tmp_path / "f.db", half_life=0)
    assert (tmp_path / "f.db").stat().st_mode & 0o777 == 0o600
    shutil.copyfile(tmp_path / "f.db", tmp_path / "g.db")  # without its log
    fact_file.examine(tmp_path / "g.db")
    facts.close()
    assert sorted(one.name for one in tmp_path.iterdir()) == [".f.db.lock", "f.db", "g.db"]


def test_a_changed_bit_in_the_name_of_a_mark_takes_no_mark_away(tmp_path: Path) -> None:
    path = tmp_path / "f.db"
    facts = SqliteFacts(path, half_life=0)
    facts.add(Fact(id="a", text="the elm is old", at=1, outside=("https://a.example",)))
    facts.close()
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("UPDATE facts SET body = CAST(replace(body, '\"outside\"', '\"outsidd\"') AS BLOB)")
        rows.commit()
    facts = SqliteFacts(path, half_life=0)
    with pytest.raises(StorageDamaged, match=r"outsidd"):
        facts.everything()
    facts.close()
