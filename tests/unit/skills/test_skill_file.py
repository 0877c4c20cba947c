"""SKILL.md: what others wrote is read, what Hermes writes keeps the rules, and nothing else gets out than SkillError."""

import itertools
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.skills.skill_file import Conditions, Skill, SkillVariable, check, parse, split
from hermes.types.error import SkillError

WORDS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=100).filter(
    str.strip
)
FULL = """---
name: deploy
description: Put a service on the cluster
platforms: [linux, macos]
required_environment_variables:
  - name: CLUSTER_KEY
    prompt: the key
    help: from the operators
  - KUBECONFIG
  - "NO NAME"
required_credential_files: [cluster.pem, {path: ~/.kube/token, description: a token}]
prerequisites:
  commands: [kubectl]
  env_vars: [KUBECONFIG]
metadata:
  hermes:
    tags: [ops, cluster]
    category: operations
    related_skills: [watch]
    requires_tools: [terminal]
    requires_toolsets: [file]
    fallback_for_tools: [deploy_service]
    fallback_for_toolsets: [cluster]
---
# Deploy
1. Build.
"""


def test_all_that_counts_is_read_from_the_front_matter() -> None:
    assert parse(FULL, Path("/s/deploy")) == Skill(
        name="deploy",
        description="Put a service on the cluster",
        folder="/s/deploy",
        category="operations",
        tags=("ops", "cluster"),
        related=("watch",),
        conditions=Conditions(
            platforms=("linux", "macos"),
            requires_tools=("terminal",),
            requires_toolsets=("file",),
            fallback_for_tools=("deploy_service",),
            fallback_for_toolsets=("cluster",),
        ),
        variables=(
            SkillVariable(name="CLUSTER_KEY", prompt="the key", help="from the operators"),
            SkillVariable(name="KUBECONFIG"),
        ),
        programs=("kubectl",),
        credential_files=("cluster.pem", "~/.kube/token"),
    )


@pytest.mark.parametrize(
    ("front", "name", "description"),
    [
        ("name: x\ndescription: Use when: asked", "x", "Use when: asked"),
        ("name: x\ndescription: |\n  Two\n  lines", "x", "Two lines"),
        ("name: x\r\ndescription: from Windows\r", "x", "from Windows"),
        ("description: no name", "folder", "no name"),
        ("name: 7", "7", "The first words."),
        ('name: x\ndescription: "a \\e[31mred\\e[0m word"', "x", "a red word"),
    ],
)
def test_what_others_write_is_read(front: str, name: str, description: str) -> None:
    skill = parse(f"---\n{front}\n---\n# Title\n\nThe first words.\n", Path("/s/folder"))
    assert (skill.name, skill.description) == (name, description)


@pytest.mark.parametrize(
    ("front", "description"),
    [
        ("description: !!bool maybe", "maybe"),
        ("description: !!int ''", "The first words."),
        ("description: !!python/object/apply:os.system [id]", "The first words."),
        ("description: 0x" + "f" * 9000, "0x" + "f" * 9000),
        (r'description: "\ud800x"', "x"),
        ("description: fine\u200b\u202e\U000e0041", "fine"),
        ("description: null", "The first words."),
        ("x: &x\n  description: no\n<<: *x", "The first words."),
    ],
)
def test_no_value_is_more_than_a_text(front: str, description: str) -> None:
    assert parse(f"---\nname: x\n{front}\n---\nThe first words.\n", Path("/s/x")).description == description


BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 8)}]\n" for old, new in itertools.pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("front", "why"),
    [
        (BOMB, "The front matter has more than 1000 values."),
        ("a: &a [*a]\n", "The front matter refers to itself, or lies too deep."),
        (f"a: {'[' * 5000}", "The front matter is too long: 16,000 characters are the most."),
        ("x" * 16_001, "The front matter is too long: 16,000 characters are the most."),
    ],
)
def test_what_grows_without_an_end_is_refused(front: str, why: str) -> None:
    with pytest.raises(SkillError) as raised:
        parse(f"---\n{front}\n---\n", Path("/s/x"))
    assert str(raised.value) == why


@pytest.mark.parametrize("name", ["../up", "PDF Tools", "/etc", "a/b", "'\u202e'"])
def test_a_name_that_is_none_gives_way_to_that_of_the_folder(name: str) -> None:
    assert parse(f"---\nname: {name}\n---\nx\n", Path("/s/Folder")).name == "folder"
    with pytest.raises(SkillError, match="is no name of a skill, nor is its folder's"):
        parse(f"---\nname: {name}\n---\nx\n", Path("/s/No Name"))


def test_a_file_without_front_matter_is_a_skill_named_after_its_folder() -> None:
    assert parse("# Title\nDo it.", Path("/s/plain")) == Skill(
        name="plain", description="Do it.", folder="/s/plain"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x\n", "The front matter has no end: a line --- closes it."),
        ("---\nname: [x\n---\n", "The front matter is no YAML, line 3: "),
        ("---\n- x\n---\n", "The front matter is no table of names and values."),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(SkillError) as raised:
        parse(text, Path("/s/x"))
    assert str(raised.value).startswith(why)


@given(st.text(max_size=200) | st.text(max_size=200).map(lambda text: f"---\n{text}\n---\nbody"))
def test_any_text_is_a_skill_or_a_skill_error(text: str) -> None:
    with suppress(SkillError):
        skill = parse(text, Path("/s/x"))
        assert (skill.name != "", "\n" in skill.name + skill.description) == (True, False)


@given(WORDS, WORDS)
def test_what_hermes_writes_can_be_read_again(description: str, body: str) -> None:
    text = f"---\n{json.dumps({'name': 'x', 'description': description}, ensure_ascii=False)}\n---\n{body}"
    check(text, "x")
    assert split(text)[0]["description"] == description


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (FULL, "Deploy", "'Deploy' is no name of a skill: "),
        (FULL, "../deploy", "'../deploy' is no name of a skill: "),
        (FULL, "deploy2", "The front matter names the skill 'deploy'; it is 'deploy2'."),
        ("# Deploy", "deploy", "SKILL.md begins with front matter: "),
        ("---\nname: deploy\n---\nbody", "deploy", "The front matter needs a description: "),
        ("---\nname: deploy\ndescription: d\n---\n \n", "deploy", "There is nothing below the front matter"),
        (FULL + "x" * 100_000, "deploy", "SKILL.md has 100"),
        (
            f"---\nname: deploy\ndescription: {'d' * 1025}\n---\nx",
            "deploy",
            "The description has 1025 characters",
        ),
    ],
)
def test_what_hermes_writes_keeps_the_rules(text: str, name: str, why: str) -> None:
    with pytest.raises(SkillError) as raised:
        check(text, name)
    assert str(raised.value).startswith(why)
