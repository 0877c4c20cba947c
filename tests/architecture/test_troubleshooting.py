"""The sentences that the page on troubleshooting explains are those of the program."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "troubleshooting.md"
OF_OTHERS = {
    "Could not resolve host",
    "Network is unreachable",
    "Read-only file system",
    "… could not be loaded: ModuleNotFoundError: …",
}


def sentences() -> list[str]:
    """What stands in code in the first column."""
    rows = [line.split(" | ")[0] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [row for row in rows if "`" in row and "Nothing but" not in row]
    return [one for cell in cells for one in re.findall(r"`([^`]+)`", cell) if " " in one]


def texts() -> str:
    """Every text of the program, those of one sentence joined as they are printed; and the data, and the scripts."""
    found = [path.read_text() for path in (ROOT / "src" / "hermes" / "data").glob("*.toml")]
    found.append((ROOT / "scripts" / "environment").read_text())
    for path in (ROOT / "src" / "hermes").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
                found.append("".join(str(part) for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


@pytest.fixture(scope="module")
def said() -> str:
    return texts()


@pytest.mark.parametrize("sentence", [one for one in sentences() if one not in OF_OTHERS])
def test_a_sentence_that_is_explained_is_printed(sentence: str, said: str) -> None:
    parts = [part.strip(" .:();") for part in re.split(r"…|: ", sentence)]
    assert [part for part in parts if len(part) > 3 and part not in said] == []


def test_there_is_something_to_compare() -> None:
    assert len(sentences()) > 30
