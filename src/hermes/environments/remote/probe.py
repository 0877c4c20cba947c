"""What a machine elsewhere is: asked once, by a login shell of its own, before the first command."""

import shlex
from collections.abc import Mapping
from typing import ClassVar, Final

from msgspec import Struct, field

from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.remote.payload import ASIDE
from hermes.environments.shell import DUMP
from hermes.environments.shell_state import parse_dump
from hermes.lib.abridged import Abridged
from hermes.types.error import EnvironmentUnavailable

_SECONDS: Final = 45.0
_FACTS: Final = (
    '{ uname -sm; id -un; hostname; . /etc/os-release; echo "$PRETTY_NAME"; command -v rg || echo; command -v'
    " git || echo; } 2>/dev/null"
)


class Machine(Abridged, Struct, frozen=True, kw_only=True):
    """A machine elsewhere: `system` as in `Linux x86_64`, `name` of the distribution, where its shell starts,
    and what it exports.
    """

    unshown: ClassVar = ("exports",)

    system: str
    user: str
    host: str
    name: str
    home: str
    cwd: str
    ripgrep: str = ""
    git: str = ""
    exports: Mapping[str, str] = field(default_factory=dict)

    def start(self, wanted: str) -> str:
        """Where a shell starts that should start in `wanted`: `~` is the home there, "" where the machine's
        own shell does.
        """
        return self.home + wanted[1:] if wanted.startswith("~") else wanted or self.cwd


async def probe(environment: RemoteEnvironment) -> Machine:
    """The machine at the end of an open environment; EnvironmentUnavailable when it has no bash."""
    # A login shell may print a greeting: only what comes between the marks is ours.
    script = f"builtin printf '\\0'; {_FACTS}; builtin printf '\\0'; {DUMP.format(target=f'>&{ASIDE}')}"
    fetched = await environment.fetch(f'"$BASH" -l -c {shlex.quote(script)}', env=None, timeout=_SECONDS)
    dump, parts = parse_dump(fetched.state), fetched.data.decode("utf-8", "replace").split("\0")
    if dump is None or len(parts) != 3:
        raise EnvironmentUnavailable(
            f"{environment.name} has no usable bash, which commands run in"
            f" ({fetched.said or 'it gave no answer'}); choose an image or host that has one."
        )
    system, user, host, name, ripgrep, git = [*parts[1].splitlines(), *[""] * 6][:6]
    home = dump.exports.get("HOME") or dump.cwd
    return Machine(
        system=system,
        user=user,
        host=host,
        name=name,
        home=home,
        cwd=dump.cwd,
        ripgrep=ripgrep,
        git=git,
        exports=dict(dump.exports),
    )
