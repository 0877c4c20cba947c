"""Settings from defaults, file, environment and flags; each value knows where it came from."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from hermes.config.misfits import innermost, misfit
from hermes.config.names import first_name, meant, setting_names
from hermes.config.sections import Known, Settings, assemble, known_keys
from hermes.config.unreadable import unreadable
from hermes.lib.lazy import import_object
from hermes.lib.nearest import nearest
from hermes.lib.small_files import read_small
from hermes.types.error import ConfigError

MOST_NODES, DEEPEST = 20_000, 40
"""More than this is no settings file: a few lines of YAML can stand for billions of values."""

LITERAL = frozenset({"command_allowlist"})
"""Keys whose variables are not ours to fill in: their text belongs to a shell."""

BOUNDS = "capabilities"
"""The section in which a key that nobody knows is a fault: it would be a bound that does not hold."""

_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}")


class Value(Struct, frozen=True, kw_only=True):
    """One key's value and its origin: `default`, `config.yaml line 3`, `HERMES_MODEL`, `--model`."""

    value: Any
    origin: str


class Loaded(Struct, frozen=True, kw_only=True):
    """Settings in force, the origin of every key, and warnings: those about keys that nobody knows, which are
    `ignored`, and others.
    """

    settings: Settings
    values: Mapping[str, Value]
    warnings: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def value_of(self, key: str) -> Any:
        """The value of a key, or of a place in one that holds a mapping, such as providers.mine.base_url;
        ConfigError when there is none.
        """
        key = first_name(key)
        whole = next((one for one in self.values if key == one or key.startswith(f"{one}.")), None)
        if whole is None:
            raise unknown(key)
        value = msgspec.to_builtins(self.values[whole].value)
        for name in key.removeprefix(whole).split(".")[1:]:
            if not isinstance(value, dict) or name not in value:
                raise unknown(key)
            value = value[name]
        return value


