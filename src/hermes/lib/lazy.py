"""The one way to import late: by name, with a hint what to install."""

import importlib
from pathlib import Path
from typing import Any


class Missing(ImportError):
    """A package of an extra is not installed; the message says how to get it."""


def import_object(target: str, *, extra: str = "") -> Any:
    """The object that `package.module:name` (or `package.module`) names; Missing with an install hint when it
    is not there.
    """
    module, _, name = target.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not extra:
            raise
        raise Missing(f"{error.name or module} is not installed; run: {_installing(extra)}") from error
    return getattr(found, name) if name else found


def _installing(extra: str) -> str:
    """What installs an extra: in a checkout it has a script for those that are locked there."""
    checkout = Path(__file__).parents[3]
    if (checkout / "scripts" / "extra").is_file() and (checkout / "requirements" / f"{extra}.txt").is_file():
        return f"{checkout}/scripts/extra {extra}"
    return f"pip install 'hermes-agent[{extra}]'"
