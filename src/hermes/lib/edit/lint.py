"""Whether a text is well-formed in the language that its file name says, in this process and without side
effects.
"""

import ast
import json
import tomllib
import warnings
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from hermes.lib.lazy import import_object


def fault(path: str, text: str) -> str | None:
    """The first fault with its line, "" for none, None for a kind of file that is not known."""
    check = _CHECKS.get(PurePath(path).suffix.lower())
    return None if check is None else check(text)


def _python(text: str) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _toml(text: str) -> str:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""


def _yaml(text: str) -> str:
    reader = import_object("ruamel.yaml:YAML")(typ="rt", pure=True)
    try:
        for _ in reader.compose_all(text):
            pass
    except (import_object("ruamel.yaml.error:YAMLError"), ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        return f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)
    return ""


_CHECKS: Final[dict[str, Callable[[str], str]]] = {
    ".py": _python,
    ".pyi": _python,
    ".json": _json,
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
}
