"""What the input line promises, as far as no terminal is needed."""

import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.apps.tui.chips import Chips, pasted
from hermes.apps.tui.files import Paths, list_files
from hermes.apps.tui.menu import Item, complete, menu_lines
from hermes.apps.tui.picker import Picker, age, last_exchange, picker_lines
from hermes.apps.tui.region import KEYS, key_lines
from hermes.apps.tui.status import Facts, header_lines, status_line
from hermes.apps.tui.terminal import is_light
from hermes.present.settings import DisplaySettings
from hermes.present.spans import columns, plain
from hermes.present.words import short_path
from hermes.store.protocol import SessionRow
from hermes.types.message import Assistant, Message, User

COMMANDS = [
    Item("/help", "/help", "Help"),
    Item("/history ", "/history [turns]", "Old turns"),
    Item("/stop", "/stop", "Stop"),
]
MANY = [f"src/package{n % 97}/module_{n % 911}/file_number_{n}.py" for n in range(50_000)]
ITEMS = DisplaySettings().status
FACTS = Facts(
    version="1.0",
    model="some-model",
    context=4300,
    window=200_000,
    guard="sandbox · asks",
    directory="~/demo",
    branch="main*",
)


@given(st.text(max_size=800))
def test_a_paste_is_sent_as_it_was(text: str) -> None:
    chips = Chips()
    assert chips.expand(f"before {chips.shorten(text)} after") == f"before {text} after"


def test_only_long_pastes_become_chips() -> None:
    chips = Chips()
    assert [chips.shorten(text) for text in ("a\nb\nc\nd\ne", "a\nb\nc\nd\ne\nf", "x" * 501)] == [
        "a\nb\nc\nd\ne", "[paste 1: 6 lines]", "[paste 2: 501 characters]",
    ]  # fmt: skip


def test_a_newline_at_the_end_of_a_paste_is_dropped() -> None:
    assert pasted("rm -rf x\r\n") == "rm -rf x"


def test_a_row_is_split_at_its_chips() -> None:
    chips = Chips()
    chip = chips.shorten("x" * 600)
    assert list(chips.parts(f"a {chip} b")) == [("a ", False), (chip, True), (" b", False)]


@pytest.mark.parametrize(
    ("before", "labels"),
    [
        ("/", ["/help", "/history [turns]", "/stop"]),
        ("/h", ["/help", "/history [turns]"]),
        ("/st", ["/stop", "/history [turns]"]),
        ("/x", []),
    ],
)
def test_commands_are_found_by_prefix_then_by_what_they_contain(before: str, labels: list[str]) -> None:
    assert [item.label for item in complete(before, COMMANDS, lambda _: ()).items] == labels


@pytest.mark.parametrize("before", ["", "hello /he", "/help me", "mail me@home", "x"])
def test_nothing_is_offered_where_nothing_is_asked_for(before: str) -> None:
    assert complete(before, COMMANDS, lambda _: (Item("x", "x"),)).items == ()


def test_a_file_is_asked_for_by_an_at_sign_after_a_space() -> None:
    menu = complete("look at @src/ap", COMMANDS, lambda typed: [Item(typed, f"found for {typed}")])
    assert (menu.items, menu.length) == ((Item("src/ap", "found for src/ap"),), 7)


def test_the_menu_shows_eight_rows_around_the_chosen_one() -> None:
    menu = complete("/", [Item(f"/c{n}", f"/c{n}", "what it does") for n in range(20)], lambda _: ()).move(-1)
    rows = [plain(row) for row in menu_lines(menu, 40)]
    assert (len(rows), rows[-2].startswith("❯ /c19"), rows[-1]) == (9, True, "  20 of 20")
    assert max(columns(row) for row in menu_lines(menu, 20)) <= 20


@pytest.mark.parametrize(
    ("query", "best"), [("file_number_49.py", 49), ("number_777.", 777), ("mdl8flnm8.p", None)]
)
def test_files_are_found_among_fifty_thousand_within_50_ms(query: str, best: int | None) -> None:
    paths = Paths(MANY)
    began = time.thread_time()
    found = paths.best(query)
    assert time.thread_time() - began < 0.05
    assert best is None or found[0] == MANY[best]


@given(
    st.lists(st.text(alphabet="ab/.", min_size=1, max_size=8), max_size=20, unique=True),
    st.text(alphabet="ab/.", max_size=4),
)
def test_every_file_found_has_the_letters_in_order(paths: list[str], query: str) -> None:
    for path in Paths(paths).best(query):
        letters = iter(path)
        assert all(letter in letters for letter in query)


