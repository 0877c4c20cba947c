"""Which models a side task may ask, in order: the one that was set for it, the session's, then every provider that has a key."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from hermes.config.settings import Settings, TaskSettings
from hermes.models.auxiliary import Errand, Task
from hermes.models.catalogue import Provider, known_providers
from hermes.models.endpoint import resolve
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

FIRST = ("openrouter", "nous", "custom", "anthropic")
"""Providers in the order in which they are asked; the others follow as the catalogue has them."""
SMALL_ENOUGH: frozenset[Task] = frozenset({"title", "search_summary", "web_extract", "approval"})
"""Tasks that a provider's small model does as well as its large one."""
SHORT: Mapping[Task, int] = {"title": 200, "approval": 400}


def errand(task: Task, main: Endpoint, settings: Settings, environ: Mapping[str, str], *, stored: Collection[str] = ()) -> Errand:
    """The models for a task of a session whose model is `main`; what is set and cannot be had is a ConfigError."""
    own: TaskSettings = getattr(settings.auxiliary, task)
    chain = _set(own, main, settings, environ, stored) or tuple(_found(task, main, settings, environ, stored))
    if task == "vision":
        chain = tuple(one for one in chain if one.profile.vision)
    return Errand(chain=chain, seconds=own.timeout, max_output=own.max_output or SHORT.get(task))


def _set(
    own: TaskSettings, main: Endpoint, settings: Settings, environ: Mapping[str, str], stored: Collection[str]
) -> tuple[Endpoint, ...]:
    """What the user set for the task, and the session's own model after it."""
    if not (own.provider or own.model or own.base_url):
        return ()
    if own.provider in {"", "main"} and not own.base_url and "/" not in own.model:
        return (replace(main, model=own.model or main.model), main)
    name = f"{own.provider}/{own.model}" if own.provider and own.provider != "main" else own.model
    return (resolve(settings, environ, model=name, base_url=own.base_url, stored=stored), main)


def _found(task: Task, main: Endpoint, settings: Settings, environ: Mapping[str, str], stored: Collection[str]) -> Iterator[Endpoint]:
    known = known_providers(settings)
    own = known.get(main.provider)
    if own and own.small and task in SMALL_ENOUGH and own.small != main.model:
        small = _small(own, settings, environ, stored)
        if small is not None:
            yield small
    if task != "title":  # a name is worth a small model's time, not the large one's
        yield main
    for one in sorted(known.values(), key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST)):
        if one.small and one.name != main.provider and (one.name in stored or any(environ.get(name) for name in one.keys)):
            endpoint = _small(one, settings, environ, stored)
            if endpoint is not None:
                yield endpoint


def _small(one: Provider, settings: Settings, environ: Mapping[str, str], stored: Collection[str]) -> Endpoint | None:
    """A provider's small model; None when the provider cannot be used as it is set up."""
    try:
        return resolve(settings, environ, model=f"{one.name}/{one.small}", stored=stored)
    except ConfigError:
        return None
