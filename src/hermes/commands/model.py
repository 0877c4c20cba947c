"""The command that shows or changes the model."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.commands.context import CommandContext, idle
from hermes.lib.nearest import nearest
from hermes.models.catalog.catalogue import Model, models, search
from hermes.models.reliability.route import cost_of_break
from hermes.present.words import dollars
from hermes.types.error import ConfigError, HermesError
from hermes.types.request import CUSTOM, Endpoint

if TYPE_CHECKING:
    from hermes.agent.session import Session

HOW = (
    "- `/model NAME`: another model of your own server in use, `provider/name`, or a part of a known name\n"
    "- `/model NAME http://host:port/v1 [KEY]`: a model at an OpenAI-compatible address\n"
    "- `hermes model NAME` keeps it for later sessions"
)
_SHOWN_OF_KEY = 4
_SHOWN_NAMES = 6


class ModelArgs(Struct, frozen=True, kw_only=True):
    """What was asked for; empty parts stay as they are."""

    model: str = ""
    base_url: str = ""
    key: str = ""


def read_wish(argument: str) -> ModelArgs:
    """`name`, `address` and `key` in any sensible order: the address is what has ://, the key is what comes
    after it.
    """
    words = argument.split()
    place = next((number for number, word in enumerate(words) if "://" in word), len(words))
    names, after = words[:place], words[place + 1 :]
    if len(names) + len(after) > 2 or len(names) > 1:  # a name and a key
        raise HermesError("Too many words for /model; it takes a name, an address and a key.")
    name = names[0] if names else ""
    if not name and len(after) == 2:  # as above
        name, *after = after
    return ModelArgs(
        model=name, base_url=words[place] if place < len(words) else "", key=after[0] if after else ""
    )


def without_key(argument: str) -> str:
    """What was typed after /model, without a key: for the screen and the history, which keep it."""
    words = argument.split()
    place = next((number for number, word in enumerate(words) if "://" in word), len(words))
    name_last = place == 0 and len(words) == 3  # address, name, key
    return " ".join(words[: place + 1 + name_last])


async def model(talk: CommandContext, argument: str) -> None:
    """Choose a model, or change to the one that is named."""
    if not argument:
        await talk.pick_model()
        return
    idle(talk)
    wish = read_wish(argument)
    await _use(talk, wish)
    _tell(talk, wish.key)


async def choose(talk: CommandContext, wish: ModelArgs) -> None:
    """Change to a model that was chosen from a list."""
    idle(talk)
    await talk.use_model(wish.model, wish.base_url, wish.key)
    _tell(talk)


def in_use(talk: CommandContext) -> str:
    """Which model answers now, in a sentence, and how to change it."""
    session = talk.session
    now = (
        f"The model is **{session.endpoint.model}** ({session.endpoint.provider})."
        if session
        else "No model is set."
    )
    return f"{now}\n\n{HOW}"


def _tell(talk: CommandContext, key: str = "") -> None:
    """Say what answers from now on, and by its end which key was typed."""
    if talk.session is not None:
        told = f" The key ends in {key[-_SHOWN_OF_KEY:]}." if len(key) > _SHOWN_OF_KEY * 2 else ""
        talk.tell(f"{_named(talk.session.endpoint)} It answers from now on.{_reading(talk.session)}{told}")


async def _use(talk: CommandContext, wish: ModelArgs) -> None:
    """Take the name as it stands. Where somebody's own server is in use, it is a model of that server if it
    is bare or no provider can be had by it; elsewhere a bare one may be a part of one that is known.
    """
    own = talk.session.endpoint if talk.session is not None else None
    if own is not None and own.provider == CUSTOM and wish.model and not wish.base_url:
        await _use_beside(talk, wish, own)
        return
    try:
        await talk.use_model(wish.model, wish.base_url, wish.key)
    except ConfigError as error:
        if not _is_bare(wish):
            raise
        meant = understood(wish.model, models(), own.provider if own is not None else "")
        if len(meant) == 1:
            await talk.use_model(meant[0], "", wish.key)
        elif meant:
            raise ConfigError(
                f"{wish.model} may be {', '.join(f'`{name}`' for name in meant[:_SHOWN_NAMES])}; write one of"
                " them."
            ) from error
        else:
            raise


async def _use_beside(talk: CommandContext, wish: ModelArgs, own: Endpoint) -> None:
    """Take a name where one's own server is in use."""
    if not _is_bare(wish):
        with suppress(ConfigError):
            await talk.use_model(wish.model, "", wish.key)
            return
    await talk.use_model(wish.model, own.base_url, wish.key or own.credential)


def _is_bare(wish: ModelArgs) -> bool:
    return bool(wish.model) and not wish.base_url and "/" not in wish.model


def understood(name: str, known: Mapping[str, Model], provider: str) -> list[str]:
    """The models that a bare name may mean, likeliest first.

    These are the ones with all its parts in theirs, of `provider` if that has any; else the ones that are
    spelt most like it.
    """
    having = search(re.split(r"[-_.:\s]+", name), known.values())
    here = [one.name for one in having if one.provider == provider]
    if here or having:
        return here or [one.name for one in having]
    by_id = {one.id.rpartition("/")[2].lower(): one.name for one in reversed(list(known.values()))}
    return [by_id[id_] for id_ in nearest(name, by_id, most=3)]


def _reading(session: "Session") -> str:
    """What it costs that another model has to read the conversation from its beginning."""
    cost = cost_of_break(session.context_tokens, session.endpoint.price)
    return f" It reads the conversation anew, for about {dollars(cost)}." if cost else ""


def _named(endpoint: Endpoint) -> str:
    """A model in a sentence."""
    return f"The model is **{endpoint.model}** ({endpoint.provider})."
