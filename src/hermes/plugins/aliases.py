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
from types import MappingProxyType, ModuleType

from hermes.config.home import Home
from hermes.lib.data_files import data_table
from hermes.lib.lazy import import_object


@cache
def table() -> Mapping[str, str]:
    """Old name to the module that answers for it."""
    tree = data_table("aliases.toml")
    return dict(tree["aliases"])


def of_home(home: Home, environ: Mapping[str, str]) -> dict[str, ModuleType]:
    """The modules of old names that are about one home, for its plugins."""
    made = {}
    for name, target in data_table("aliases.toml")["of_home"].items():
        made[name] = ModuleType(name)
        vars(made[name]).update(import_object(target)(home, environ))
    return made


class _Given(Loader):
    """Hands out a module that is there."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """It is whole already."""


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
    def __init__(self, given: Mapping[str, ModuleType]) -> None:
        self._given = given

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name in self._given:
            return ModuleSpec(name, _Given(self._given[name]))
        if name in table():
            return ModuleSpec(name, _Alias(table()[name]))
        if any(alias.startswith(f"{name}.") for alias in (*table(), *self._given)):
            return ModuleSpec(name, _Package(), is_package=True)
        return None


@contextmanager
def old_names(given: Mapping[str, ModuleType] = MappingProxyType({})) -> Iterator[None]:
    """While this is open, the old names import ours, and those of `given` what they stand for, before
    anything else of those names.
    """
    roots = {alias.partition(".")[0] for alias in (*table(), *given)}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in roots}
    finder = _Finder(given)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in roots]:
            del sys.modules[name]
        sys.modules.update(aside)
