"""Change one key in the user's file; comments, order and unknown keys stay as they are."""

import io
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock

from hermes.config.load import Known, known_keys, nearest
from hermes.lib.files import write_atomic
from hermes.lib.lazy import load as late
from hermes.types.error import ConfigError

_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def set_key(config_file: Path, key: str, text: str) -> Any:
    """Set `key` to what `text` says in YAML, checked against the key's type; gives the value as stored."""
    known = next((item for item in known_keys() if _covers(item, key)), None)
    if known is None:
        raise ConfigError(f"There is no key {key}{nearest(key)}; hermes config list shows them all.", key=key)
    value = late("ruamel.yaml:YAML")(typ="safe").load(text) if text else ""
    inner = key.removeprefix(known.key).lstrip(".")
    whole = reduce(lambda tree, name: {name: tree}, reversed(inner.split(".")), value) if inner else value
    try:
        converted = msgspec.convert(whole, known.kind, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{key} cannot be {text!r}: {error}.", key=key) from error
    stored = value if inner else msgspec.to_builtins(converted)
    _change(config_file, key, stored)
    return stored


def _covers(item: Known, key: str) -> bool:
    """Whether `key` is that key, or a place inside it where it holds a mapping, such as providers.mine.base_url."""
    return key == item.key or (isinstance(item.default, dict) and key.startswith(f"{item.key}."))


def unset_key(config_file: Path, key: str) -> bool:
    """Remove `key` from the file; whether it was there."""
    with _locked(config_file):
        yaml, tree = _open(config_file)
        nodes: list[Any] = [tree]
        *sections, name = key.split(".")
        for section in sections:
            nodes.append(nodes[-1].get(section) if isinstance(nodes[-1], dict) else None)
        if not isinstance(nodes[-1], dict) or name not in nodes[-1]:
            return False
        del nodes[-1][name]
        for node, section in reversed(list(zip(nodes, sections, strict=False))):
            if not node[section]:
                del node[section]
        _save(config_file, yaml, tree)
    return True


def append_to_list(config_file: Path, key: str, item: str) -> None:
    """Add `item` to a list key unless it is in it; safe against other processes doing the same."""
    with _locked(config_file):
        yaml, tree = _open(config_file)
        present = tree.setdefault(key, [])
        if item not in present:
            present.append(item)
            _save(config_file, yaml, tree)


def is_secret(name: str) -> bool:
    """Whether a name such as OPENAI_API_KEY belongs in `.env` and not in the settings."""
    return name.isupper() and name.endswith(_SECRET_ENDINGS)


def set_secret(env_file: Path, name: str, value: str) -> None:
    """Set one NAME=value line of `.env`; the file is readable by its owner alone."""
    with _locked(env_file):
        lines = env_file.read_text(encoding="utf-8").splitlines() if env_file.is_file() else []
        kept = [line for line in lines if line.partition("=")[0].strip() != name]
        quoted = value if value.isalnum() else "'" + value.replace("'", "\\'") + "'"
        write_atomic(env_file, "\n".join([*kept, f"{name}={quoted}", ""]).encode(), mode=0o600)


def _change(config_file: Path, key: str, value: Any) -> None:
    with _locked(config_file):
        yaml, tree = _open(config_file)
        node = tree
        *sections, name = key.split(".")
        for section in sections:
            inner = node.get(section)
            if isinstance(inner, str) and section == "model":
                inner = node[section] = {"default": inner}
            node = inner if isinstance(inner, dict) else node.setdefault(section, {})
        node[name] = value
        _save(config_file, yaml, tree)


def _locked(path: Path) -> FileLock:
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=10)


def _open(path: Path) -> tuple[Any, Any]:
    yaml = late("ruamel.yaml:YAML")(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    tree = yaml.load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return yaml, {} if tree is None else tree


def _save(path: Path, yaml: Any, tree: Any) -> None:
    text = io.StringIO()
    if tree:
        yaml.dump(tree, text)
    write_atomic(path, text.getvalue().encode())
