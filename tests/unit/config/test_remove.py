"""Taking one item out of a list of the user's file touches nothing else in it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.config.edit import append_to_list, list_items, remove_from_list

KEY = "command_allowlist"
TEXTS = st.text(alphabet=st.sampled_from("ab $#:'\"\\\n-[]{}é\t|>"), min_size=1, max_size=15)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(TEXTS, min_size=1, max_size=4, unique=True), data=st.data())
def test_any_item_goes_and_all_others_and_every_comment_stay(
    path: Path, items: list[str], data: st.DataObject
) -> None:
    path.write_text("# top\nagent:\n  max_turns: 3 # turns\n# before\n", encoding="utf-8")
    for item in items:
        append_to_list(path, KEY, item)
    with path.open("a", encoding="utf-8") as file:
        file.write("# after\ndisplay:\n  bell: true # rings\n")
    gone = data.draw(st.sampled_from(items))
    assert remove_from_list(path, KEY, gone)
    assert list_items(path, KEY) == tuple(item for item in items if item != gone)
    text = path.read_text(encoding="utf-8")
    assert [
        comment for comment in ("# top", "# turns", "# before", "# after", "# rings") if comment not in text
    ] == []


def test_comments_between_items_stay_and_an_empty_list_is_still_a_list(path: Path) -> None:
    path.write_text(
        '# a\ncommand_allowlist:   # mine\n  # first\n  - one  # why\n  # second\n  - "two\n    more"\n# next\nx: {y: 2}\n'
    )
    assert remove_from_list(path, KEY, "two more")
    assert (
        path.read_text()
        == "# a\ncommand_allowlist:   # mine\n  # first\n  - one  # why\n  # second\n# next\nx: {y: 2}\n"
    )
    assert remove_from_list(path, KEY, "one")
    assert (
        path.read_text() == "# a\ncommand_allowlist: []   # mine\n  # first\n  # second\n# next\nx: {y: 2}\n"
    )


def test_a_list_on_one_line_loses_the_item_alone(path: Path) -> None:
    path.write_text("command_allowlist: [a, b]\nx: 1 # d\n")
    assert remove_from_list(path, KEY, "a")
    assert path.read_text() == "command_allowlist: [b]\nx: 1 # d\n"


def test_what_is_not_there_changes_nothing(path: Path) -> None:
    assert not remove_from_list(path, KEY, "a")
    assert not path.exists()
    path.write_text("command_allowlist: [a]\n")
    assert not remove_from_list(path, KEY, "b")
    assert path.read_text() == "command_allowlist: [a]\n"


def test_a_list_below_a_section_gains_and_loses_an_item_and_keeps_all_else(path: Path) -> None:
    path.write_text("# a\nplugins:\n  enabled: # mine\n  - one # why\n  - two\n  project: true # p\n")
    append_to_list(path, "plugins.enabled", "three")
    assert remove_from_list(path, "plugins.enabled", "two")
    text = "# a\nplugins:\n  enabled: # mine\n  - one # why\n  - three\n  project: true # p\n"
    assert path.read_text() == text
    assert list_items(path, "plugins.enabled") == ("one", "three")


@pytest.mark.parametrize("text", ["", "plugins:\n", "plugins: {enabled: }\n", "plugins: {enabled: []}\n"])
def test_a_list_that_is_not_there_yet_is_made(path: Path, text: str) -> None:
    path.write_text(text)
    append_to_list(path, "plugins.enabled", "one")
    assert list_items(path, "plugins.enabled") == ("one",)


@pytest.mark.parametrize(
    "text", ["plugins: {enabled: [one]}\n", "plugins: {enabled: [one,\n  two], project: true}\n"]
)
def test_a_list_in_brackets_loses_an_item_and_nothing_beside_it(path: Path, text: str) -> None:
    path.write_text(text)
    item = list_items(path, "plugins.enabled")[-1]
    assert remove_from_list(path, "plugins.enabled", item)
    assert item not in list_items(path, "plugins.enabled")
    assert ("project: true" in path.read_text()) == ("project" in text)
