"""Old module names for third-party files: `from tools.registry import registry` gives our registry.

The names are in force only while such files are loaded, so that a program that uses Hermes as a library keeps
its own `tools` package.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from hermes.lib.data_files import data_table


@cache
def table() -> Mapping[str, str]:
    """Old name to the module that answers for it."""
    tree = data_table("aliases.toml")
    return dict(tree["aliases"])


class _Alias(Loader):
    """Hands out the target itself; importlib writes its own spec into it, which is put back."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        module = importlib.import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Package(Loader):
    """An empty package that old names hang below."""

    def create_module(self, spec: ModuleSpec) -> None:
        del spec

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name in table():
            return ModuleSpec(name, _Alias(table()[name]))
        if any(alias.startswith(f"{name}.") for alias in table()):
            return ModuleSpec(name, _Package(), is_package=True)
        return None


@contextmanager
def old_names() -> Iterator[None]:
    """While this is open, the old names import ours, before anything else of those names."""
    roots = {alias.partition(".")[0] for alias in table()}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in roots}
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in roots]:
            del sys.modules[name]
        sys.modules.update(aside)
