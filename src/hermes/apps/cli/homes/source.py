"""Read the files of another agent's home: bounded, and following no link out of it or in it."""

import errno
import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from hermes.lib.beneath import FOLDER, READ_FILE, held, open_beneath, open_path
from hermes.lib.free_room import free_bytes
from hermes.lib.small_files import read_open
from hermes.types.error import ConfigError

_LARGEST: Final = 1_000_000
"""Bytes of a file of settings; those of programs that keep much in it have some hundred thousand."""
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<single>'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<comma>,)(?=(?:\s|//[^\n]*\n|/\*.*?\*/)*[}\]])"""
    r"""|(?P<name>[A-Za-z_$][\w$-]*)(?=\s*:)""",
    re.DOTALL,
)


class ForeignFolder(Struct, frozen=True):
    """The folder of another agent."""

    root: Path

    def read(self, path: str, most: int = _LARGEST) -> bytes | None:
        """The bytes of a file in it, None where it is not there; ConfigError for a link, what is no file,
        and one of more than `most` bytes.
        """
        try:
            with held(open_path(self.root.resolve(), FOLDER)) as top:
                return read_open(open_beneath(top, path, READ_FILE), self.root / path, most)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unread(path, error) from error

    def copy(self, path: str, target: Path) -> bool:
        """Copy a file of any size, where the disk has twice the room for it; whether it is there. ConfigError
        as `read`.
        """
        try:
            with held(open_path(self.root.resolve(), FOLDER)) as top:
                descriptor = open_beneath(top, path, READ_FILE)
            with os.fdopen(descriptor, "rb") as file, target.open("wb") as new:
                _check_size(path, os.fstat(descriptor), target)
                shutil.copyfileobj(file, new)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unread(path, error) from error
        return True

    def text(self, path: str, most: int = _LARGEST) -> str:
        """The text of a file, empty where it is not there; ConfigError as `read`, and for other bytes."""
        try:
            return (self.read(path, most) or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path} cannot be read: it is no UTF-8") from error

    def json(self, path: str) -> dict[str, Any]:
        """The object of a JSON file, in which comments, commas at the end and bare names are let pass."""
        text = self.text(path, 16 * _LARGEST)
        with suppress(ValueError, RecursionError):
            return _mapping(path, json.loads(text or "{}"))
        try:
            return _mapping(path, json.loads(_TOKEN.sub(_plain, text)))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path} cannot be read: it is no JSON") from error

    def toml(self, path: str) -> dict[str, Any]:
        """The table of a TOML file."""
        try:
            return tomllib.loads(self.text(path))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path} cannot be read: it is no TOML") from error

    def folders(self, path: str) -> Iterator[Path]:
        """The folders in one of its folders, in the order of their names; no links, no hidden ones."""
        place = self.root.resolve() / path
        with suppress(OSError):
            if place.resolve() != place:
                return
            for one in sorted(place.iterdir()):
                if one.is_dir() and not one.is_symlink() and not one.name.startswith("."):
                    yield one


def _unread(path: str, error: OSError) -> ConfigError:
    link = "it is a link, or lies behind one, and none is followed; copy what it leads to"
    return ConfigError(f"{path} cannot be read: {link if error.errno == errno.ELOOP else error.strerror}")


def _check_size(path: str, info: os.stat_result, target: Path) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise ConfigError(f"{path} cannot be read: it is no regular file")
    if 2 * info.st_size > free_bytes(target):
        raise ConfigError(f"{path} has {info.st_size:,} bytes, and the disk has too little room for it")


def _plain(found: re.Match[str]) -> str:
    if found["single"]:
        inner = found["single"][1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)"', lambda _: '\\"', inner) + '"'
    if found["name"]:
        return f'"{found["name"]}"'
    return found["text"] or ""


def _mapping(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path} cannot be read: it holds no object")
    return dict(value)


def inside(tree: Any, *names: str) -> dict[str, Any]:
    """The mapping at a place of a tree; an empty one where there is none."""
    for name in names:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return dict(tree) if isinstance(tree, Mapping) else {}
