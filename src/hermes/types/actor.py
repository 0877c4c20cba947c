"""Who acts on a session: verbs take one, messages name one, and questions are addressed to one."""

from typing import Final

from msgspec import Struct

DELEGATION: Final = "delegation"
"""The app of a session that works through its children: it is their actor."""


class Actor(Struct, frozen=True, kw_only=True):
    """A person or a program that uses a session through an app.

    `app` is the app's name (cli, library, telegram, cron, …), `id` tells its users apart (empty where there
    is one only).
    """

    app: str = "cli"
    id: str = ""

    @property
    def origin(self) -> str:
        """The name that messages carry: the app, and the user where the app has several."""
        return f"{self.app}:{self.id}" if self.id else self.app

    @property
    def is_user(self) -> bool:
        """Whether it is one of several users of an app, and no session."""
        return bool(self.id) and self.app != DELEGATION


def actor_of(origin: str) -> Actor:
    """The actor that a message's origin names."""
    app, _, name = origin.partition(":")
    return Actor(app=app, id=name)
