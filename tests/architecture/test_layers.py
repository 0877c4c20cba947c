import ast
import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hermes"


def contract() -> dict[str, int]:
    """Name to layer number as .importlinter orders them; `api` and `sync` belong to the runtime's layer."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    rows = parser["importlinter:contract:layers"]["layers"].split("\n")
    order = [[name.strip(" ()") for name in row.split("|")] for row in reversed(rows) if row.strip()]
    return {name: number for number, row in enumerate(order) for name in row}


def docstring_layers() -> dict[str, int]:
    found = {}
    for path in [*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__init__.py")]:
        words = re.match(r"Layer (\d+)\.", ast.get_docstring(ast.parse(path.read_text())) or "")
        if words:
            found[path.parent.name if path.name == "__init__.py" else path.stem] = int(words[1])
    return found


def document_layers() -> dict[str, int]:
    rows = re.findall(
        r"^ *(\d+)  ([a-z |_]+?)(?:  .*)?$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE
    )
    return {name.strip(): int(number) for number, names in rows for name in names.split("|")}


def test_every_package_says_its_layer_and_the_document_says_the_same() -> None:
    there = docstring_layers()
    names = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert names <= there.keys()
    assert {name: number for name, number in document_layers().items() if name in there} == there


def test_the_contract_orders_the_layers_as_their_numbers_say() -> None:
    numbers, order = docstring_layers(), contract()
    ranked = sorted(numbers, key=lambda name: order[name])
    assert [numbers[name] for name in ranked] == sorted(numbers.values())


def test_no_module_imports_the_root_package() -> None:
    """`from hermes import …` pulls everything in by the back door; only the command line asks it for its version."""
    guilty = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "hermes" and node.level == 0
    ]
    assert guilty == ["apps/cli/main.py"]
