"""`agent.file_safety`: which files hold credentials."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes.config.sensitive import is_secret_path
from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Callable[..., Any]]:
    """The published functions, for the files of one guest."""
    user_home = guest.environ.get("HOME") or str(Path.home())
    own = {str(one) for one in (guest.home.env_file, guest.home.auth_file)}

    def get_read_block_error(path: str | os.PathLike[str]) -> str | None:
        """Why a file is not to be read; None where it may be."""
        real = str(Path(path).expanduser().resolve())
        if real in own or is_secret_path(real, user_home):
            return f"{path} holds credentials: it is not read for a model."
        return None

    def raise_if_read_blocked(path: str | os.PathLike[str]) -> None:
        """PermissionError where a file is not to be read."""
        if why := get_read_block_error(path):
            raise PermissionError(why)

    return {"get_read_block_error": get_read_block_error, "raise_if_read_blocked": raise_if_read_blocked}
