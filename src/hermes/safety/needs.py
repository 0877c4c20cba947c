"""What a command declares that it needs: what a yes to it opens, and what of it has to be asked."""

import posixpath
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase as fnmatch
from typing import Final

from msgspec import Struct

from hermes.safety.commands.paths import Map, is_secret, is_within, place_of
from hermes.safety.commands.rules import Finding
from hermes.types.needs import Needs

ASKED: Final = frozenset({"needs-network", "needs-path", "unconfined"})
"""The effects of what is declared; the words of such a finding name the need in a grant."""

_NEVER: Final = frozenset({"own", "secret", "root", "device"})


class Access(Struct, frozen=True, kw_only=True):
    """How a command runs, as far as that is not in its words; the fields are those of `Permit`."""

    confined: bool = False
    network: bool | tuple[str, ...] = False
    writable: bool = False
    paths: tuple[str, ...] = ()

    def reaches(self, hosts: Sequence[str]) -> bool:
        """Whether the network is open for a command that names these hosts; what names none reaches what is
        open.
        """
        if isinstance(self.network, bool):
            return self.network
        return bool(self.network) and all(is_listed(host, self.network) for host in hosts)


def is_listed(host: str, listed: Sequence[str]) -> bool:
    """Whether a list of hosts lets a host through."""
    return any(host == one or fnmatch(host, one) for one in listed)


def access(needs: Needs, usual: Access, workspace: str) -> Access:
    """The access of a command that gets what it declares, on top of the `usual` one of its sandbox."""
    if needs.unconfined:
        return Access()
    paths = [posixpath.normpath(path) for path in needs.paths]
    outside = tuple(dict.fromkeys(path for path in paths if not is_within(path, workspace)))
    return Access(
        confined=True,
        network=_network(needs, usual.network),
        writable=usual.writable or len(outside) < len(paths),
        paths=outside,
    )


# The policy's own value
def _network(needs: Needs, usual: bool | tuple[str, ...]) -> bool | tuple[str, ...]:  # noqa: FBT001
    if needs.network or usual is True:
        return True
    more = needs.hosts or usual
    return tuple(dict.fromkeys((*(usual or ()), *needs.hosts))) if more else usual


def declared(needs: Needs, usual: Access, folders: Map) -> Iterator[Finding]:
    """What of the needs goes beyond the `usual` access, as findings."""
    if needs.unconfined:
        yield Finding("unconfined", "unconfined", "it asks to run outside the sandbox", words="unconfined")
    if needs.network and usual.network is not True:
        yield Finding("needs-network", "needs-network", "it asks for all of the network", words="network")
    for host in needs.hosts:
        if not usual.reaches([host]):
            reason = f"it asks for the network, to reach {host}"
            yield Finding("needs-host", "needs-network", reason, words=f"host {host}", hosts=(host,))
    for path in map(posixpath.normpath, needs.paths):
        if place_of(path, "/", folders) in _NEVER or is_secret(path, folders):
            yield Finding("reserved", "reserved", f"it asks to write {path}, which no command ever may", path)
        elif not is_within(path, folders.workspace) or not usual.writable:
            reason = f"it asks to write in {path}"
            yield Finding("needs-path", "needs-path", reason, path, words=f"path {path}")
