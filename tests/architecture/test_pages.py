"""What the pages on the design say of the code is there: files, and names in them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
NAMED = re.compile(r"`([^`\s()]+)`")
FILE = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|toml|md)|[\w.-]+(/[\w.-]+)+|\.importlinter")
NUMBERED = re.compile(r"invariants?\s(\d+(?:(?:,\s|\s?and\s)\d+)*)", re.IGNORECASE)


def place(name: str) -> Path | None:
    """The file or folder of a name, which may begin at the root, in the package or in its data."""
    found = (folder / name for folder in (ROOT, ROOT / "src" / "hermes"))
    return next((path for path in found if path.exists()), None)


def names(tree: ast.Module | ast.ClassDef, before: str = "") -> set[str]:
    """What a module or class defines, members of classes with their class."""
    found: set[str] = set()
    for one in tree.body:
        if isinstance(one, ast.ClassDef):
            found |= {before + one.name, *names(one, f"{before}{one.name}.")}
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(before + one.name)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            found |= {before + target.id for target in targets if isinstance(target, ast.Name)}
    return found


def is_there(reference: str) -> bool:
    """Whether a file, or a name in it (`file.py:Class.method`), is there; NAME stands for any name."""
    file, _, name = reference.partition(":")
    path = place(str(Path(file).parent) if "NAME" in file else file)
    return path is not None and (not name or name in names(ast.parse(path.read_text())))


def references(text: str) -> list[str]:
    return [one for one in NAMED.findall(text) if FILE.fullmatch(one.partition(":")[0])]


def test_the_search_for_names_finds_what_is_there_and_nothing_else() -> None:
    told = "`agent/turn.py` `agent/turn.py:run_turn` `agent/gone.py` `agent/turn.py:gone` `Session.send`"
    found = references(told)
    assert [(one, is_there(one)) for one in found] == [
        ("agent/turn.py", True),
        ("agent/turn.py:run_turn", True),
        ("agent/gone.py", False),
        ("agent/turn.py:gone", False),
    ]


@pytest.mark.parametrize(
    "page", [PAGE, *sorted((ROOT / "docs" / "design").glob("*.md"))], ids=lambda page: page.name
)
def test_every_file_and_name_that_a_page_on_the_design_gives_is_there(page: Path) -> None:
    assert [one for one in references(page.read_text()) if not is_there(one)] == []


def table(text: str) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_each_word_of_the_glossary_is_explained_once_and_names_what_defines_it() -> None:
    rows = table(PAGE.read_text().split("## Glossary")[1])
    terms = [row[0] for row in rows]
    assert terms == sorted(set(terms))
    assert 30 <= len(rows) <= 40
    assert [row for row in rows if not all(row)] == []
    homeless = [
        term
        for term, _, where in rows
        if not (named := references(where)) or not all(":" in one and is_there(one) for one in named)
    ]
    assert homeless == []


def test_every_invariant_that_code_and_tests_name_has_its_row_and_its_proof() -> None:
    rows = table((ROOT / "docs" / "design" / "invariants.md").read_text())
    named = {
        int(number)
        for top in ("src", "tests")
        for file in (ROOT / top).rglob("*.py")
        for found in NUMBERED.findall(file.read_text())
        for number in re.findall(r"\d+", found)
    }
    numbers = [int(row[0]) for row in rows]
    assert numbers == sorted(set(numbers))
    assert len(named) > 10
    assert named - set(numbers) == set()
    assert [row for row in rows if not re.fullmatch(r"`tests/[\w/]+\.py`", row[2])] == []


def test_the_page_on_the_architecture_is_short() -> None:
    assert len(PAGE.read_text().splitlines()) <= 250
