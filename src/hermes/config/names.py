"""Names by which settings are also known: environment variables, and keys that were renamed."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct


class SettingNames(Struct, frozen=True):
    """`variables` set a key; `renamed` maps the old name of a key to the new one."""

    variables: Mapping[str, str]
    renamed: Mapping[str, str]


@cache
def setting_names() -> SettingNames:
    """The names of data/setting_names.toml."""
    text = (files("hermes") / "data" / "setting_names.toml").read_text(encoding="utf-8")
    return SettingNames(**tomllib.loads(text))
