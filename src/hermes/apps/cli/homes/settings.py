"""Settings of the original: those keys that mean the same here, and its model under the name it has here."""

import json
from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from hermes.apps.cli.homes.part import KEPT, THERE, Ours, Part
from hermes.apps.cli.homes.source import ForeignFolder
from hermes.config.edit import set_key
from hermes.config.load import leaves, settings_tree
from hermes.config.names import meant, setting_names, shared_keys
from hermes.config.sections import known_keys
from hermes.lib.visible import visible
from hermes.models.catalog.catalogue import provider
from hermes.types.error import ConfigError

FILE: Final = "config.yaml"
MODEL: Final = ("model.default", "model.base_url", "model.provider")
"""What says which model is meant, together."""
ELSEWHERE: Final = ("mcp_servers", "plugins")
"""Sections that other parts are made of."""


def original_settings(source: ForeignFolder) -> Mapping[str, Any]:
    """What a settings file of the original sets, by key; ConfigError where it cannot be read."""
    tree = settings_tree(source.root / FILE, source.text(FILE))
    found = leaves("", tree, {item.key: item for item in known_keys()})
    return {key: value for key, value, _ in found}


def settings(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """The settings of a home of the original."""
    given = {key: one for key, one in original_settings(source).items() if key.split(".")[0] not in ELSEWHERE}
    yield from _model(given, ours)
    known = {item.key for item in known_keys()}
    shared = frozenset(shared_keys())
    for key, value in sorted(given.items()):
        own = setting_names().renamed.get(key, key)
        if key not in MODEL:
            yield _one(own, value, ours) if own in shared else _left(key, known)


def _model(given: Mapping[str, Any], ours: Ours) -> Iterator[Part]:
    name, where = str(given.get("model.default") or ""), str(given.get("model.base_url") or "")
    if name:
        try:
            full = _full_name(str(given.get("model.provider") or ""), name, where)
        except ConfigError as error:
            yield Part(kind="settings", name="model.default", becomes=f"not taken: {error}")
            return
        yield _one("model.default", full, ours)
    if where:
        yield _one("model.base_url", where, ours)


def _full_name(named: str, model: str, where: str) -> str:
    """The model with its provider as the first part of its name, where it has one that is known by name."""
    if where or named in {"", "auto", "custom"}:
        return model
    found = provider(named).name
    return model if model.startswith(f"{found}/") else f"{found}/{model}"


def _one(key: str, value: Any, ours: Ours) -> Part:
    told = visible(_text(value))
    if ours.sets(key):
        same = msgspec.to_builtins(ours.values[key].value) == value
        return Part(kind="settings", name=key, becomes=THERE if same else KEPT)
    take = partial(set_key, ours.home.config_file, key, json.dumps(value, default=str))
    return Part(kind="settings", name=f"{key} = {told[:80]}", becomes="set", take=take)


def _left(key: str, known: Container[str]) -> Part:
    """What is told of a key that stays where it is: it decides what may happen, or it is none of ours."""
    told = meant(key) or ("set it yourself where you want it" if key in known else "no such key")
    return Part(kind="settings", name=key, becomes=f"not taken: {told}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
