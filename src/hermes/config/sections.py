"""Sections of the settings: each package keeps the classes of its own and registers them here."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from hermes.types.error import ConfigError

S = TypeVar("S", bound=Struct)
Count = Annotated[int, Meta(ge=0)]
"""How many; 0 where a setting gives it a meaning of its own."""
Amount = Annotated[float, Meta(ge=0)]
"""How much; 0 as for a count."""
Duration = Annotated[float, Meta(gt=0)]
"""Seconds to wait, of which there must be some."""

_SECTIONS: Final[dict[type[Struct], str]] = {}


class Known(Struct, frozen=True, kw_only=True):
    """A key of the settings: its type as a person would call it, its default, what it means, and an example
    of it in a file, "" where it needs none.
    """

    key: str
    kind: Any
    default: Any
    description: str
    example: str = ""


class Settings(Struct, frozen=True):
    """The settings in force, each section by its class: `settings[TerminalSettings].backend`.

    A section that was not given has its defaults.
    """

    sections: tuple[Struct, ...] = ()

    def __getitem__(self, kind: type[S]) -> S:
        return next((one for one in self.sections if isinstance(one, kind)), None) or kind()

    def replace(self, changed: Struct) -> "Settings":
        """These settings with another section in the place of its class's."""
        return Settings((*(one for one in self.sections if type(one) is not type(changed)), changed))


def doc(text: str, *examples: str) -> Meta:
    """What a field means, for `hermes config explain` and the reference page; examples of it in a file."""
    return Meta(description=text, examples=list(examples))


def section(name: str) -> Callable[[type[S]], type[S]]:
    """Register a class as a section of the settings file, or with `""` its fields as keys at the top.

    Every field needs a default. ValueError for a key that another section has.
    """

    def register(kind: type[S]) -> type[S]:
        for other, called in _SECTIONS.items():
            if twice := _top_keys(kind, name) & _top_keys(other, called):
                raise ValueError(f"{kind.__name__}: {other.__name__} has {', '.join(sorted(twice))} already")
        _SECTIONS[kind] = name
        return kind

    return register


def known_keys() -> Iterator[Known]:
    """Every key: sections in the order of their names, then the keys at the top of the file."""
    for kind, _ in known_sections():
        yield from keys_of(kind)


def known_sections() -> list[tuple[type[Struct], str]]:
    """Every class with the name of its section, in the order of names; those of keys at the top come last."""
    return sorted(_SECTIONS.items(), key=lambda one: (not one[1], one[1], one[0].__name__))


@cache
def keys_of(kind: type[Struct]) -> tuple[Known, ...]:
    """The keys of one section."""
    name = _SECTIONS[kind]
    return tuple(_known(f"{name}." if name else "", kind()))


def assemble(values: Mapping[str, Any]) -> Settings:
    """Settings from a value for every key; ConfigError where a section refuses its values."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        node = tree
        for part in sections:
            node = node.setdefault(part, {})
        node[last] = value
    return Settings(tuple(_made(kind, name, tree[name] if name else tree) for kind, name in known_sections()))


def _made(kind: type[Struct], name: str, tree: Mapping[str, Any]) -> Struct:
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:  # what a section itself says of its values
        raise ConfigError(f"{name}.{error}.") from error


def _top_keys(kind: type[Struct], name: str) -> set[str]:
    return {name} if name else set(kind.__struct_fields__)


def _known(prefix: str, part: Struct, about: str = "") -> Iterator[Known]:
    """The keys of a table, and those of the tables in it; `about` is what is said of the whole."""
    for field in fields(part):
        default = getattr(part, field.name)
        description = " ".join(filter(None, (about, _said_of(field.type))))
        if isinstance(default, Struct):
            yield from _known(f"{prefix}{field.name}.", default, description)
            continue
        kind = type(part).__annotations__[field.name]
        yield Known(
            key=prefix + field.name,
            kind=kind,
            default=default,
            description=description,
            example=next(_examples_of(field.type), ""),
        )


def _examples_of(kind: Any) -> Iterator[str]:
    for one in getattr(kind, "__metadata__", ()):
        yield from getattr(one, "examples", None) or ()


def _said_of(kind: Any) -> str:
    """What `doc` says of a key."""
    told = (getattr(one, "description", None) for one in getattr(kind, "__metadata__", ()))
    return next(filter(None, told), "")
