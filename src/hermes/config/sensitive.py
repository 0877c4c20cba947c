"""The sensitive things of a machine, from `sensitive.toml`: secrets, what starts by itself, and loaders."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from typing import Final

import msgspec
from msgspec import Struct

from hermes.lib.data_files import data_table

_HOME: Final = r"(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|~[^/]*)/"
_OF_PROCESSES: Final = (
    r"/proc/(?:\d+|self|thread-self)(?:/task/\d+)?/(?:environ|mem|maps|fd/.*|root(?:/.*)?|cwd(?:/.*)?)"
)


_COPIES: Final = re.compile(
    r"(?:~|#|\.~\d+~|[ ._-](?:\(?(?:bak|backup|old|orig|original|saved?|copy|sw[nop])\)?\d*|\d+))+$"
)
_MAGIC: Final = re.compile(r"[*?\[]")


class Sensitive(Struct, frozen=True, kw_only=True):
    """The table. `secrets` and `starts` are paths by program: `~/` is a home folder, `/` the machine's own; a
    name without either counts in a home folder and wherever else it lies, and a star stands for a part of a
    name. `variables` are names that hold secrets, by program. `withheld` and `given` are names, perhaps with
    a star at the end, of variables that make programs run or load something.
    """

    secrets: Mapping[str, tuple[str, ...]]
    starts: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, tuple[str, ...]]
    withheld: tuple[str, ...]
    given: tuple[str, ...]


@cache
def sensitive() -> Sensitive:
    """The table, read once."""
    tree = data_table("sensitive.toml")
    loaders = tree.pop("loaders")
    return msgspec.convert({**tree, **loaders}, Sensitive)


def at_home(kind: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The names below a home folder, without those that no folder is known for; some have stars."""
    found = (name.removeprefix("~/") for name in _all(kind) if not name.startswith("/"))
    return tuple(name for name in found if not name.startswith("*"))


def anywhere(kind: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The names that count wherever they lie; some have stars."""
    return tuple(name for name in _all(kind) if name[0] not in "~/")


def of_machine(kind: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The paths among the machine's own folders; some have stars."""
    return tuple(name for name in _all(kind) if name.startswith("/"))


def is_secret_path(path: str, home: str) -> bool:
    """Whether an absolute path is, lies in, or as a pattern may mean, what holds secrets, in any case of its
    letters, or a copy of it; `home` is the user's, others are known by their usual place.
    """
    usual = _usual(path, home)
    folder, slash, name = usual.rpartition("/")
    plain = f"{folder.lower()}{slash}{plain_name(name)}"
    return any(_secrets().search(one) for one in dict.fromkeys((usual, plain))) or _may_mean_secret(usual)


def plain_name(name: str) -> str:
    """A file's name in small letters, without what an editor or a person adds to that of a copy."""
    return _COPIES.sub("", name.lower().removeprefix(".#").removeprefix("#"))


def fits_pattern(name: str, pattern: str) -> bool:
    """Whether a shell finds a name by a pattern: none that begins with a dot, unless that is written."""
    return name.startswith(".") <= pattern.startswith(".") and fnmatchcase(name, pattern)


def _may_mean_secret(usual: str) -> bool:
    parts = usual.split("/")[3:] if usual.startswith("/home/~/.") and _MAGIC.search(usual) else []
    return any(
        len(name) <= len(parts) and all(map(fits_pattern, name, parts))
        for name in (one.split("/") for one in (at_home(sensitive().secrets) if parts else ()))
    )


def is_start_path(path: str, home: str) -> bool:
    """Whether an absolute path is, or lies in, what a program of the user's runs by itself."""
    return bool(_starts().search(_usual(path, home)))


def starter_of(path: str, home: str) -> str:
    """Whose start it is at which what is at an absolute path runs; "" where it is no such path."""
    usual = _usual(path, home)
    return next((program for program, places in _starts_by_program().items() if places.search(usual)), "")


def lies_at_home(path: str, kind: Mapping[str, tuple[str, ...]], home: str) -> bool:
    """Whether an absolute path is, or lies in, one of the places of a kind in that home folder itself."""
    below = path.removeprefix(f"{home.rstrip('/')}/")
    return below != path and bool(_places(at_home(kind)).match(below))


def is_loader(name: str) -> bool:
    """Whether a variable of that name makes programs run or load something."""
    return bool(_loaders().fullmatch(name))


def _usual(path: str, home: str) -> str:
    """The path as if the home folder lay where most do."""
    inside = home and (path == home or path.startswith(home.rstrip("/") + "/"))
    return f"/home/~{path[len(home.rstrip('/')) :]}" if inside else path


def _all(kind: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    return dict.fromkeys(chain.from_iterable(kind.values()))


@cache
def _secrets() -> re.Pattern[str]:
    return re.compile(f"{_paths(sensitive().secrets)}|^{_OF_PROCESSES}$")


@cache
def _starts() -> re.Pattern[str]:
    return re.compile("|".join(places.pattern for places in _starts_by_program().values()))


@cache
def _starts_by_program() -> Mapping[str, re.Pattern[str]]:
    starts = {
        program: tuple(name for name in names if not name.startswith("/"))
        for program, names in sensitive().starts.items()
    }
    return {program: re.compile(_paths({program: names})) for program, names in starts.items() if names}


@cache
def _places(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(_pattern(name, '[^/]*') for name in names)})(?:/|$)")


@cache
def _loaders() -> re.Pattern[str]:
    return re.compile("|".join(_pattern(name, ".*") for name in (*sensitive().withheld, *sensitive().given)))


def _paths(kind: Mapping[str, tuple[str, ...]]) -> str:
    """One expression for all; it fits a path that is one of them or lies below."""
    homes = [_pattern(name[2:], "[^/]*") for name in _all(kind) if name.startswith("~/")]
    tops = [_pattern(name[1:], "[^/]*") for name in _all(kind) if name.startswith("/")]
    names = [_pattern(name, "[^/]*") for name in anywhere(kind)]
    found = {f"^{_HOME}": homes, "^/": tops, "(?:^|/)": names}
    return "|".join(f"{before}(?:{'|'.join(some)})(?:/|$)" for before, some in found.items() if some)


def _pattern(name: str, star: str) -> str:
    return star.join(map(re.escape, name.split("*")))
