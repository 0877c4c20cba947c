"""What a server offers, as it was accepted: kept on disk, so that sessions begin without waiting for it and a
server that changes its mind is noticed.
"""

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.files import make_private, write_atomic
from hermes.lib.small_files import read_small
from hermes.lib.visible import visible
from hermes.mcp.settings import McpServer

_WIDTH: Final = 20


class McpTool(Struct, frozen=True, kw_only=True):
    """One tool as its server describes it; `reads` and `destroys` are what it says of itself."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    reads: bool = False
    destroys: bool = True


class McpOffer(Struct, frozen=True, kw_only=True):
    """All that a server offers, in the order of names, and what it says of itself to models; `faults` says of
    some tools why they are held back, `hides` that of the instructions.
    """

    tools: tuple[McpTool, ...] = ()
    resources: bool = False
    prompts: bool = False
    faults: dict[str, str] = {}
    instructions: str = ""
    hides: str = ""

    @property
    def by_name(self) -> Mapping[str, McpTool]:
        """The tools by their names at the server."""
        return {one.name: one for one in self.tools}

    @property
    def looked_through(self) -> "McpOffer":
        """The same once a person has looked at it whole."""
        return replace(self, faults={}, hides="")


class Accepted(Struct, frozen=True, kw_only=True):
    """What is known of a server: for which `server` it was accepted, what was, and what it `pending` offers
    instead; `unreached` says why it could not be asked yet, so that nothing was accepted.
    """

    server: str
    offer: McpOffer
    pending: McpOffer | None = None
    at: float = 0.0
    unreached: str = ""


class AcceptedOffers:
    """The accepted offers of a home, a file for each server; whoever may write there may change them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str, server: McpServer) -> Accepted | None:
        """What was accepted of a server as it is configured now; None where nothing was."""
        try:
            found = msgspec.json.decode(read_small(self._path(name)), type=Accepted)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError):  # whatever it offers waits for an answer
            return Accepted(server=identity(server), offer=McpOffer())
        return found if found.server == identity(server) else None

    def save(self, name: str, accepted: Accepted) -> None:
        """Keep it; OSError where it cannot be written."""
        make_private(self._folder)
        write_atomic(self._path(name), msgspec.json.format(msgspec.json.encode(accepted), indent=1))

    def forget(self, name: str) -> None:
        """Ask anew from now on."""
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def identity(server: McpServer) -> str:
    """What of a server's configuration says which program it is: a person chose exactly that."""
    return _digest((server.command, server.args, server.cwd, server.url))


def bound(tool: McpTool, server: McpServer) -> str:
    """A short name that only this definition has, of a tool of just this program or address."""
    return _digest((identity(server), tool))


def looked_at(offer: McpOffer, known: McpOffer) -> McpOffer:
    """An offer in which nothing is held back that a person has accepted as it is."""
    held = {
        name: why
        for name, why in offer.faults.items()
        if name in known.faults or known.by_name.get(name) != offer.by_name[name]
    }
    is_news = known.hides or known.instructions != offer.instructions
    return replace(offer, faults=held, hides=offer.hides if is_news else "")


def changes(before: McpOffer, after: McpOffer) -> Iterator[str]:
    """The difference of two offers as lines of a unified diff, safe to show; nothing where there is none."""
    if before == after:
        return
    yield from difflib.unified_diff(
        _lines(before), _lines(after), "accepted", "offered now", lineterm="", n=2
    )


def held_back(offer: McpOffer) -> Iterator[str]:
    """What waits for an answer because of what it says, with that, as lines safe to show."""
    if offer.hides:
        yield visible(f"held back: the instructions: {offer.hides}")
        yield from (f"  {visible(line)}" for line in offer.instructions.splitlines())
    for name, why in sorted(offer.faults.items()):
        yield visible(f"held back: {name}: {why}")
        yield from (f"  {visible(line)}" for line in offer.by_name[name].description.splitlines())


def _lines(offer: McpOffer) -> list[str]:
    told = [f"resources: {offer.resources}", f"prompts: {offer.prompts}"]
    if offer.instructions:
        told += ["instructions for models", *(f"  {line}" for line in offer.instructions.splitlines())]
    for one in offer.tools:
        schema = msgspec.json.format(
            msgspec.json.encode(one.schema, order="deterministic"), indent=1
        ).decode()
        told += [f"tool {one.name}", *(f"  {line}" for line in one.description.splitlines())]
        told += [f"  only reads: {one.reads}", *(f"  {line}" for line in schema.splitlines())]
    return [visible(line) for line in told]


def _digest(value: object) -> str:
    return hashlib.blake2s(msgspec.json.encode(value, order="deterministic")).hexdigest()[:_WIDTH]
