"""What a command declares that it needs: what a yes to it opens, and what of it has to be asked."""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from hermes.lib.hosts import entry, plain_host
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.paths import Map, is_secret, is_within, place_of, start_words
from hermes.safety.commands.rules import Finding
from hermes.safety.commands.script import Simple
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
    protected: bool = False

    def reaches(self, hosts: Sequence[str]) -> bool:
        """Whether the network is open to one of these hosts, as a command's words name them, by some port;
        what names none, or none that can be read, reaches what is open.
        """
        if isinstance(self.network, bool):
            return self.network
        listed = [entry(one) for one in self.network]
        named = [_plain(host) for host in hosts]
        if not named or not all(named):
            return bool(listed)
        return any(one.names(host) for one in listed for host in named)

    def covers(self, need: str) -> bool:
        """Whether the network is open already to all that an entry of a list of hosts means."""
        if isinstance(self.network, bool):
            return self.network
        return any(entry(one).covers(entry(need)) for one in self.network)


def _listed(names: list[str]) -> str:
    """Names as words; a part that is only known when it runs is shown as one."""
    shown = [name.replace(UNKNOWN, "…") for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown or ["this"])


def _plain(host: str) -> str:
    """A host as it is compared; "" where the words do not tell it."""
    try:
        return plain_host(host)
    except ValueError:
        return ""


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


def _meant(host: str) -> str:
    """A host in words, where its name does not say what it is."""
    if host.partition(":")[0] == "*":
        return "any host"
    return f"{host} (the cloud's service for credentials)" if host.startswith("169.254.169.254") else host


def _reserved(path: str, folders: Map) -> str:
    reason = f"it asks to write {path}, which no command ever may"
    return f"{reason}; name a folder below it" if place_of(path, "/", folders) == "root" else reason


def declared(needs: Needs, usual: Access, folders: Map, commands: Sequence[Simple]) -> Iterator[Finding]:
    """What of the needs goes beyond the `usual` access, as findings; one that unconfines names all that would
    run so.
    """
    if needs.unconfined:
        names = dict.fromkeys(
            one.argv[0] if "/" in one.argv[0] else one.program for one in commands if one.argv
        )
        reason = f"it asks to run {_listed(list(names))} outside the sandbox"
        yield Finding("unconfined", "unconfined", reason, words="unconfined")
    if needs.network and usual.network is not True:
        yield Finding("needs-network", "needs-network", "it asks for all of the network", words="network")
    for host in needs.hosts:
        if not usual.covers(host):
            reason = f"it asks for the network, to reach {_meant(host)}"
            yield Finding("needs-host", "needs-network", reason, words=f"host {host}", hosts=(host,))
    for path in map(posixpath.normpath, needs.paths):
        if place_of(path, "/", folders) in _NEVER or is_secret(path, folders):
            yield Finding("reserved", "reserved", _reserved(path, folders), path)
        elif not is_within(path, folders.workspace) or not usual.writable:
            starts = place_of(path, "/", folders) == "start"
            meaning = f", and {start_words(path, 'it', folders)}" if starts else ""
            reason = f"it asks to write in {path}{meaning}"
            yield Finding("needs-path", "needs-path", reason, path, words=f"path {path}")
