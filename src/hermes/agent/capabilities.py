"""What a session may do at most: what its home sets, met with what its opener and its parent give it."""

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from hermes.config.sections import doc, section
from hermes.lib.hosts import check_hosts, entry
from hermes.types.capabilities import Capabilities
from hermes.types.error import ConfigError
from hermes.types.tool import ToolSnapshot


@section("capabilities")
class CapabilitySettings(Struct, frozen=True, kw_only=True):
    """What every session of this home may do at most; no answer and no `--yolo` goes beyond it."""

    read: Annotated[list[str], doc("Folders that may be read; / is all, credentials never.")] = field(
        default_factory=lambda: ["/"]
    )
    write: Annotated[list[str], doc("Folders that may be written; / is all that is decided.")] = field(
        default_factory=lambda: ["/"]
    )
    hosts: Annotated[list[str], doc("Hosts that may be reached, as in terminal.network; * is all.")] = field(
        default_factory=lambda: ["*"]
    )
    secrets: Annotated[list[str], doc("Variables with secrets that tools may have; * is all.")] = field(
        default_factory=lambda: ["*"]
    )
    tools: Annotated[list[str], doc("Tools that may be called; a star ends a name, * is all.")] = field(
        default_factory=lambda: ["*"]
    )
    unconfined: Annotated[bool, doc("Whether a command may ever leave the sandbox.")] = True
    asks: Annotated[bool, doc("Whether questions may be put to a person.")] = True
    tokens: Annotated[int, Meta(ge=0), doc("Tokens that a session may use; 0 is no limit of its own.")] = 0

    def __post_init__(self) -> None:
        check_hosts("hosts", self.hosts)


def configured(settings: CapabilitySettings, *, cwd: Path, home: Path) -> Capabilities:
    """The capabilities that settings give; `.` is the session's folder. ConfigError where a host is none."""
    given = Capabilities(
        read=tuple(settings.read),
        write=tuple(settings.write),
        hosts=tuple(settings.hosts),
        secrets=tuple(settings.secrets),
        tools=tuple(settings.tools),
        unconfined=settings.unconfined,
        asks=settings.asks,
        tokens=settings.tokens,
    )
    return resolved(given, cwd=cwd, home=home)


def resolved(given: Capabilities, *, cwd: Path, home: Path) -> Capabilities:
    """Capabilities with absolute folders, links followed; ConfigError where a host is none."""
    try:
        for host in given.hosts:
            entry(host)
    except ValueError as error:
        raise ConfigError(f"capabilities: {error}.") from error

    def absolute(folders: tuple[str, ...]) -> tuple[str, ...]:
        homes = (f"{home}{one[1:]}" if one == "~" or one.startswith("~/") else one for one in folders)
        return tuple(os.path.realpath(cwd / one) for one in homes)

    return replace(given, read=absolute(given.read), write=absolute(given.write))


def within(found: ToolSnapshot, capabilities: Capabilities) -> ToolSnapshot:
    """The tools that may be used."""
    return replace(
        found,
        tools={name: tool for name, tool in found.tools.items() if capabilities.uses(name)},
        definitions=tuple(one for one in found.definitions if capabilities.uses(one["function"]["name"])),
        deferred=tuple(one for one in found.deferred if capabilities.uses(one["function"]["name"])),
    )