def load(config_file: Path, environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Loaded:
    """The settings in force; ConfigError with every fault at once, each with file and line."""
    known = {item.key: item for item in known_keys()}
    values = {key: Value(value=item.default, origin="default") for key, item in known.items()}
    faults: list[str] = []
    warnings: list[str] = []
    ignored: list[str] = []
    for key, value, line in _file_items(config_file, known):
        origin = f"{config_file.name} line {line}"
        own = _own_name(key, origin, warnings)
        if own != key and values[own].origin != "default":
            continue
        key = own  # noqa: PLW2901  # the same value under its own name
        if value in ({}, None) and any(name.startswith(f"{key}.") for name in known):
            continue
        if key not in known:
            bound = _nearest_bound(key, known)
            told = f"{origin}: nobody knows the key {key}{bound or '; it has no effect'}."
            (faults if bound else ignored).append(told + _nearest(key, known))
            continue
        _take(
            values,
            known[key],
            Value(value=value if key in LITERAL else _expand(value, environ), origin=origin),
            faults,
        )
    for name, key in setting_names().variables.items():
        if environ.get(name):
            _take(values, known[key], Value(value=environ[name], origin=name), faults)
    for key, value in (flags or {}).items():
        _take(
            values,
            known[key],
            Value(value=value, origin="--" + key.rsplit(".", 1)[-1].replace("_", "-")),
            faults,
        )
    if faults:
        raise ConfigError(
            "\n".join(faults), origin=str(config_file), hint="hermes config path shows the file"
        )
    settings = assemble({key: one.value for key, one in values.items()})
    return Loaded(settings=settings, values=values, warnings=(*warnings, *ignored), ignored=tuple(ignored))


def _own_name(key: str, origin: str, warnings: list[str]) -> str:
    """What a key of the file is called, with a warning where that is its old name."""
    if new := setting_names().renamed.get(key):
        warnings.append(f"{origin}: {key} is called {new} now; hermes config migrate renames it.")
    return new or first_name(key)


def unknown(key: str) -> ConfigError:
    """What is said of a key that there is not, with its name of now, or the known one closest to it."""
    if new := setting_names().renamed.get(key):
        return ConfigError(f"{key} is called {new} now.", key=key)
    near = _nearest(key, {item.key: item for item in known_keys()})
    return ConfigError(f"There is no key {key}.{near} hermes config list shows them all.", key=key)


def _take(values: dict[str, Value], known: Known, given: Value, faults: list[str]) -> None:
    """Convert and keep one value, or note the fault."""
    textual = not given.origin.startswith("config.yaml")
    try:
        converted = msgspec.convert(given.value, known.kind, strict=not textual)
    except msgspec.ValidationError as error:
        faults.append(_fault(known, given, error))
        return
    values[known.key] = Value(value=converted, origin=given.origin)


def _fault(known: Known, given: Value, error: msgspec.ValidationError) -> str:
    """What is wrong with a value, and where; with an example where its key has one."""
    place, value, kind = known.key, given.value, known.kind
    if isinstance(value, dict | list):
        place, value, kind = innermost(place, value, kind)
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as inner:
            error = inner
    example = f". An example: {known.example}" if known.example else ""
    return f"{given.origin}: {place} is {_shown(given.value)}: {misfit(error, kind)}{example}."


def _shown(value: Any) -> str:
    """A value in a sentence; a whole table would hide what is wrong with it, and may hold what nobody should
    see.
    """
    return "not as it should be" if isinstance(value, dict | list) and value else repr(value)


def _file_items(path: Path, known: Mapping[str, Known]) -> Iterator[tuple[str, Any, int]]:
    """Key, value and line of everything a YAML file sets; ConfigError when it is no YAML mapping."""
    try:
        text = read_small(path).decode("utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    yield from leaves("", settings_tree(path, text), known)


_ODD_VALUES: Final = (KeyError, IndexError, ValueError, TypeError, AttributeError)
"""What the library raises for values that are not what their tag says."""


def settings_tree(path: Path, text: str) -> Any:
    """The mapping that a settings file holds, with the places of its keys; ConfigError where it is none."""
    yaml = import_object("ruamel.yaml:YAML")(typ="rt")
    try:
        tree = yaml.load(text)
    except RecursionError as error:
        raise _too_large(path) from error
    except (import_object("ruamel.yaml.error:YAMLError"), *_ODD_VALUES) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise ConfigError(
            f"{path.name}{where}: this is not valid YAML ({getattr(error, 'problem', error)}).",
            origin=str(path),
        ) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(
            f"{path.name} line 1: a settings file holds keys and values, such as `model:`.", origin=str(path)
        )
    _measure(path, tree)
    return tree


def _measure(path: Path, tree: Any) -> None:
    """ConfigError for a tree that is larger than settings are; what stands in it twice counts twice."""
    waiting, count = [(tree, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        count += 1 + len(inner)
        if count > MOST_NODES or depth > DEEPEST:
            raise _too_large(path)
        waiting += [(one, depth + 1) for one in inner]


def _too_large(path: Path) -> ConfigError:
    return ConfigError(
        f"{path.name} is nested more than {DEEPEST} levels deep, or stands for more than {MOST_NODES:,}"
        " values (YAML anchors multiply); that is no settings file. Mend it or move it away.",
        origin=str(path),
    )


def leaves(prefix: str, tree: Any, known: Mapping[str, Known]) -> Iterator[tuple[str, Any, int]]:
    """Key, value and line of all that such a mapping sets."""
    for name, value in tree.items():
        line = tree.lc.key(name)[0] + 1
        key = f"{prefix}{name}"
        if key == "model" and isinstance(value, str):
            yield "model.default", value, line
        elif isinstance(value, dict) and value and key not in known:
            yield from leaves(f"{key}.", value, known)
        else:
            yield key, _bare(value), line


def variables_in(text: str) -> frozenset[str]:
    """The variables that settings stand for, as `${NAME}`."""
    return frozenset(_VARIABLE.findall(text))


def _bare(value: Any) -> Any:
    """Plain Python values out of the YAML library's own types."""
    if isinstance(value, dict):
        return {str(name): _bare(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_bare(item) for item in value]
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return value


def _expand(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _expand(item, environ) for name, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, environ) for item in value]
    if isinstance(value, str) and "${" in value:
        return _VARIABLE.sub(lambda found: environ.get(found[1], found[0]), value)
    return value


def _nearest_bound(key: str, known: Mapping[str, Known]) -> str:
    """Why a key cannot be passed over, where it seems to be meant as a bound."""
    first = key.partition(".")[0]
    if first == BOUNDS:
        return ", and a bound that is not understood would not hold"
    sections = {name.partition(".")[0] for name in known}
    if first not in sections and import_object("difflib:get_close_matches")(first, [BOUNDS], cutoff=0.8):
        return f"; if {BOUNDS} are meant, they would not hold"
    return ""


def _nearest(key: str, known: Mapping[str, Known]) -> str:
    """A sentence with what is meant by a key of others, or the known key closest to it; "" without either."""
    if told := meant(key):
        return f" Here {told}."
    close = nearest(key, known)
    return f" Did you mean {close[0]}?" if close else ""
