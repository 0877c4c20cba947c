"""Fetch the built-in model before it is needed, with a progress bar on stderr."""

import sys

import click

from hermes.composition import model_cache
from hermes.lib.lazy import import_object
from hermes.runtime import Runtime
from hermes.types.request import Endpoint


async def ensure_model(runtime: Runtime, endpoint: Endpoint) -> None:
    """If the model of a session is a local one of the catalogue and not here yet, fetch it now."""
    if endpoint.local:
        import_object("hermes.models.local.serving:check_engine")()
        await fetch(runtime, endpoint)


async def fetch(runtime: Runtime, endpoint: Endpoint) -> None:
    """Fetch the file of a local endpoint's model unless it is in the cache; the bar shows only when something
    is fetched.
    """
    catalogue, puller = (
        import_object("hermes.models.local.catalogue"),
        import_object("hermes.models.local.pull:pull"),
    )
    found = catalogue.find(endpoint.model)
    if isinstance(found, catalogue.LocalModel):
        await puller(found, model_cache(runtime.environ), progress=_Bar(found.alias))


class _Bar:
    """A bar that is drawn on the first report of unfinished work; plain lines where stderr is no terminal."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        share = done * 100 // max(total, 1)
        step = 1 if sys.stderr.isatty() else 10
        if (done >= total and self._shown < 0) or share // step == self._shown // step:
            return
        self._shown = share
        self._draw(share, total)

    def _draw(self, share: int, total: int) -> None:
        words = f"Fetching {self._name} ({total / 1e6:,.0f} MB)"
        if not sys.stderr.isatty():
            click.echo(f"{words}: {share} %", err=True)
            return
        cells = share * 30 // 100
        click.echo(f"\r{words} {'━' * cells}{'·' * (30 - cells)} {share:3d} %", err=True, nl=share >= 100)
