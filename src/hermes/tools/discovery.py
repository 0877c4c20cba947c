"""Find tool files by reading their syntax trees, import them, and report those that fail."""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from hermes.tools.dispatch import GUEST_MODULES

BUILTIN = "hermes.tools.builtin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A tool file that could not be used, and why."""

    path: str
    reason: str


@cache
def discover_builtin_tools() -> tuple[Fault, ...]:
    """Import every built-in file that registers a tool, once; the faults, if any."""
    folder = Path(str(files(BUILTIN)))
    return tuple(_import_all((path, f"{BUILTIN}.{path.stem}") for path in tool_files(folder)))


def discover_folder(folder: Path) -> tuple[Fault, ...]:
    """Import a folder's tool files (`$HERMES_HOME/tools`); each is loaded once per process, by its path."""
    return tuple(_import_all((path, GUEST_MODULES + _module_name(path)) for path in tool_files(folder)))


def tool_files(folder: Path) -> list[Path]:
    """The folder's files with a top-level `registry.register(...)`, sorted by name."""
    return [path for path in sorted(folder.glob("*.py")) if registers_tools(path)]


def registers_tools(path: Path) -> bool:
    """Whether a file calls `registry.register` at its top level. A file that is no Python but names it counts: its import tells why."""
    try:
        source = path.read_bytes()
    except OSError:
        return False
    if b"registry.register" not in source:  # parsing is dear, and few files register anything
        return False
    try:
        return any(_is_register_call(statement) for statement in ast.parse(source).body)
    except (SyntaxError, ValueError):
        return True


def _is_register_call(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="registry"), attr="register"))):
            return True
        case _:
            return False


def _import_all(found: Iterator[tuple[Path, str]]) -> Iterator[Fault]:
    for path, module in found:
        if module in sys.modules:
            continue
        try:
            _import(path, module)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a tool file's fault stops nothing but itself
            sys.modules.pop(module, None)
            yield Fault(path=str(path), reason=f"{type(error).__name__}: {error}")


def _import(path: Path, module: str) -> ModuleType:
    if module.startswith(BUILTIN):
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def _module_name(path: Path) -> str:
    return f"{path.stem}_{abs(hash(str(path.resolve()))):x}"
