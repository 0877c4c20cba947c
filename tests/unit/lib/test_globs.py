"""Globs and ignore files: what git and shells mean by them, in time that no glob can drive up."""

import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.lib.globs import glob_test, spec_of


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "deep/er/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.{ts,py}", "src/a/b/c.ts", True),
        ("**/a/**/b", "x/a/y/z/b", True),
        ("a*b*c", "abbc", True),
        ("a*b*c", "acb", False),
        ("*ab*ab", "aab-ab", True),
        ("*a?b*[0-9]*.t", "x-aab-b7.t", True),
        ("a**b", "a--b", True),
        ("!x", "!x", True),
    ],
)
def test_a_glob_fits(glob: str, path: str, fits: bool) -> None:
    assert glob_test(glob)(Path(path)) is fits


PARTS = st.lists(st.sampled_from(["*", "a", "b", "ab", "?", "[ab]", "."]), min_size=1, max_size=6).map(
    "".join
)
NAMES = st.text(alphabet="ab.", min_size=1, max_size=7).filter(lambda name: name not in {".", ".."})


@given(PARTS, NAMES)
def test_a_glob_with_many_stars_fits_what_it_did_with_retries(glob: str, name: str) -> None:
    plain = fnmatchcase(name, glob)
    assert glob_test(glob)(Path(name)) == plain


ENDLESS = [
    "*a" * 20 + "*b",
    "a" + "*" * 30 + "b",
    "x/" + "*a" * 20 + "*b",
    "*[a]" * 20 + "*b",
    "*a?" * 20 + "*b",
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("glob", ENDLESS)
def test_no_glob_takes_for_ever(glob: str) -> None:
    names = [Path("a" * 250), Path("x", "a" * 250)]
    assert [glob_test(glob)(name) for name in names] == [False, False]
    assert [spec_of([glob]).match_file(name) for name in names] == [False, False]


def test_a_glob_that_crosses_folders_too_often_is_refused_and_a_rule_left_out() -> None:
    with pytest.raises(ValueError, match=r"\*\* between folders 2 times at most"):
        glob_test("a/**/b/**/c/**/d")
    assert spec_of(["a/**/b/**/c/**/d", "*.log"]).match_file("x.log")


def test_a_line_that_is_no_rule_leaves_the_others_in_force(tmp_path: Path) -> None:
    rules = spec_of(["bad\\", "[z-a]", "*.log", "!keep.log"])
    assert [rules.match_file(name) for name in ("x.log", "keep.log", "bad")] == [True, False, False]
    with pytest.raises(ValueError, match="glob|pattern"):
        glob_test("[z-a]")


def test_rules_say_what_git_says(tmp_path: Path) -> None:
    lines = ["*a*b*.x", "/top*of*it/", "!keep*me*", "d/**/e", "**/f*g*", "h**i"]
    paths = [
        "1a2b3.x",
        "ab.x",
        "ba.x",
        "top-of-it/z",
        "n/top-of-it/z",
        "keep-me-a-b.x",
        "d/e",
        "d/1/2/e",
        "q/fxg",
        "f/g",
        "h/i",
        "h1i",
    ]
    (tmp_path / ".gitignore").write_text("\n".join(lines))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    said = subprocess.run(
        ["git", "check-ignore", *paths], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [path for path in paths if spec_of(lines).match_file(path)] == said.stdout.split()


@pytest.mark.parametrize("glob", ["{a,b}" * 22, "{" * 5_000 + "a" + "}" * 5_000])
def test_a_glob_that_stands_for_too_many_others_is_refused_at_once(glob: str) -> None:
    with pytest.raises(ValueError, match="a glob stands for 500 others at most"):
        glob_test(glob)
