"""Change one key in the user's file; comments, order and unknown keys stay as they are."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock

from hermes.config.load import unknown
from hermes.config.misfits import misfit
from hermes.config.names import first_name, setting_names
from hermes.config.sections import Known, known_keys
from hermes.lib.files import make_private, write_atomic
from hermes.lib.lazy import import_object
from hermes.types.error import ConfigError

_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def set_key(config_file: Path, key: str, text: str) -> Any:
    """Set `key` to what `text` says in YAML, checked against the key's type; gives the value as stored."""
    key = first_name(key)
    known = next((item for item in known_keys() if _covers(item, key)), None)
    if known is None:
        raise unknown(key)
    try:
        value = import_object("ruamel.yaml:YAML")(typ="safe").load(text) if text else ""
    except (import_object("ruamel.yaml:YAMLError"), RecursionError) as error:
        raise ConfigError(f"{key} cannot be {text[:60]!r}: that is not valid YAML.", key=key) from error
    inner = key.removeprefix(known.key).split(".")[1:]
    try:
        converted = _converted(config_file, known, inner, value)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{key} cannot be {text!r}: {misfit(error, known.kind)}.", key=key) from error
    stored = value if inner else msgspec.to_builtins(converted)
    put_at(config_file, key.split("."), stored)
    return stored


def _converted(config_file: Path, known: Known, place: Sequence[str], value: Any) -> Any:
    """A key's value with `value` at a place in it; where that is not complete, with what the file has beside
    it.
    """
    if not place:
        return msgspec.convert(value, known.kind)
    try:
        return msgspec.convert(_within({}, place, value), known.kind)
    except msgspec.ValidationError:
        one = _at(_read(config_file), f"{known.key}.{place[0]}")
        return msgspec.convert(_within({place[0]: one}, place, value), known.kind)


def _within(tree: Any, place: Sequence[str], value: Any) -> Any:
    """A value at a place of a tree, with what stands beside it there."""
    name, *rest = place
    there = tree if isinstance(tree, dict) else {}
    return {**there, name: _within(there.get(name), rest, value) if rest else value}


def _covers(item: Known, key: str) -> bool:
    """Whether `key` is that key, or a place inside it where it holds a mapping, such as
    providers.mine.base_url.
    """
    return key == item.key or (isinstance(item.default, dict) and key.startswith(f"{item.key}."))


def unset_key(config_file: Path, key: str) -> bool:
    """Remove `key` from the file, or what it is a second name of; whether it was there."""
    return take_from(config_file, key.split(".")) or take_from(config_file, first_name(key).split("."))


def absent(config_file: Path, key: str) -> ConfigError:
    """What is said of a key that the file does not set: that there is none, or what is in force."""
    if not any(_covers(item, first_name(key)) for item in known_keys()):
        return unknown(key)
    return ConfigError(f"{key} is not set in {config_file}; its default is in force.", key=key)


def take_from(config_file: Path, place: Sequence[str]) -> bool:
    """Remove what is at a place of the file, and sections that are empty then; whether it was there."""
    with _locked(config_file):
        yaml, tree = _open(config_file)
        nodes: list[Any] = [tree]
        *sections, name = place
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


def migrate(config_file: Path) -> tuple[tuple[str, str], ...]:
    """Give keys with an old name their new one, where that is not set; the pairs of names that changed."""
    done = []
    for old, new in setting_names().renamed.items():
        tree = _open(config_file)[1]
        value, kept = _at(tree, old), _at(tree, new)
        if value is None:
            continue
        if kept is None:
            put_at(config_file, new.split("."), value)
        unset_key(config_file, old)
        done.append((old, new))
    return tuple(done)


def _at(tree: Any, key: str) -> Any:
    for name in key.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def append_to_list(config_file: Path, key: str, item: Any) -> None:
    """Add `item` to a list key unless it is in it; safe against other processes doing the same."""
    with _locked(config_file):
        yaml, tree = _open(config_file)
        *sections, name = key.split(".")
        section = _section(tree, sections)
        present = section[name] = section.get(name) or []
        if item not in present:
            present.append(item)
            _save(config_file, yaml, tree)


def replace_in_list(config_file: Path, key: str, item: str, other: str) -> None:
    """Put `other` in the place of `item` of a list key, or nothing where it is empty; an item that is not
    there stays away.
    """
    if remove_from_list(config_file, key, item) and other:
        append_to_list(config_file, key, other)


