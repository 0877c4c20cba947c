"""The files of `hermes/data`, which come with the program."""

from importlib.resources import files
from typing import Any

from hermes.lib.lazy import import_object


def data_text(name: str) -> str:
    """The text of one file; `name` is its path below `data`."""
    return files("hermes.data").joinpath(name).read_text(encoding="utf-8")


def data_table(name: str) -> dict[str, Any]:
    """What a TOML file holds; `name` is its path below `data`."""
    table: dict[str, Any] = import_object("tomllib:loads")(data_text(name))
    return table
