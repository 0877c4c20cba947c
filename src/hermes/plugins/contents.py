"""What a plugin runs: its files by path and hash, and how those of two copies differ."""

import hashlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from hermes.lib.edit.diff import unified
from hermes.lib.small_files import read_small
from hermes.plugins.discovery import FoundPlugin


def contents(folder: Path) -> dict[str, str]:
    """What lies in a folder, but for what git and Python keep there: paths, and what tells their contents."""
    found = (one for one in sorted(folder.rglob("*")) if one.is_symlink() or not one.is_dir())
    below = ((one, one.relative_to(folder)) for one in found)
    return {str(path): _content(one) for one, path in below if not {".git", "__pycache__"} & {*path.parts}}


def contents_of(plugin: FoundPlugin) -> dict[str, str]:
    """The same of a plugin that was found; of a package, the module that its entry point names."""
    if plugin.package is None:
        return contents(Path(plugin.path)) if plugin.path else {}
    top = plugin.package.module.partition(".")[0]
    return {f"{top}/{name}": told for place in _places(top) for name, told in place.items()}


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Which files are others, in words: `added a; changed b, c`."""
    both = before.keys() & now.keys()
    some = {
        "added": now.keys() - before.keys(),
        "removed": before.keys() - now.keys(),
        "changed": {path for path in both if before[path] != now[path]},
    }
    return "; ".join(f"{how} {', '.join(sorted(paths))}" for how, paths in some.items() if paths)


def diff(before: Path, now: Path) -> Iterator[str]:
    """The lines by which the texts of two folders differ, as of a unified diff."""
    old, new = contents(before), contents(now)
    for path in sorted(one for one in {*old, *new} if old.get(one) != new.get(one)):
        yield from unified(_text(before / path), _text(now / path), path).splitlines()


def _text(file: Path) -> str | None:
    """The text of a file; None of one that is not there, and words for what is no text."""
    if file.is_symlink():
        return f"(a link to {file.readlink()})\n"
    try:
        return read_small(file).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return f"(no text: {_content(file)})\n"


def _places(module: str) -> Iterator[dict[str, str]]:
    """What lies where a module is imported from; nothing of it is run."""
    spec = find_spec(module)
    if spec is not None and spec.submodule_search_locations:
        yield from (contents(Path(one)) for one in spec.submodule_search_locations)
    elif spec is not None and spec.origin:
        yield {Path(spec.origin).name: _content(Path(spec.origin))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"to {path.readlink()}"
    try:
        return hashlib.sha256(read_small(path)).hexdigest()
    except OSError as error:
        return str(error)
