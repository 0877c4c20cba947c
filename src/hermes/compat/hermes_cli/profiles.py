"""`hermes_cli.profiles`: the profile in force."""

from collections.abc import Callable

from hermes.plugins.aliases import Guest


def published(guest: Guest) -> dict[str, Callable[[], str]]:
    """The published function, for the files of one guest."""
    return {"get_active_profile_name": lambda: guest.home.profile}
