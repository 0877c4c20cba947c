"""Names by which settings are also known: environment variables, keys that were renamed, and second names."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from hermes.lib.data_files import data_table


class SettingNames(Struct, frozen=True):
    """`variables` set a key, those of the `environment` say something else; `renamed` maps the old name of a
    key to the new one, `also` a second name to the first. `meant` says of keys of others what says the same
    here. The keys of `shared` mean the same in the original, and none of them lets a session do more.
    """

    variables: Mapping[str, str]
    environment: Mapping[str, str]
    renamed: Mapping[str, str]
    also: Mapping[str, str]
    meant: Mapping[str, str]
    shared: Mapping[str, Sequence[str]]


@cache
def setting_names() -> SettingNames:
    """The names of data/setting_names.toml."""
    return SettingNames(**data_table("setting_names.toml"))


def meant(key: str) -> str:
    """What says the same as a key of others, or as the section that it is in; "" for an unheard-of one."""
    names = setting_names().meant
    return names.get(key) or names.get(key.partition(".")[0], "")


def first_name(key: str) -> str:
    """The key that a second name stands for; any other key is its own."""
    return setting_names().also.get(key, key)


def shared_keys() -> Iterator[str]:
    """The keys that can be taken over from a settings file of the original as they stand."""
    for section, keys in setting_names().shared.items():
        yield from (f"{section}.{key}" if section != "top" else key for key in keys)
