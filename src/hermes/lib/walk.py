"""Walk through folders as os.walk does, which Python ends where they lie a thousand deep."""

import os
from collections.abc import Iterator
from contextlib import suppress


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder from `top` down, with the names of its folders and of all else in it; folders that are
    taken out of the list are not entered. Links are not followed, and what cannot be listed (it is closed,
    gone, or its path is too long) is left out.
    """
    left = [top]
    while left:
        at = left.pop()
        folders: list[str] = []
        others: list[str] = []
        with suppress(OSError), os.scandir(at) as found:
            for one in found:
                (folders if one.is_dir(follow_symlinks=False) else others).append(one.name)
        yield at, folders, others
        left += [os.path.join(at, name) for name in reversed(folders)]  # noqa: PTH118  # words, many
