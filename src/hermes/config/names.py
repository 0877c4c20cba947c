"""Names by which settings are also known: environment variables, and keys that were renamed."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from hermes.lib.data_files import data_table


class SettingNames(Struct, frozen=True):
    """`variables` set a key; `renamed` maps the old name of a key to the new one."""

    variables: Mapping[str, str]
    renamed: Mapping[str, str]


@cache
def setting_names() -> SettingNames:
    """The names of data/setting_names.toml."""
    return SettingNames(**data_table("setting_names.toml"))
