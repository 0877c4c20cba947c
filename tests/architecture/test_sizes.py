import ast
import tomllib
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "hermes").rglob("*.py"))
EXCEPTIONS = tomllib.loads((ROOT / "tests" / "architecture" / "sizes.toml").read_text())


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT / "src"))


def test_a_module_has_at_most_400_lines() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: n for name, n in lines.items() if n > 400 and name not in EXCEPTIONS["modules"]} == {}


def test_a_function_has_at_most_50_lines() -> None:
    found = [(name_of(path), node.name, length(node)) for path in SOURCES for node in functions(path)]
    assert [one for one in found if one[2] > 50] == []


def test_the_median_function_has_less_than_10_lines() -> None:
    assert median(length(node) for path in SOURCES for node in functions(path)) < 10


def test_every_exception_names_a_module_that_is_too_long_and_says_why() -> None:
    by_name = {name_of(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {
        name: by_name.get(name, 0) > 400 and bool(reason) for name, reason in EXCEPTIONS["modules"].items()
    } == dict.fromkeys(EXCEPTIONS["modules"], True)


def test_run_turn_is_a_page() -> None:
    (turn,) = [node for node in functions(ROOT / "src/hermes/agent/turn.py") if node.name == "run_turn"]
    assert length(turn) <= 40