def list_items(config_file: Path, key: str) -> tuple[str, ...]:
    """The items of a list key as they stand in the file, variables not filled in."""
    return tuple(str(item) for item in _at(_open(config_file)[1], key) or ())


def remove_from_list(config_file: Path, key: str, item: str) -> bool:
    """Take `item` out of a list key, its line and nothing else; whether it was there."""
    with _locked(config_file):
        yaml, tree = _open(config_file)
        present = _at(tree, key) or []
        if item not in present:
            return False
        place = present.index(item)
        text = _without_item(config_file.read_text(encoding="utf-8"), key, place)
        del present[place]
        if _open_text(text) == tree:
            write_atomic(config_file, text.encode())
        else:  # a list on one line, or one written in an unusual way
            _save(config_file, yaml, tree)
    return True


def _without_item(text: str, key: str, place: int) -> str:
    """The YAML text without the lines of one item: the library would take the comment after them away,
    too.
    """
    listed = import_object("ruamel.yaml:YAML")(typ="safe", pure=True).compose(text)
    for step in key.split("."):
        name, listed = next(pair for pair in listed.value if pair[0].value == step)
    item = listed.value[place]
    if item.start_mark.line == name.start_mark.line:
        return text
    lines = text.splitlines(keepends=True)
    end = item.end_mark.line + (1 if item.end_mark.column else 0)
    lines[item.start_mark.line : max(end, item.start_mark.line + 1)] = []
    if len(listed.value) == 1:
        line, column = name.end_mark.line, name.end_mark.column
        lines[line] = f"{lines[line][:column]}: []{lines[line][column + 1 :]}"
    return "".join(lines)


def _read(path: Path) -> Any:
    """What a file holds, as plain values."""
    return _open_text(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else {}


def _open_text(text: str) -> Any:
    """What a text holds, or an empty mapping when it is not YAML."""
    try:
        return import_object("ruamel.yaml:YAML")(typ="safe").load(text) or {}
    except import_object("ruamel.yaml:YAMLError"):
        return {}


def is_secret(name: str) -> bool:
    """Whether a name such as OPENAI_API_KEY belongs in `.env` and not in the settings."""
    return name.isupper() and name.endswith(_SECRET_ENDINGS)


def set_secret(env_file: Path, name: str, value: str) -> None:
    """Set one NAME=value line of `.env`; the file is readable by its owner alone."""
    quoted = value if value.isalnum() else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    _put_secret(env_file, name, f"{name}={quoted}\n")


def unset_secret(env_file: Path, name: str) -> None:
    """Remove the lines of `.env` that set this name."""
    if env_file.is_file():
        _put_secret(env_file, name, "")


def _put_secret(env_file: Path, name: str, line: str) -> None:
    with _locked(env_file):
        lines = env_file.read_text(encoding="utf-8").splitlines() if env_file.is_file() else []
        kept = [f"{one}\n" for one in lines if one.partition("=")[0].strip() != name]
        write_atomic(env_file, "".join([*kept, line]).encode(), mode=0o600)


def put_at(config_file: Path, place: Sequence[str], value: Any) -> None:
    """Put a value at a place of the file, whatever else other processes change there meanwhile; its names may
    have dots.
    """
    with _locked(config_file):
        yaml, tree = _open(config_file)
        *sections, name = place
        _section(tree, sections)[name] = value
        _save(config_file, yaml, tree)


def _section(tree: Any, names: Sequence[str]) -> Any:
    """The mapping below these names, made where there is none."""
    for name in names:
        inner = tree.get(name)
        if not isinstance(inner, dict):
            inner = {"default": inner} if isinstance(inner, str) and name == "model" else {}
            tree[name] = inner
        tree = tree[name]
    return tree


def _locked(path: Path) -> FileLock:
    make_private(path.parent)
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=10)


def _open(path: Path) -> tuple[Any, Any]:
    yaml = import_object("ruamel.yaml:YAML")(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        tree = yaml.load(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (import_object("ruamel.yaml:YAMLError"), UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid YAML; mend it or move it away.", origin=str(path)) from error
    return yaml, {} if tree is None else tree


def _save(path: Path, yaml: Any, tree: Any) -> None:
    text = io.StringIO()
    if tree:
        yaml.dump(tree, text)
    write_atomic(path, text.getvalue().encode())
