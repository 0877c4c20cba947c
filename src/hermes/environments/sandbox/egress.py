"""Ways out of the sandbox to named hosts, one for each list of them, and the variables that lead programs
there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox import egress_relay
from hermes.environments.sandbox.mounts import Mount
from hermes.environments.sandbox.proxy import Proxy, Resolve

PORT: Final = 3128
"""Where programs find the way out, on the loopback of the sandbox."""

_ADDRESS: Final = f"http://127.0.0.1:{PORT}"
_NEAR: Final = "localhost,127.0.0.1,::1"
_LEADING: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _ADDRESS
    ),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), _NEAR),
    "NODE_USE_ENV_PROXY": "1",
}
_SOCKET: Final = "/run/hermes-network"
# The settings of a repository are read-only, and git would otherwise note there what a new branch follows.
_GIT: Final[Mapping[str, str]] = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "branch.autoSetupMerge",
    "GIT_CONFIG_VALUE_0": "false",
}


class Way(Struct, frozen=True, kw_only=True):
    """What a job needs to take a way out: a socket, and a program around its own."""

    mount: Mount

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """`argv` with the way open."""
        return egress_relay.wrap(argv, socket=_SOCKET, port=PORT)


class Ways:
    """The ways of one workspace; their sockets lie in `folder`. `close` takes them away."""

    def __init__(self, folder: Path, *, resolve: Resolve | None = None) -> None:
        self._folder = folder
        self._resolve = resolve
        self._open: dict[tuple[str, ...], Proxy] = {}

    def to(self, hosts: tuple[str, ...]) -> Way:
        """The way to these hosts and no others; it opens on first use. ValueError when one of them is
        none.
        """
        if hosts not in self._open:
            proxy = Proxy(self._folder / f"network-{len(self._open) + 1}", hosts, resolve=self._resolve)
            proxy.open()
            self._open[hosts] = proxy
        return Way(mount=Mount(_SOCKET, "show", str(self._open[hosts].path)))

    def take_refused(self) -> list[str]:
        """What was refused since the last time, each in one sentence."""
        return [words for proxy in self._open.values() for words in proxy.take_refused()]

    def close(self) -> None:
        """Stop them all."""
        while self._open:
            self._open.popitem()[1].close()


def variables(env: Mapping[str, str], mark: str, mode: str, *, proxied: bool) -> dict[str, str]:
    """The environment of a confined job: it knows that it is confined, and the way out if there is one."""
    own = {
        name: value for name, value in env.items() if _LEADING.get(name) != value
    }  # an earlier job may have left them in the shell
    leading = _LEADING if proxied else {}
    git = _GIT if "GIT_CONFIG_COUNT" not in env else {}
    return {**own, **leading, **git, mark: mode}
