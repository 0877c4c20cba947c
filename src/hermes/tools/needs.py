"""The secrets that tools need: each tool names its own in `requires_env`, and is given those and no
others.
"""

from collections.abc import Mapping

from hermes.lib.secretvalues import SecretValues
from hermes.types.error import SecretUnavailable
from hermes.types.tool import ToolEntry


def missing_variables(entry: ToolEntry, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that a tool names and that are not set; none where a check of its own decides."""
    return () if entry.check_fn else tuple(name for name in entry.requires_env if not environ.get(name))


def secret_for(entry: ToolEntry, name: str, environ: Mapping[str, str], known: SecretValues) -> str:
    """The value of a variable that a tool has named; `known` learns it first, so that nothing shows it from
    now on.
    """
    if name not in entry.requires_env:
        raise SecretUnavailable(
            f"The tool {entry.name} asked for {name}, which is not in its requires_env; name it there."
        )
    value = environ.get(name, "")
    if not value:
        raise SecretUnavailable(
            f"The tool {entry.name} needs {name}, which is not set; put it in the environment or in Hermes'"
            " .env."
        )
    known.learn(value)
    return value
