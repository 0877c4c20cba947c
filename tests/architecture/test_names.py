"""A name stands for one thing: who searches for a class finds one."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__, "../../../src").resolve()


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
