"""Read and change Jupyter notebooks as what they are, JSON, with nothing but the standard library.

notebook.py list FILE             a line for each cell: number, kind, runs, first line
notebook.py show FILE NUMBER      source and outputs of a cell
notebook.py code FILE             all code as one program; magics become comments
notebook.py set FILE NUMBER       the source of a cell from standard input; its outputs go
notebook.py add FILE NUMBER KIND  a new cell (code or markdown) before this number, from standard input
notebook.py strip FILE            removes outputs and counts of runs
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
LONGEST = 2000


def source(cell: Notebook) -> str:
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def outputs(cell: Notebook) -> list[str]:
    found = []
    for one in cell.get("outputs", []):
        data = one.get("data", {})
        text = (
            one.get("text") or data.get("text/plain") or [f"{one.get('ename', '')}: {one.get('evalue', '')}"]
        )
        kinds = [kind for kind in data if kind != "text/plain"]
        words = text if isinstance(text, str) else "".join(text)
        found.append(words[:LONGEST] + (f"\n[also: {', '.join(kinds)}]" if kinds else ""))
    return found


def list_cells(book: Notebook) -> None:
    for number, cell in enumerate(book["cells"]):
        first = next((line for line in source(cell).splitlines() if line.strip()), "")
        failed = any(one.get("output_type") == "error" for one in cell.get("outputs", []))
        runs = cell.get("execution_count") or "-"
        print(f"{number:3} {cell['cell_type']:8} run {runs!s:>4} {'FAILED ' if failed else ''}{first[:90]}")


def code(book: Notebook) -> None:
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] != "code":
            continue
        print(f"# cell {number}")
        lines = source(cell).splitlines()
        whole = bool(lines) and lines[0].startswith("%%")
        for line in lines:
            print(f"# {line}" if whole or line.lstrip().startswith(("%", "!")) else line)


def without_outputs(cell: Notebook) -> Notebook:
    return {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell


def write(path: Path, book: Notebook) -> None:
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def new_cell(book: Notebook, kind: str, text: str) -> Notebook:
    cell: Notebook = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    if (book.get("nbformat", 4), book.get("nbformat_minor", 0)) >= (4, 5):
        cell["id"] = uuid.uuid4().hex[:8]
    return cell


def change(book: Notebook, verb: str, rest: list[str]) -> None:
    cells = book["cells"]
    if verb == "strip":
        book["cells"] = [without_outputs(cell) for cell in cells]
    elif verb == "set":
        lines = sys.stdin.read().splitlines(keepends=True)
        cells[int(rest[0])] = without_outputs({**cells[int(rest[0])], "source": lines})
    elif verb == "add" and rest[1] in {"code", "markdown"}:
        cells.insert(int(rest[0]), new_cell(book, rest[1], sys.stdin.read()))
    else:
        sys.exit(__doc__)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    verb, path, rest = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    book = json.loads(path.read_text(encoding="utf-8"))
    if "cells" not in book:
        sys.exit(
            "This notebook has an old form (nbformat 3): jupyter nbconvert --to notebook makes a new one."
        )
    if verb == "list":
        list_cells(book)
    elif verb == "code":
        code(book)
    elif verb == "show":
        cell = book["cells"][int(rest[0])]
        print("\n--- output\n".join([source(cell), *outputs(cell)]))
    else:
        change(book, verb, rest)
        write(path, book)


if __name__ == "__main__":
    main()
