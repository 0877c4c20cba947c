"""Pages and archives of places on the web: bounded in size, over https alone (http on this machine), and
wherever a page leads on to is held to the same.
"""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
import msgspec
from msgspec import Struct

from hermes.lib.hosts import is_loopback, is_open
from hermes.types.error import SkillError

T = TypeVar("T")
LARGEST: Final = 8_000_000
"""Bytes of one answer."""
_SECONDS: Final = 60.0
_MOST_WAYS: Final = 5
_PLAIN: Final = {"Accept-Encoding": "identity"}
"""A few packed bytes could stand for very many."""
_LEADING_ON: Final = frozenset({301, 302, 303, 307, 308})


class NoSuchPage(SkillError):
    """There is nothing at an address."""


class HubWeb(Struct, frozen=True):
    """Fetches pages with the client of a runtime, which knows its proxies and certificates."""

    client: httpx2.AsyncClient

    async def page(self, address: str, kind: type[T], asked: Mapping[str, str] | None = None) -> T:
        """A page of JSON as what it should be; SkillError where it is something else."""
        data = await self.get(address, asked)
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise SkillError(f"{_host(address)} answers in a form that is not known: {error}.") from error

    async def get(
        self,
        address: str,
        asked: Mapping[str, str] | None = None,
        *,
        most: int = LARGEST,
        named_by: str = "",
    ) -> bytes:
        """The bytes at an address; NoSuchPage and SkillError where they cannot be had. `named_by` is the
        place whose page has led there.
        """
        try:
            with anyio.fail_after(_SECONDS):
                return await self._follow(address, named_by or address, asked, most)
        except TimeoutError as error:
            raise SkillError(f"{_host(address)} did not answer within {_SECONDS:.0f} s.") from error
        except (httpx2.RequestError, httpx2.InvalidURL, ValueError) as error:
            raise SkillError(f"{_host(address)} cannot be reached: {type(error).__name__}.") from error

    async def _follow(self, address: str, begun_at: str, asked: Mapping[str, str] | None, most: int) -> bytes:
        here, given = address, asked
        for _ in range(_MOST_WAYS):
            check_address(here, begun_at=begun_at)
            async with self.client.stream("GET", here, params=given, headers=_PLAIN) as answer:
                if answer.status_code not in _LEADING_ON:
                    _refuse_fault(answer, here)
                    return await _read(answer, here, most)
                here, given = urljoin(str(answer.url), answer.headers.get("location", "")), None
        raise SkillError(f"{_host(address)} leads on and on.")


def check_address(address: str, *, begun_at: str) -> None:
    """SkillError unless an address may be asked, or led on to from where one `begun_at`: only a page of this
    machine leads to this machine, and none into somebody's own network.
    """
    parts, host = urlsplit(address), urlsplit(address).hostname or ""
    is_same = host == urlsplit(begun_at).hostname
    is_number = host.replace(".", "").isdigit() or ":" in host
    if is_loopback(host):
        is_taken = parts.scheme in {"http", "https"} and is_same
    else:
        is_taken = parts.scheme == "https" and (is_same or not is_number or is_open(host, (), 443))
    if not host or parts.username or parts.password or not is_taken:
        raise SkillError(f"{address[:200]!r} is not asked: only https addresses without credentials are.")


def _refuse_fault(answer: Any, address: str) -> None:
    status = answer.status_code
    if status == 404:
        raise NoSuchPage(f"{_host(address)} has no {urlsplit(address).path}.")
    if status == 429:
        after = answer.headers.get("retry-after", "")
        wait = f" in {after} s" if after.isdecimal() else " later"
        raise SkillError(f"{_host(address)} was asked too often; try again{wait}.")
    if status != 200:
        raise SkillError(f"{_host(address)} answers with status {status}.")


async def _read(answer: Any, address: str, most: int) -> bytes:
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise SkillError(f"{_host(address)} packs what it sends, though it was not asked to.")
    told = answer.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise _too_much(address, most)
    taken = bytearray()
    async with aclosing(answer.aiter_bytes()) as pieces:
        async for piece in pieces:
            taken += piece
            if len(taken) > most:
                raise _too_much(address, most)
    return bytes(taken)


def _too_much(address: str, most: int) -> SkillError:
    return SkillError(f"{_host(address)} sends more than {most:,} bytes.")


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2] or address[:80]
