"""Ways out of the sandbox to named hosts, one for each list of them, and the variables that lead programs
there.

A relay runs in the sandbox before a command, listens on loopback there and passes each connection on to a
named socket. It is in Perl, as the program that puts on Landlock's rules is: Python takes ten times as long
to start, and each command waits for this.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.sandbox.mounts import Mount
from hermes.environments.sandbox.proxy import Proxy, Resolve
from hermes.lib.hosts import entry

PORT: Final = 3128
"""Where programs find the way out, on the loopback of the sandbox."""

PERL: Final = "/usr/bin/perl"
"""What runs the programs that a job starts with, inside."""

# The numbers are those of the kernel (AF_INET, AF_UNIX, SOCK_STREAM, SO_REUSEADDR): the module that names
# them starts slowly.
# One process a connection; the last ones to go are killed with the sandbox.
_RELAY: Final = r"""
my ($name, $port, @command) = @ARGV;
my $listener;
socket($listener, 2, 1, 0) && setsockopt($listener, 1, 2, 1)
  && bind($listener, pack("S n C4 x8", 2, $port, 127, 0, 0, 1))
    && listen($listener, 128) or die "the way out cannot be opened: $!\n";
defined(my $child = fork) or die "the way out cannot be opened: $!\n";
leave() unless $child;
waitpid($child, 0);
close $listener;
exec { $command[0] } @command or do { print STDERR "$command[0]: $!\n"; exit 127 };

sub leave {
    exit 0 if fork;
    setpgrp;
    open(STDIN, "<", "/dev/null"), open(STDOUT, ">", "/dev/null"), open(STDERR, ">", "/dev/null");
    $SIG{CHLD} = $SIG{PIPE} = "IGNORE";
    while (1) {
        accept(my $near, $listener) or next;
        exit copy($near) unless fork;
    }
}

sub copy {
    my ($near, $far) = @_;
    socket($far, 1, 1, 0) && connect($far, pack("S Z108", 1, $name)) or return 1;
    my %pairs = (fileno $near, [$near, $far], fileno $far, [$far, $near]);
    while (%pairs) {
        my $wanted = "";
        vec($wanted, $_, 1) = 1 for keys %pairs;
        select($wanted, undef, undef, undef);
        for my $number (grep { vec($wanted, $_, 1) } keys %pairs) {
            my ($source, $peer) = @{ $pairs{$number} };
            my $length = sysread($source, my $data, 65536);
            for (my $at = 0; $at < ($length // 0); ) {
              $at += syswrite($peer, $data, $length - $at, $at) or return 1 }
            delete $pairs{$number}, shutdown($peer, 1) unless $length;
        }
    }
    return 0;
}
"""

_ADDRESS: Final = f"http://127.0.0.1:{PORT}"
_NEAR: Final = ("localhost", "127.0.0.1", "::1")
_DIRECT: Final = ("no_proxy", "NO_PROXY")
_ONCE: Final[Mapping[str, str]] = {
    "PIP_RETRIES": "0",
    "UV_HTTP_RETRIES": "0",
    "npm_config_fetch_retries": "0",
    "YARN_HTTP_RETRY": "0",
    "CARGO_NET_RETRY": "0",
}
"""By these installers try once."""
_LEADING: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _ADDRESS
    ),
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
        return (PERL, "-e", _RELAY, _SOCKET, str(PORT), *argv)


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


def variables(
    env: Mapping[str, str],
    mark: str,
    mode: str,
    network: bool | tuple[str, ...],  # noqa: FBT001  # as a job has it
) -> dict[str, str]:
    """The environment of a confined job: it knows that it is confined, and the way out to hosts if there is
    one. Without any network installers do not try again for a minute.
    """
    own = {name: value for name, value in env.items() if not _is_ours(name, value)}
    leading: Mapping[str, str] = {}
    if isinstance(network, tuple):
        near = ",".join(name for name in _NEAR if not _is_listed(name, network))
        leading = {**_LEADING, **dict.fromkeys(_DIRECT, near)}
    elif not network:
        leading = _ONCE
    git = _GIT if "GIT_CONFIG_COUNT" not in env else {}
    return {**own, **leading, **git, mark: mode}


def is_given(name: str, value: str) -> bool:
    """Whether a variable is one that confined jobs get here, with the value that they get."""
    return _is_ours(name, value) or value == _GIT.get(name)


def _is_ours(name: str, value: str) -> bool:
    """Whether an earlier job has left it in the shell."""
    if name in _DIRECT:
        return set(value.split(",")) <= {*_NEAR, ""}
    return value in {_LEADING.get(name), _ONCE.get(name)}


def _is_listed(name: str, hosts: tuple[str, ...]) -> bool:
    """Whether a list means this very name or address of the machine itself, which `*` does not."""
    return any(one.host != "*" and one.names(name) for one in map(entry, hosts))
