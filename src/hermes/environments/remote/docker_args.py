"""What further arguments for `docker run` mount, and whether they open more than a container has."""

import csv
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

_HARMLESS: Final = frozenset(
    {"--label", "-l", "--env", "-e", "--env-file", "--name", "--hostname", "-h", "--workdir", "-w"}
    | {"--user", "-u", "--entrypoint", "--platform", "--pull", "--publish", "-p", "--expose", "--tmpfs"}
    | {"--memory", "-m", "--memory-swap", "--memory-reservation", "--cpus", "--cpu-shares", "-c"}
    | {"--cpu-period", "--cpu-quota", "--cpuset-cpus", "--cpuset-mems", "--pids-limit", "--shm-size"}
    | {"--ulimit", "--blkio-weight", "--oom-score-adj", "--stop-signal", "--stop-timeout", "--cap-drop"}
    | {"--dns", "--dns-search", "--dns-option", "--add-host", "--log-driver", "--log-opt", "--storage-opt"}
)
_FLAGS: Final = frozenset(
    {"--init", "--interactive", "-i", "--tty", "-t", "-it", "--read-only", "--no-healthcheck"}
    | {"--quiet", "-q", "--rm"}
)
_VOLUMES: Final = ("-v", "--volume")
_MOUNTS: Final = {"bind", "volume", "tmpfs"}
_KEYS: Final = {
    **dict.fromkeys(("type", "source", "target", "readonly"), ""),
    "src": "source",
    "dst": "target",
    "destination": "target",
    "ro": "readonly",
    **dict.fromkeys(("bind-propagation", "consistency", "volume-nocopy", "tmpfs-size", "tmpfs-mode"), ""),
}


class RunArguments(Struct, frozen=True, kw_only=True):
    """Volumes, as host:container[:options], and whether anything else is given that is not harmless."""

    volumes: tuple[str, ...]
    opens: bool


def read_arguments(words: Sequence[str]) -> RunArguments:
    """What arguments for `docker run` stand for; what is not understood opens."""
    volumes = list(_volumes(words))
    return RunArguments(volumes=tuple(filter(None, volumes)), opens=None in volumes)


def _volumes(words: Sequence[str]) -> Iterator[str | None]:
    """Each volume, "" for what is harmless, None for what may open the machine."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, is_given, value = word.partition("=")
        if word in _FLAGS:
            yield ""
            continue
        if word.startswith("-v") and word != "-v":
            yield word[2:]
            continue
        value = value if is_given else rest.pop(0) if rest else ""
        if name == "--mount":
            yield _mount(value)
        else:
            yield value if name in _VOLUMES else "" if name in _HARMLESS else None


def _mount(value: str) -> str | None:
    """The volume that the words of `--mount` stand for."""
    given: dict[str, str] = {}
    for part in next(csv.reader([value]), []):
        key, _, text = part.partition("=")
        if key not in _KEYS:
            return None
        given[_KEYS[key] or key] = text
    if given.get("type", "volume") not in _MOUNTS:
        return None
    readonly = given.get("readonly", "false") in {"", "1", "true"}
    return f"{given.get('source', '')}:{given.get('target', '')}{':ro' if readonly else ''}"
