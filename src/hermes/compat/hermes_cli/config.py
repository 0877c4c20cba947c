"""`hermes_cli.config` for one home: its settings and variables, read and changed."""

from collections.abc import Mapping
from typing import Any

import msgspec
from dotenv import dotenv_values

from hermes.compat.hermes_constants import published as constants
from hermes.config import edit
from hermes.config.load import load
from hermes.lib.lazy import import_object
from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Any]:
    """The published functions, for the files of one guest."""
    home, environ = guest.home, guest.environ

    def load_config() -> dict[str, Any]:
        """The settings in force, section by section, and what the file says beside them."""
        tree = read_raw_config()
        for key, one in load(home.config_file, environ).values.items():
            _put(tree, key.split("."), msgspec.to_builtins(one.value))
        return tree

    def read_raw_config() -> dict[str, Any]:
        """What the file of settings says."""
        yaml = import_object("ruamel.yaml:YAML")(typ="safe", pure=True)
        return (yaml.load(home.config_file) if home.config_file.exists() else None) or {}

    def set_config_value(key: str, value: object) -> None:
        """Set one key in the file."""
        edit.set_key(home.config_file, key, msgspec.json.encode(value).decode())

    def save_config(config: Mapping[str, Any]) -> None:
        """Set what differs from the settings in force; what is not named stays as it is."""
        known = dict(_leaves(load_config()))
        for key, value in _leaves(config):
            if known.get(key, msgspec.UNSET) != value:
                set_config_value(key, value)

    return {
        "load_config": load_config,
        "load_config_readonly": load_config,
        "read_raw_config": read_raw_config,
        "save_config": save_config,
        "set_config_value": set_config_value,
        "cfg_get": cfg_get,
        "get_config_path": lambda: home.config_file,
        "get_hermes_home": constants(guest)["get_hermes_home"],
        "get_env_value": lambda name: dotenv_values(home.env_file).get(name) or environ.get(name),
        "save_env_value": lambda name, value: edit.set_secret(home.env_file, name, value),
        "remove_env_value": lambda name: edit.unset_secret(home.env_file, name),
    }


def cfg_get(cfg: Mapping[str, Any], *keys: str, default: Any = None) -> Any:
    """What stands in settings below these keys."""
    found: Any = cfg
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            return default
        found = found[key]
    return found


def _put(tree: dict[str, Any], keys: list[str], value: object) -> None:
    *sections, last = keys
    for name in sections:
        below = tree.get(name)
        tree[name] = tree = below if isinstance(below, dict) else {}
    tree[last] = value


def _leaves(tree: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in tree.items():
        found += (
            _leaves(value, f"{above}{name}.") if isinstance(value, Mapping) else [(f"{above}{name}", value)]
        )
    return found
