"""What a command declares that it needs beyond the sandbox it runs in."""

from typing import Final

from msgspec import Struct


class Needs(Struct, frozen=True, kw_only=True):
    """What a command declares that it needs beyond the sandbox: the network (all of it, or `hosts`, such as
    example.org or *.github.com), absolute `paths` to write, or to run without the sandbox (`unconfined`).
    """

    network: bool = False
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    unconfined: bool = False


NO_NEEDS: Final = Needs()
"""What most commands need: nothing beyond the usual."""
