"""Old module names for third-party files: `from tools.registry import registry` gives our registry.

The names are in force in those files alone, at their top and inside their functions: a program that uses
Hermes as a library keeps its own `tools` package.
"""

import builtins
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pkgutil import iter_modules
from types import CodeType, ModuleType
from typing import Any, Final

from msgspec import Struct, field

from hermes.config.home import Home
from hermes.lib.data_files import data_table

_PLACE: Final = "hermes.compat"
ADAPTED_MEMORY: Final = "hermes.compat.adapted_memory:adapted"
"""What makes a memory provider of the original's form one of ours."""
ADAPTED_CONTEXT: Final = "hermes.compat.adapted_context:"
"""The same for a context engine: `adapted`, and `attach` for what is around it."""


class Guest(Struct, frozen=True, kw_only=True):
    """Whose files import old names: the home that they belong to, its variables and, of a plugin, what its
    `register` gets.
    """

    home: Home
    environ: Mapping[str, str] = field(default_factory=dict)
    context: Any = None


class PublishedNames:
    """What the files of one guest get when they import an old name; each module is made when it is wanted."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def lend(self, module: ModuleType) -> None:
        """Have a module that has not run yet import old names."""
        vars(module)["__builtins__"] = self._builtins

    def module(self, name: str) -> ModuleType:
        """The module of an old name; ModuleNotFoundError, which names it, where Hermes does not offer it."""
        if name not in self._modules:
            self._modules[name] = self._made(name)
        return self._modules[name]

    def _made(self, name: str) -> ModuleType:
        """The module that answers for a name. One that is about a home, or that others lie below, is made for
        this guest alone: what is put into it is nobody else's.
        """
        place = _table().get(name, f"{_PLACE}.{name}")
        if not _is_there(place):
            raise ModuleNotFoundError(f"No module named {name!r}: Hermes does not offer it.", name=name)
        ours = importlib.import_module(place)
        publish = getattr(ours, "published", None)
        if publish is None and not hasattr(ours, "__path__"):
            return ours
        made = ModuleType(name, ours.__doc__)
        vars(made).update({key: one for key, one in vars(ours).items() if _is_public(key, one)})
        vars(made).update(publish(self._guest) if publish else {})
        return made

    def _import(
        self,
        name: str,
        names: Mapping[str, object] | None = None,
        local: Mapping[str, object] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What an import statement of a guest's file calls."""
        if level or name.partition(".")[0] not in _roots():
            return builtins.__import__(name, names, local, wanted or (), level)
        if not wanted:
            return self._path_to(name)
        return self._with(self.module(name), name, wanted)

    def _path_to(self, name: str) -> ModuleType:
        """The first module of a dotted name, with the others in it."""
        first, *rest = name.split(".")
        above, place = self.module(first), first
        for part in rest:
            place = f"{place}.{part}"
            below = self.module(place)
            setattr(above, part, below)
            above = below
        return self.module(first)

    def _with(self, module: ModuleType, name: str, wanted: Iterable[str]) -> ModuleType:
        """A module, with those of the wanted names that are modules below it."""
        for one in wanted:
            if one != "*" and not hasattr(module, one):
                try:
                    setattr(module, one, self.module(f"{name}.{one}"))
                except ModuleNotFoundError as error:
                    words = f"cannot import name {one!r} from {name!r}: Hermes does not offer it."
                    raise ImportError(words, name=name) from error
        return module


class GuestFinder(MetaPathFinder):
    """Finds the modules of one guest's package, so that they import old names when they run."""

    def __init__(self, package: str, names: PublishedNames) -> None:
        self._package, self._names = package, names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the others find for a module of the package, run by a loader that lends it old names."""
        if name != self._package and not name.startswith(f"{self._package}."):
            return None
        others = (one for one in sys.meta_path if not isinstance(one, GuestFinder))
        spec = next(filter(None, (one.find_spec(name, path, target) for one in others)), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = GuestLoader(name, spec.loader.path, self._names)
        return spec

    def install(self) -> Callable[[], None]:
        """Have it asked before all others; what ends that, and forgets the modules that it has found."""
        sys.meta_path.insert(0, self)
        return self._remove

    def _remove(self) -> None:
        sys.meta_path.remove(self)
        for name, module in [*sys.modules.items()]:
            loader = getattr(getattr(module, "__spec__", None), "loader", None)
            if isinstance(loader, GuestLoader) and loader.names is self._names:
                del sys.modules[name]


class GuestLoader(SourceFileLoader):
    """Runs a guest's file."""

    def __init__(self, name: str, path: str, names: PublishedNames) -> None:
        super().__init__(name, path)
        self.names = names

    def get_code(self, fullname: str) -> CodeType:
        """What its words say now: kept bytecode may be that of other ones, which nobody was shown."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run it, with old names to import."""
        self.names.lend(module)
        super().exec_module(module)


@cache
def _table() -> Mapping[str, str]:
    """Old names whose modules lie elsewhere than below `_PLACE`."""
    found: Mapping[str, str] = data_table("aliases.toml")["aliases"]
    return found


@cache
def _roots() -> frozenset[str]:
    """The first words of the old names."""
    return frozenset(one.name for one in iter_modules(importlib.import_module(_PLACE).__path__))


@cache
def _is_there(module: str) -> bool:
    """Whether there is a module of ours, which is not run by asking."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and not isinstance(value, ModuleType)
