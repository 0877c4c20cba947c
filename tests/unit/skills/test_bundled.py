"""The skills that come with Hermes keep the rules for skills, and what they name is there."""

import ast
import re
import shutil
import subprocess
import textwrap
import tomllib
from pathlib import Path

import pytest

import hermes
from hermes.skills.guard import examine
from hermes.skills.index import index_text
from hermes.skills.library import SkillLibrary
from hermes.skills.skill_file import FILE, Skill, check, check_name, split

ROOT = Path(hermes.__file__).parent / "data" / "skills"
FILES = sorted(ROOT.rglob(FILE))
NAMES = [path.parent.name for path in FILES]
PAGES = sorted(ROOT.rglob("*.md"))
FENCE = re.compile(r"^([ \t]*)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(
    r"(?<![\w/.-])(?:\$\{HERMES_SKILL_DIR\}/)?((?:references|templates|scripts|assets)/[\w./-]*\w)"
)

each = pytest.mark.parametrize("path", FILES, ids=NAMES)
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def skills(tmp_path: Path) -> list[Skill]:
    library = SkillLibrary([ROOT], tmp_path / "cache")
    assert library.faults() == []
    return library.skills()


def programs(path: Path, *languages: str) -> list[str]:
    """The fenced programs of a page in these languages."""
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [textwrap.dedent(code) for _, language, code in found if language in languages]


def test_there_are_twenty_seven_with_a_name_each(tmp_path: Path) -> None:
    assert len(set(NAMES)) == len(NAMES) == 27
    assert [one.name for one in skills(tmp_path)] == [path.parent.name for path in FILES]


@each
def test_a_bundled_skill_keeps_the_rules_of_skill_files(path: Path) -> None:
    check(path.read_text(encoding="utf-8"), path.parent.name)
    check_name(path.parents[1].name)


@each
def test_its_front_matter_says_what_it_is_for_and_what_it_needs(path: Path) -> None:
    front, _ = split(path.read_text(encoding="utf-8"))
    extra = front["metadata"]["hermes"]
    assert 20 <= len(front["description"]) <= 110
    assert 2 <= len(extra["tags"]) <= 4
    assert extra.keys() <= {"tags", "requires_tools"}
    assert front.keys() <= {"name", "description", "metadata", "prerequisites"}


@each
def test_it_is_short_enough_to_be_followed(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert 35 <= len(lines) <= 90
    assert [line for line in lines if len(line) > 180] == []


def test_the_names_of_commands_are_not_taken() -> None:
    commands = tomllib.loads((ROOT.parent / "commands.toml").read_text(encoding="utf-8"))["command"]
    taken = {name for one in commands for name in (one["name"], *one.get("aliases", ()))}
    assert taken & set(NAMES) == set()


def test_the_index_of_all_of_them_is_small(tmp_path: Path) -> None:
    text = index_text(skills(tmp_path))
    assert len(text) <= 1_100
    assert all(f"- {one.name}: {one.description[:15]}" in text for one in skills(tmp_path))


def test_the_guard_finds_nothing_that_would_surprise(tmp_path: Path) -> None:
    """None is dangerous. Those of `caution` are here for what their procedure is: `git bisect run` runs the
    program that tells good from bad (git-history), a rename writes to every file that has the name
    (refactor-safely), a table is made in a database of its own (query-data), and two have programs that
    write files whose names the caller gives: a notebook that is edited, and the parts of a set of examples.

    What Python compiled beside the scripts when it was installed is left out: it came with no skill.
    """
    shutil.copytree(ROOT, tmp_path / "skills", ignore=shutil.ignore_patterns("__pycache__"))
    verdicts = {path.parent.name: examine(path.parent) for path in (tmp_path / "skills").rglob(FILE)}
    assert {name: one.findings for name, one in verdicts.items() if one.level == "dangerous"} == {}
    assert sorted(name for name, one in verdicts.items() if one.level == "caution") == [
        "fine-tune",
        "git-history",
        "notebooks",
        "query-data",
        "refactor-safely",
    ]


@each
def test_every_file_that_it_names_is_there_and_every_file_there_is_named(path: Path) -> None:
    named = set(NAMED.findall(path.read_text(encoding="utf-8")))
    there = {str(one.relative_to(path.parent)) for one in path.parent.rglob("*") if one.is_file()}
    assert named == {one for one in there if "__pycache__" not in one} - {FILE}


@each_page
def test_every_program_of_python_parses(path: Path) -> None:
    for code in programs(path, "python"):
        ast.parse(code)


@each_page
def test_every_program_of_the_shell_parses(path: Path) -> None:
    for code in programs(path, "sh"):
        ran = subprocess.run(["bash", "-n"], input=code, text=True, capture_output=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, ""), code


@each_page
def test_every_fence_says_its_language(path: Path) -> None:
    languages = {language for _, language, _ in FENCE.findall(path.read_text(encoding="utf-8"))}
    assert languages <= {"sh", "python", "sql", "text"}
