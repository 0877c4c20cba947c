"""How long a context window this machine's memory has room for."""

import psutil

from hermes.lib.resources import resources_in_force

LONGEST, SHORTEST = 32_768, 4_096
USUAL = 8_192
"""Of a file that does not say what it was trained for, or what a token takes."""
RESERVE = 768 << 20
"""Bytes that stay free for the engine's own buffers and for what the agent runs."""


def available_memory() -> int:
    """Bytes that new programs can have here without driving others out, in this container too."""
    limit = resources_in_force().memory << 20
    free = int(psutil.virtual_memory().available)
    return min(free, limit) if limit else free


def window_for(trained: int, token_bytes: int, room: int) -> int:
    """The window in tokens for a model trained for `trained` of them, each of which takes `token_bytes`,
    where `room` bytes are left beside the model itself.

    It is a power of two, so that it is the same from one start to the next.
    """
    if not trained or not token_bytes:
        return min(trained or USUAL, USUAL)
    most = min(trained, LONGEST, (room - RESERVE) // token_bytes)
    return min(trained, max(SHORTEST, 1 << max(most, 1).bit_length() - 1))
