"""The index of skills: those of use, the same bytes for the same skills, and never more than its room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.skills.conditions import Surface, of_use
from hermes.skills.index import index_text
from hermes.skills.skill_file import Conditions, Skill

MANY = st.lists(
    st.builds(
        Skill,
        name=st.text("abc", min_size=1, max_size=64),
        description=st.text(max_size=400),
        folder=st.just("/s"),
        category=st.sampled_from(["", "code", "writing"]),
    ),
    max_size=200,
    unique_by=lambda one: one.name,
)


def skill(name: str, category: str = "", conditions: Conditions = Conditions()) -> Skill:  # noqa: B008  # a value
    return Skill(name=name, description=f"does {name}", folder="/s", category=category, conditions=conditions)


def test_the_index_has_a_heading_for_each_category_and_a_line_for_each_skill() -> None:
    skills = [skill("haiku"), skill("review", "code"), skill("debug", "code")]
    assert (
        index_text(skills) == "code:\n- debug: does debug\n- review: does review\nother:\n- haiku: does haiku"
    )


@given(MANY, st.randoms())
def test_the_same_skills_give_the_same_bytes_within_the_room(skills: list[Skill], random: object) -> None:
    text = index_text(skills)
    random.shuffle(skills)  # type: ignore[attr-defined]
    assert (index_text(skills), len(text) <= 1_100) == (text, True)


def test_where_descriptions_have_no_room_they_are_cut_then_names_stand_alone_and_then_numbers() -> None:
    def many(count: int) -> list[Skill]:
        return [
            Skill(name=f"skill-{number:02}", description="d" * 150, folder="/s", category="code")
            for number in range(count)
        ]

    lines = {count: index_text(many(count)).split("\n")[1] for count in (6, 9, 15, 20, 25, 30, 60)}
    cut = {9: 87, 15: 57, 20: 37, 25: 23, 30: 17}
    assert lines == {
        6: f"- skill-00: {'d' * 150}",
        **{count: f"- skill-00: {'d' * width}…" for count, width in cut.items()},
        60: "- " + ", ".join(f"skill-{number:02}" for number in range(60)),
    }
    assert index_text([skill(f"{'x' * 40}{number:03}", "code") for number in range(300)]) == "code: 300"


@pytest.mark.parametrize(
    ("wanted", "counts"),
    [
        ({}, True),
        ({"platforms": ("linux",)}, True),
        ({"platforms": ("macos", "windows")}, False),
        ({"requires_tools": ("terminal",)}, True),
        ({"requires_tools": ("terminal", "browser")}, False),
        ({"requires_toolsets": ("file",)}, True),
        ({"requires_toolsets": ("web",)}, False),
        ({"fallback_for_tools": ("terminal",)}, False),
        ({"fallback_for_tools": ("browser",)}, True),
        ({"fallback_for_toolsets": ("file",)}, False),
        ({"fallback_for_toolsets": ("web",)}, True),
    ],
)
def test_a_skill_is_of_use_where_its_conditions_hold(
    wanted: dict[str, tuple[str, ...]], counts: bool
) -> None:
    surface = Surface(platform="linux", tools=frozenset({"terminal"}), has_toolset="file".__eq__)
    assert (of_use([skill("x", conditions=Conditions(**wanted))], surface) != []) == counts


@pytest.mark.parametrize(
    ("platform", "written"),
    [
        ("darwin", "macos"),
        ("darwin", "macOS"),
        ("darwin", "darwin"),
        ("win32", "windows"),
        ("remote", "macos"),
    ],
)
def test_systems_are_known_by_all_their_names(platform: str, written: str) -> None:
    surface = Surface(platform=platform, tools=frozenset(), has_toolset=bool)
    assert of_use([one := skill("x", conditions=Conditions(platforms=(written,)))], surface) == [one]
