"""The garbage collector of a program that starts: nearly all that is made then stays to the end."""

import gc

OBJECTS = 100_000
"""How many a program makes before garbage is looked for; a start makes up to 95,000."""


def keep_start() -> None:
    """Look for no garbage until the program has made OBJECTS objects; those are never looked at again, and
    from then on the collector works as it did before.

    It changes the whole process: for programs, not for libraries.
    """
    usual = gc.get_threshold()

    def begin(_phase: str, _info: dict[str, int]) -> None:
        gc.callbacks.remove(begin)
        gc.freeze()
        gc.set_threshold(*usual)

    gc.callbacks.append(begin)
    gc.set_threshold(OBJECTS)
