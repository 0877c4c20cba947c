"""How a program that a workspace runs asks for something meanwhile: what every such way has in common."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from hermes.types.script import EMPTY_FOLDER
from hermes.types.workspace import AnswerRequest

MODULE: Final = "hermes_tools.py"
LONGEST_REQUEST: Final = 8_000_000
"""Bytes; a way answers no longer one."""


class ToolChannel(Protocol):
    """A way to a program: a folder of its own with a Python module, and requests that come by it."""

    def open(self, module: str, answer: AnswerRequest, *, confined: bool) -> AbstractAsyncContextManager[str]:
        """While it is entered requests are answered; gives the module's folder as the program sees it.

        Afterwards the folder is gone, and what was being answered is cancelled.
        """


EMPTY: Final = "empty"
"""The name of a folder in the module's, for a program that begins in one with nothing in it."""


def variables(folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """What is set for a program so that Python finds the module, and shows its output at once, and a script
    its empty folder.
    """
    paths = filter(None, (folder, env.get("PYTHONPATH", "")))
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        EMPTY_FOLDER: f"{folder}/{EMPTY}",
    }
