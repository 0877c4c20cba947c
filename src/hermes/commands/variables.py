"""Which of the user's variables commands get, as far as `hermes sandbox` and `hermes doctor` tell it: names,
never values.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from hermes.agent.tool_environment import holds_secret
from hermes.composition import secrets_of
from hermes.config.environ import workspace_values
from hermes.config.home import Home
from hermes.environments.child_env import ChildEnvironment, child_environment
from hermes.environments.settings import TerminalSettings
from hermes.lib.secretvalues import SecretValues
from hermes.store.auth import AuthFile
from hermes.types.error import StoreError

ADD = "terminal.env_passthrough: [NAME] in config.yaml lets one through"


def variables(
    home: Home, terminal: TerminalSettings, environ: Mapping[str, str], cwd: Path
) -> ChildEnvironment:
    """What a session's commands would get of `environ` in that directory."""
    known = known_secrets(home, environ, cwd)
    return child_environment(environ, terminal.env_passthrough, partial(holds_secret, known=known))


def known_secrets(home: Home, environ: Mapping[str, str], cwd: Path) -> SecretValues:
    """The credentials that are known to a session in that directory before it begins."""
    return SecretValues(*secrets_of(environ), *secrets_of(workspace_values(cwd)), *_stored(home))


def by_reason(found: ChildEnvironment) -> Iterator[tuple[str, str]]:
    """Each reason for leaving variables out, and their names."""
    names = defaultdict(list)
    for name, reason in sorted(found.left.items()):
        names[reason].append(name)
    return ((reason, ", ".join(names[reason])) for reason in sorted(names))


def _stored(home: Home) -> tuple[str, ...]:
    """The keys of auth.json; a file that cannot be read is told elsewhere."""
    try:
        return tuple(AuthFile(home.auth_file).secrets())
    except StoreError:
        return ()
