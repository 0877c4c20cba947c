"""`hermes_cli.config` for one home: its settings and variables, read and changed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes.config import edit
from hermes.config.home import Home
from hermes.config.load import load


def published(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """The published functions, for a plugin of this home."""

    def load_config() -> dict[str, Any]:
        """The settings in force, section by section."""
        tree: dict[str, Any] = {}
        for key, one in load(home.config_file, environ).values.items():
            *sections, last = key.split(".")
            node = tree
            for name in sections:
                node = node.setdefault(name, {})
            node[last] = msgspec.to_builtins(one.value)
        return tree

    return {
        "load_config": load_config,
        "load_config_readonly": load_config,
        "cfg_get": cfg_get,
        "get_config_path": lambda: home.config_file,
        "get_env_value": environ.get,
        "save_env_value": lambda name, value: edit.set_secret(home.env_file, name, value),
        "set_config_value": lambda key, value: edit.set_key(
            home.config_file, key, msgspec.json.encode(value).decode()
        ),
    }


def cfg_get(cfg: Mapping[str, Any], *keys: str, default: Any = None) -> Any:
    """What stands in settings below these keys."""
    found: Any = cfg
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            return default
        found = found[key]
    return found
