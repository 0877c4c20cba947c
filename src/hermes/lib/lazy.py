"""The one way to import late: by name, with a hint what to install."""

import importlib
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
        raise Missing(f"{module} is not installed; run: pip install 'hermes-agent[{extra}]'") from error
    return getattr(found, name) if name else found
