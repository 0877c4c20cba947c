"""Which hosts a list allows, and which addresses are nobody's business: pure functions, nothing is looked up
here.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Network | ipaddress.IPv6Network

_USUAL_PORTS: Final = frozenset({80, 443})
_NAME: Final = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", re.IGNORECASE)
_ENTRY: Final = re.compile(
    r"(?P<host>\[[^\]]+\]|[^:\[\]]+|[^\[\]]*:[^\[\]]*:[^\[\]]*)(?::(?P<port>\d{1,5}|\*))?"
)
# Addresses that carry another one: what they lead to is judged.
_CARRIERS: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))


class HostEntry(Struct, frozen=True, kw_only=True):
    """One line of the list: a name, `*.name`, `*`, an address or a range; `ports` are the ones it is meant
    for, None all.
    """

    host: str
    ports: frozenset[int] | None
    range: Range | None = None

    def fits(self, host: str, port: int) -> bool:
        """Whether a host as `plain_host` gives it, and a port, are meant."""
        if self.ports is not None and port not in self.ports:
            return False
        return self.names(host)

    def names(self, host: str) -> bool:
        """Whether a host as `plain_host` gives it is meant, by some port."""
        if self.range is not None:
            address = _address(host)
            return address is not None and _in(address, self.range)
        return self.host in {host, "*"} or (self.host.startswith("*.") and host.endswith(self.host[1:]))

    def covers(self, other: "HostEntry") -> bool:
        """Whether all that another line means is meant by this one."""
        if self.ports is not None and (other.ports is None or not other.ports <= self.ports):
            return False
        if self.range is None or other.range is None:
            return self.range is other.range and self.names(other.host)
        return self.range.version == other.range.version and _within(other.range, self.range)


@lru_cache(maxsize=512)
def entry(text: str) -> HostEntry:
    """What a line of the list means; ValueError says in words when it means nothing."""
    found = _ENTRY.fullmatch(text.strip().lower())
    if found is None or "//" in text:
        raise ValueError(
            f"{text!r} is no host: write a name, *.name, an address or a range, with :port if it is neither"
            " 80 nor 443"
        )
    host, port = found["host"].strip("[]").rstrip("."), found["port"]
    ports = _USUAL_PORTS if port is None else None if port == "*" else frozenset({int(port)})
    if "/" in host or _address(host) is not None:
        return HostEntry(host=host, ports=ports, range=ipaddress.ip_network(host, strict=False))
    if host != "*" and not _is_name(host.removeprefix("*.")):
        raise ValueError(f"{text!r} is no host: {host!r} is neither a name nor an address")
    return HostEntry(host=host, ports=ports)


def check_hosts(name: str, hosts: Iterable[str]) -> None:
    """ValueError, which begins with the `name` of a list, where a line of it means nothing."""
    for host in hosts:
        try:
            entry(host)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error


def plain_host(text: str) -> str:
    """A host as it is compared: lower case, no dot at the end, ASCII; ValueError for what is neither a name
    nor a usual address.
    """
    host = text.strip("[]").rstrip(".").lower()
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    address = _address(host)
    if address is not None:
        return str(address)
    if not _is_name(host):
        raise ValueError(f"{text!r} is neither a host name nor an address in the usual form")
    return host


def allows(entries: Iterable[HostEntry], host: str, port: int) -> bool:
    """Whether a list lets this host and port through, by name alone."""
    return any(one.fits(host, port) for one in entries)


def is_open(address: str, entries: Iterable[HostEntry], port: int) -> bool:
    """Whether an address may be connected to: one of the open Internet, or one that the list itself names."""
    found = _address(address.partition("%")[0])
    if found is None:
        return False
    if any(
        one.range is not None and (one.ports is None or port in one.ports) and _in(found, one.range)
        for one in entries
    ):
        return True
    return all(_is_public(each) for each in (found, *_carried(found)))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or address; nothing is looked up."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_public(address: Address) -> bool:
    closed = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    closed = (
        closed
        or address.is_reserved
        or address.is_unspecified
        or bool(getattr(address, "is_site_local", False))
    )
    return address.is_global and not closed if not _is_carrier(address) else True


def _is_carrier(address: Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and bool(_carried(address))


def _carried(address: Address) -> tuple[Address, ...]:
    """The IPv4 addresses inside an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in carrier for carrier in _CARRIERS) and int(address) > 1:
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def _within(inner: Range, outer: Range) -> bool:
    return inner.network_address in outer and inner.broadcast_address in outer


def _in(address: Address, block: Range) -> bool:
    plain = (
        address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped else address
    )
    return plain in block


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    """A name, and none of the old spellings of an address (2130706433, 0x7f.1, 0177.0.0.1) that a resolver
    would take for one.
    """
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and not _NUMERIC.fullmatch(host)
