"""Load the built-in tools; find other tool files by their syntax trees, load them into a registry, and report
those that fail.
"""

import ast
import errno
import importlib
import importlib.util
import logging
import stat
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from hermes.lib.error_words import error_words
from hermes.tools.function import FunctionTool
from hermes.tools.registry import PROCESS, TOOL_FILES, ToolRegistry
from hermes.types.ctrl_c import is_ctrl_c
from hermes.types.tool import ToolEntry

logger = logging.getLogger(__name__)

PACKAGE = "hermes.tools.builtin"
_loads = count(1)

BUILT_IN: Final = "built-in"
"""The source of the tools that come with the package."""


class ToolFileFault(Struct, frozen=True, kw_only=True):
    """A tool file that could not be used, and why."""

    path: str
    reason: str


@cache
def discover_builtin_tools() -> tuple[str, ...]:
    """Import every built-in file, once; the names of the modules.

    A module that fails is logged, and left out.
    """
    imported = []
    for found in sorted(iter_modules(importlib.import_module(PACKAGE).__path__)):
        module = f"{PACKAGE}.{found.name}"
        try:
            with PROCESS.loading(BUILT_IN):
                importlib.import_module(module)
        except Exception:
            logger.exception("The tool module %s cannot be used", module)
        else:
            imported.append(module)
    return tuple(imported)


class _AsWritten(SourceFileLoader):
    """Runs the file itself: compiled files that Python keeps cannot tell apart two edits of one second."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(errno.ENOTSUP, "no compiled file is kept", path)


class ToolFolder:
    """The tool files of one folder (`$HERMES_HOME/tools`), loaded into one registry.

    Each folder runs its own copy of a file's module, so that two runtimes share nothing but code. `faults`
    are the files that could not be used.
    """

    def __init__(
        self,
        folder: Path,
        registry: ToolRegistry,
        prepare: Callable[[ModuleType], object] = lambda _: None,
    ) -> None:
        """Load nothing yet. `prepare` gets a file's module before it runs (it lends the published names)."""
        self.registry = registry
        self._folder, self._prepare = folder, prepare
        self._seen: dict[Path, object] = {}
        self._modules: dict[Path, str] = {}
        self._faults: dict[Path, ToolFileFault] = {}

    @property
    def faults(self) -> tuple[ToolFileFault, ...]:
        """The files that could not be used, by name."""
        return tuple(self._faults[path] for path in sorted(self._faults))

    def refresh(self) -> None:
        """Load files that are new or were edited; drop the tools of those that are gone.

        Those at fault are tried again then: another file may have been in the way.
        """
        paths = sorted(path for path in self._folder.glob("*.py") if not path.name.startswith("."))
        present = {path: _stamp(path) for path in paths}
        if present == self._seen:
            return
        changed = [path for path in paths if self._seen.get(path) != present[path] or path in self._faults]
        for path in {*changed, *(self._seen.keys() - present.keys())}:
            self._drop(path)
        self._seen = present
        for path in changed:
            self._load(path)

    def close(self) -> None:
        """Forget the modules; sessions that hold a tool keep it."""
        for path in list(self._seen):
            self._drop(path)
        self._seen = {}

    def _load(self, path: Path) -> None:
        try:
            source = _source(path)
        except OSError as error:
            self._fault(path, f"it cannot be read: {error.strerror}")
            return
        try:
            if registers_tools(source):
                self._run(path)
        except BaseException as error:  # a tool file's fault stops nothing but itself
            if is_ctrl_c(error):
                raise
            self._fault(path, error_words(error))

    def _run(self, path: Path) -> None:
        """Import a file's own copy of its module."""
        module = self._modules[path] = f"{TOOL_FILES}{path.stem}_{next(_loads)}"
        loader = _AsWritten(module, str(path))
        spec = ModuleSpec(module, loader, origin=str(path))
        spec.has_location = True  # the module's __file__
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[module] = loaded
        self._prepare(loaded)
        try:
            with self.registry.loading(str(path), module) as refused:
                loader.exec_module(loaded)
                for one in vars(loaded).values():
                    if isinstance(one, FunctionTool) and one.function.__module__ == module:
                        _register(self.registry, one.entry, path.stem)
        except BaseException:
            sys.modules.pop(module, None)
            raise
        if refused:
            self._fault(path, "; ".join(refused))

    def _fault(self, path: Path, reason: str) -> None:
        self._faults[path] = ToolFileFault(path=str(path), reason=reason)

    def _drop(self, path: Path) -> None:
        self.registry.deregister_source(str(path))
        self._faults.pop(path, None)
        sys.modules.pop(self._modules.pop(path, ""), None)


def _register(registry: ToolRegistry, entry: ToolEntry, toolset: str) -> None:
    """Add the tool that a function of a file is."""
    registry.register(
        entry.name,
        toolset,
        entry.schema,
        entry.handler,
        requires_env=entry.requires_env,
        is_async=entry.is_async,
        emoji=entry.emoji,
        outside=entry.outside,
        manifest=entry.manifest,
    )


def registers_tools(source: bytes) -> bool:
    """Whether a file calls `registry.register` at its top level, or decorates a function there with
    `hermes.tool`.

    A file that is no Python but names one of them counts: its import tells why.
    """
    if b"registry.register" not in source and b"hermes" not in source:  # parsing is dear
        return False
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):
        return b"registry.register" in source or b"hermes.tool" in source
    return any(map(_makes_tool, statements))


def _makes_tool(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="registry"), attr="register"))):
            return True
        case ast.FunctionDef(decorator_list=marks) | ast.AsyncFunctionDef(decorator_list=marks):
            bare = (one.func if isinstance(one, ast.Call) else one for one in marks)
            return any(ast.unparse(one) in {"hermes.tool", "tool"} for one in bare)
        case _:
            return False


def _source(path: Path) -> bytes:
    """What a file holds; OSError for a pipe or a device too, at which reading could wait for ever."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "Not a regular file")
    return path.read_bytes()


def _stamp(path: Path) -> object:
    """What changes with a file; a link that leads nowhere has a stamp, too."""
    try:
        found = path.stat()
    except OSError as error:
        return str(error)
    return found.st_mtime_ns, found.st_size
