"""What a command in a container would do to the folders of this machine that it is given."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace  # noqa: TID251  # commands and findings are no structs
from typing import Final

from hermes.safety.commands.nested_commands import CONTAINED
from hermes.safety.commands.options import option_values
from hermes.safety.commands.paths import absolute
from hermes.safety.commands.script import Simple

_PROGRAMS: Final = frozenset({"docker", "podman", "nerdctl"})
_ELSEWHERE: Final = "/tmp/container"  # noqa: S108  # a name for the files that only the container has
_FLAGS: Final = re.compile(
    r"-[itdPq]+|--(?:rm|detach|interactive|tty|init|privileged|read-only|no-healthcheck|oom-kill-disable|publish-all|quiet|sig-proxy|replace|tls-verify"
    r"|disable-content-trust|help|rmi|systemd|no-hosts|env-host|http-proxy|passwd)"
)
_PATH: Final = re.compile(r"(?<![\w.:/\x00-])/[\w.@+*?\x00-]*(?:/[\w.@+*?\x00-]*)*")


def in_container(command: Simple) -> Iterator[Simple]:
    """The command that `docker run` starts, its paths turned into those of the folders that it is given."""
    if not starts_container(command):
        return
    own, rest = _split(command.argv[3:] if command.argv[1] == "container" else command.argv[2:])
    mounts = dict(_mounts(own, command.cwd))
    inner = [*option_values(own, "--entrypoint"), *rest[1:]]
    if not mounts or not inner:
        return
    folder = (option_values(own, "-w", "--workdir") or ["/"])[-1]
    yield replace(
        command,
        argv=tuple(_PATH.sub(lambda found: _outside(found[0], mounts), word) for word in inner),
        cwd=_outside(folder, mounts),
        through=(*command.through, CONTAINED),
        assignments=(),
        writes=(),
        reads=(),
    )


def starts_container(command: Simple) -> bool:
    """Whether a command makes a container, in which its last words run."""
    words = command.argv[2:] if command.argv[1:2] == ("container",) else command.argv[1:]
    return command.program in _PROGRAMS and words[:1] in {("run",), ("create",)}


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The options, and the words from the image on."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        position += 1 if "=" in words[position] or _FLAGS.fullmatch(words[position]) else 2
    return words[:position], words[position:]


def _mounts(words: Sequence[str], cwd: str) -> Iterator[tuple[str, str]]:
    """Pairs (folder in the container, folder here)."""
    for one in option_values(words, "-v", "--volume"):
        here, _, there = one.partition(":")
        if there:  # a volume's name stands for data like that of a folder here
            yield there.partition(":")[0].rstrip("/") or "/", absolute(here, cwd)
    for one in option_values(words, "--mount"):
        given = dict(part.partition("=")[::2] for part in one.split(","))
        here = given.get("src", given.get("source", ""))
        there = given.get("dst", given.get("target", given.get("destination", "")))
        if there and (given.get("type", "bind") == "bind"):
            yield there.rstrip("/") or "/", absolute(here, cwd)


def _outside(path: str, mounts: Mapping[str, str]) -> str:
    """Where a path of the container lies here."""
    full = posixpath.normpath(path)
    for there, here in mounts.items():
        if full == there or full.startswith(f"{there.rstrip('/')}/"):
            return here + full[len(there.rstrip("/")) :]
        if path.startswith(f"{there}*"):
            return here + path[len(there) :]
    return f"{_ELSEWHERE}{full}"
