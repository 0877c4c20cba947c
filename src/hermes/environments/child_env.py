"""The environment that a child process gets: what `child_environment.toml` lists of the user's, without
secrets.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import ClassVar, Final

from msgspec import Struct

from hermes.config.sensitive import sensitive
from hermes.lib.abridged import Abridged
from hermes.lib.data_files import data_table
from hermes.lib.secretnames import is_secret_name
from hermes.lib.secretvalues import SecretValues

UNLISTED: Final = "not on the list"
CREDENTIAL: Final = "credentials"
OURS: Final = "our own"

_OWN: Final = ("HERMES_", "BASH_FUNC_")
_MADE_ANEW: Final = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})  # by the shell itself, so nobody misses them
_LOGIN: Final = re.compile(r"(?<!ssh)://\S*@|ssh://[^\s@/]*:\S*@")  # the user in ssh://user@host is no secret


class ChildEnvironment(Abridged, Struct, frozen=True, kw_only=True):
    """What of an environment commands get, and the names that they do not get, each with the short name of
    the reason.
    """

    unshown: ClassVar = ("given",)

    given: dict[str, str]
    left: Mapping[str, str]


class Group(Struct, frozen=True, kw_only=True):
    """Names of variables that pass or are withheld for one reason; a star ends a name that stands for all
    that begin so.
    """

    group: str
    why: str
    names: tuple[str, ...]
    addresses: bool = False
    withheld: bool = False


def child_environment(
    environ: Mapping[str, str],
    passthrough: Iterable[str] = (),
    is_secret: Callable[[str], bool] | None = None,
) -> ChildEnvironment:
    """The listed variables without those that look like credentials, by name, by value or by what `is_secret`
    says of the value.

    A name in `passthrough` passes whatever it looks like; `PREFIX_*` there adds names to the list, but no
    credential and nothing withheld.
    """
    wanted, known = (
        tuple(passthrough),
        SecretValues(*(value for name, value in environ.items() if is_secret_name(name))),
    )

    def holds_secret(value: str) -> bool:
        return (
            bool(_LOGIN.search(value))
            or known.redact(value) != value
            or (is_secret is not None and is_secret(value))
        )

    given: dict[str, str] = {}
    left: dict[str, str] = {}
    for name, value in environ.items():
        reason, plain = ("", value) if name in wanted else _by_name(name, value, wanted)
        if name not in wanted and not reason and holds_secret(plain):
            reason = CREDENTIAL
        if not reason:
            given[name] = plain
        elif name not in _MADE_ANEW:
            left[name] = reason
    return ChildEnvironment(given=given, left=left)


def without_logins(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` for a program that hands its proxies on: with no user and password in their addresses, or
    without them.
    """
    proxies = {
        name: value for name, value in environ.items() if (group := group_of(name)) and group.addresses
    }
    return {
        **{name: value for name, value in environ.items() if name not in proxies},
        **child_environment(proxies).given,
    }


def _by_name(name: str, value: str, wanted: tuple[str, ...]) -> tuple[str, str]:
    """Why a variable stays out as far as its name says, and its value: without a login, if its group is one
    of addresses.
    """
    group = group_of(name)
    if name.startswith(_OWN):
        return OURS, value
    if group is not None and group.withheld:
        return group.group, value
    if is_secret_name(name):
        return CREDENTIAL, value
    if group is None:
        return ("" if _fits(name, wanted) else UNLISTED), value
    plain = _without_login(value) if group.addresses else value
    return CREDENTIAL if group.addresses and "@" in plain else "", plain


def group_of(name: str) -> Group | None:
    """The group that a variable is in; of several names with a star the longest counts."""
    exact, beginnings = _index()
    return exact.get(name) or next(
        (group for beginning, group in beginnings if name.startswith(beginning)), None
    )


@cache
def groups() -> tuple[Group, ...]:
    """The groups that pass, then those that are withheld; read once."""
    tree = data_table("child_environment.toml")
    return tuple(
        Group(**{**one, "names": tuple(one["names"]) or sensitive().withheld, "withheld": kind == "withheld"})
        for kind in ("passes", "withheld")
        for one in tree[kind]
    )


@cache
def _index() -> tuple[dict[str, Group], list[tuple[str, Group]]]:
    """The groups by whole names, and by the beginnings that a star ends, the longest first."""
    named = [(name, one) for one in groups() for name in one.names]
    beginnings = [(name[:-1], one) for name, one in named if name.endswith("*")]
    return {name: one for name, one in named if not name.endswith("*")}, sorted(
        beginnings, key=lambda row: -len(row[0])
    )


def _fits(name: str, names: tuple[str, ...]) -> bool:
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in names)


def _without_login(value: str) -> str:
    """An address without user and password; of a list of addresses only the last one, and the others are seen
    by their sign.
    """
    scheme, found, rest = value.rpartition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{found}{authority.rpartition('@')[2]}{slash}{path}"
