"""`plugin.yaml`: what a plugin says of itself before anything of it runs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from hermes.lib.plain_yaml import LONGEST, PlainYamlError, plain_yaml
from hermes.lib.small_files import read_small
from hermes.types.error import PluginError

FILE: Final = "plugin.yaml"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_MOST: Final = 500

PluginKind = Literal["standalone", "backend", "exclusive", "platform", "model-provider"]
PluginSource = Literal["user", "project", "package"]


class PluginManifest(Struct, frozen=True, kw_only=True):
    """What `plugin.yaml` says, and where it lies; `key` is what settings call the plugin."""

    name: str
    key: str
    source: PluginSource
    path: str
    label: str = ""
    version: str = ""
    description: str = ""
    author: str = ""
    kind: PluginKind = "standalone"
    requires_env: tuple[str, ...] = ()
    optional_env: tuple[str, ...] = ()
    provides_tools: tuple[str, ...] = ()
    provides_hooks: tuple[str, ...] = ()


def read_manifest(folder: Path, key: str, source: PluginSource) -> PluginManifest:
    """The manifest in a folder; PluginError where it cannot be read."""
    try:
        text = read_small(folder / FILE, LONGEST * 4).decode("utf-8")
        return _manifest(plain_yaml(text, most=_MOST), key, source, str(folder))
    except (OSError, ValueError) as error:
        why = str(error) if isinstance(error, PlainYamlError) else f"cannot be read ({error})"
        raise PluginError(f"{FILE} {why}.", plugin=key, phase="manifest") from error


def is_name(name: str) -> bool:
    """Whether a plugin, or a folder of them, may be called so."""
    return _NAME.fullmatch(name) is not None


def _manifest(tree: object, key: str, source: PluginSource, path: str) -> PluginManifest:
    if not isinstance(tree, Mapping):
        raise PlainYamlError("is no table of names and values")
    name, kind = _line(tree.get("name")) or key.rpartition("/")[2], _line(tree.get("kind")) or "standalone"
    if not is_name(name):
        raise PlainYamlError(f"names the plugin {name[:80]!r}: letters, digits, ., _ and -, 64 at most")
    if kind not in get_args(PluginKind):
        raise PlainYamlError(f"has the kind {kind[:80]!r}; there are {', '.join(get_args(PluginKind))}")
    return PluginManifest(
        name=name,
        key=key,
        source=source,
        path=path,
        label=_line(tree.get("label")),
        version=_line(tree.get("version")),
        description=_line(tree.get("description")),
        author=_line(tree.get("author")),
        kind=kind,  # type: ignore[arg-type]  # one of its words
        requires_env=_names(tree.get("requires_env")),
        optional_env=_names(tree.get("optional_env")),
        provides_tools=_names(tree.get("provides_tools")),
        provides_hooks=_names(tree.get("provides_hooks") or tree.get("hooks")),
    )


def _line(value: object) -> str:
    """A text in one line, without what nobody sees."""
    words = value.split() if isinstance(value, str) else ()
    return " ".join("".join(filter(str.isprintable, word)) for word in words)


def _names(value: object) -> tuple[str, ...]:
    """Names, which stand by themselves or as the `name` of a table."""
    items: Sequence[Any] = value if isinstance(value, list) else [value]
    found = [_line(one.get("name") if isinstance(one, Mapping) else one) for one in items]
    return tuple(dict.fromkeys(filter(None, found)))