def test_files_of_a_folder_without_git_are_walked(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").touch()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "b.txt").touch()
    assert anyio.run(list_files, tmp_path) == ["b.txt", "src/a.py"]


def test_the_status_line_drops_items_from_the_right_but_never_the_protection() -> None:
    shown = {width: plain(status_line(FACTS, width, ITEMS)) for width in (80, 60, 42, 40, 24)}
    assert shown == {
        80: "some-model · 4.3k/200k 2% · sandbox · asks · ~/demo (main*)",
        60: "some-model · 4.3k/200k 2% · sandbox · asks · ~/demo (main*)",
        42: "some-model · 4.3k/200k 2% · sandbox · asks",
        40: "some-model · sandbox · asks",
        24: "some-m… · sandbox · asks",
    }


def test_the_status_line_drops_what_was_paid_before_the_directory() -> None:
    paid = replace(FACTS, cost=("$0.0100",))
    assert {width: plain(status_line(paid, width, ITEMS)) for width in (80, 66)} == {
        80: "some-model · 4.3k/200k 2% · $0.0100 · sandbox · asks · ~/demo (main*)",
        66: "some-model · 4.3k/200k 2% · sandbox · asks · ~/demo (main*)",
    }


def test_what_runs_in_the_background_is_counted_and_makes_way_before_the_directory() -> None:
    facts = replace(FACTS, cost=("$0.0100",), background=2)
    assert {width: plain(status_line(facts, width, ITEMS)) for width in (100, 80, 60)} == {
        100: "some-model · 4.3k/200k 2% · $0.0100 · 2 in background · sandbox · asks · ~/demo (main*)",
        80: "some-model · 4.3k/200k 2% · 2 in background · sandbox · asks · ~/demo (main*)",
        60: "some-model · 4.3k/200k 2% · sandbox · asks · ~/demo (main*)",
    }


def test_the_status_line_has_the_items_that_are_wanted_in_their_order_and_the_protection_always() -> None:
    wanted = ("directory", "context", "model")
    assert {width: plain(status_line(FACTS, width, wanted)) for width in (80, 50, 24)} == {
        80: "~/demo (main*) · 4.3k/200k 2% · some-model · sandbox · asks",
        50: "4.3k/200k 2% · some-model · sandbox · asks",
        24: "some-m… · sandbox · asks",
    }
    assert plain(status_line(FACTS, 80, ())) == "sandbox · asks"
    assert plain(status_line(FACTS, 80, ("protection", "model"))) == "sandbox · asks · some-model"


def test_a_full_context_warns_with_a_word() -> None:
    warm, hot = (
        status_line(Facts(version="", model="m", context=used, window=100), 80, ITEMS) for used in (75, 95)
    )
    assert [span.role for span in warm if "%" in span.text] == ["warning"]
    assert [(span.text, span.role) for span in hot if "%" in span.text] == [
        ("95/100 95% nearly full: /compress", "error")
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_the_header_is_two_lines_at_any_width(width: int) -> None:
    rows = header_lines(FACTS, width)
    assert (len(rows), all(columns(row) <= width for row in rows)) == (2, True)


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120])
def test_no_key_is_cut_at_any_width(width: int) -> None:
    rows = key_lines(width)
    shown = " ".join(" ".join(map(plain, rows)).split())
    assert [what for _, what in KEYS if what not in shown] == []
    assert (all(columns(row) <= width for row in rows), len(rows) == len(KEYS)) == (True, width >= 80)


def said_in(*messages: str) -> list[Message]:
    made = (User, Assistant)
    return [made[number % 2](id=str(number), at=0, text=text) for number, text in enumerate(messages)]


def test_the_list_of_sessions_shows_what_was_said_last_in_the_chosen_one() -> None:
    row = SessionRow(id="s1", cwd="/w", model="m", created=0, updated=0, messages=4, first_text="first words")
    picker = Picker(local=[row], all=[row], now=60)
    unread = picker_lines(picker, "", 40, 20)
    picker.said["s1"] = last_exchange(said_in("first words", "yes", "and\nthen?", "It is **done**. " * 20))
    rows = picker_lines(picker, "", 40, 20)
    assert plain(rows[3]) == "  ❯ and then?"
    assert all(plain(one).startswith("    ") and "done" in plain(one) for one in rows[4:7])
    assert (len(rows), all(columns(one) <= 40 for one in rows)) == (len(unread), True)
    assert [len(picker_lines(picker, "", 40, height)) for height in (5, 13, 14)] == [4, 4, 8]


def test_a_turn_without_an_answer_shows_its_message_alone() -> None:
    assert [last_exchange(said_in(*texts)) for texts in ((), ("a",), ("a", "b", "c"))] == [
        ("", ""), ("a", ""), ("c", ""),
    ]  # fmt: skip


def test_small_facts() -> None:
    home = Path("/home/me")
    assert [short_path(Path(path), home) for path in ("/home/me", "/home/me/x", "/etc")] == [
        "~",
        "~/x",
        "/etc",
    ]
    assert [age(seconds) for seconds in (5, 300, 7200, 200_000)] == ["now", "5m", "2h", "2d"]
    assert [
        is_light(*parts) for parts in (("ffff", "ffff", "ffff"), ("1e1e", "1e1e", "2e2e"), ("f", "f", "0"))
    ] == [True, False, True]
