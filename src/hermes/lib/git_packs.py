"""Put a pack among the objects of a repository by descriptors, so that no link there is followed."""

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.lib.beneath import held, make_folders

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_CHUNK: Final = 1 << 20


def add_pack(objects: Path, pack: Path, name: str) -> None:
    """Copy a pack, `pack`, and the index beside it to the folder `objects`/pack, under a name without an end;
    OSError when that fails, ELOOP where a folder on the way is a link.
    """
    with held(make_folders(objects / "pack")) as folder:
        for end in (".pack", ".idx"):  # git sees a pack by its index, so that comes last
            _put(pack.with_suffix(end), folder, f"{name}{end}")


def _put(source: Path, folder: int, name: str) -> None:
    half = f"tmp_{name}_{secrets.token_hex(4)}"  # git removes what is called so and was left
    try:
        with source.open("rb") as given, os.fdopen(os.open(half, _NEW, 0o444, dir_fd=folder), "wb") as copy:
            shutil.copyfileobj(given, copy, _CHUNK)
            copy.flush()
            os.fsync(copy.fileno())
        os.rename(half, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(half, dir_fd=folder)
