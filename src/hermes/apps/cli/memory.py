"""`hermes memory`: what later sessions are told, and what comes when it fits."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import click

from hermes.agent.memory import MemorySettings, described, described_fact
from hermes.agent.memory_provider import FactKeeper, MemoryProvider, ProviderHome, shipped
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, agreed, here, to_change
from hermes.composition import SYSTEM_PORTS
from hermes.lib.text import strip_escapes
from hermes.lib.visible import visible
from hermes.store.facts import Fact
from hermes.store.notes import FILES, Notes, Target
from hermes.types.error import ConfigError

_OPEN: Final = "Sessions that are open keep what they were told."


@click.group()
def memory() -> None:
    """What later sessions are told: notes that always are, and facts that come when they fit."""


@memory.command()
@click.argument("words", nargs=-1)
@click.pass_obj
def show(choices: Choices, words: Sequence[str]) -> None:
    """The notes of MEMORY.md and USER.md and the facts of the memory provider, each with where it comes
    from; with WORDS those that hold all of them.
    """
    found = here(choices)
    notes, held = _notes(found), 0
    for target, file in FILES.items():
        click.echo(f"{notes.folder / file}: {notes.used(target)} of {notes.limits[target]} tokens")
        held += _list([described(one) for one in notes.read(target)], words)
    with _provider(found) as provider:
        if isinstance(provider, FactKeeper):
            facts = provider.noted()
            click.echo(f"Facts of {provider.name} (memory.provider): {len(facts)}")
            held += _list([described_fact(one) for one in facts], words)
        elif provider is not None:
            click.echo(f"Facts of {provider.name} (memory.provider): it does not list them")
    if words and not held:
        click.echo("None of them holds these words.", err=True)


@memory.command()
@click.argument("ids", nargs=-1, required=True)
@click.pass_obj
def forget(choices: Choices, ids: Sequence[str]) -> None:
    """Forget facts of the memory provider by their IDS, which `show` tells."""
    to_change(choices)
    with _provider(here(choices)) as provider:
        if not isinstance(provider, FactKeeper):
            raise ConfigError(
                "There is no memory provider with facts to forget; memory.provider chooses one."
            )
        missing = [one for one in ids if not provider.forget(one)]
    click.echo(f"{len(ids) - len(missing)} forgotten. {_OPEN}")
    if missing:
        raise ConfigError(f"There is no fact {', '.join(missing)}; hermes memory show tells the ids.")


@memory.command()
@click.option(
    "--target", type=click.Choice(["all", *FILES, "facts"]), default="all", help="Which notes, or the facts."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def reset(choices: Choices, *, target: str, yes: bool) -> None:
    """Forget all notes, and all facts of the memory provider."""
    to_change(choices)
    found = here(choices)
    with _provider(found) as provider:
        keeper = provider if isinstance(provider, FactKeeper) and target in {"all", "facts"} else None
        facts = keeper.noted() if keeper else ()
        files: list[Target] = [one for one in FILES if target in {"all", one}]
        names = " and ".join([*(FILES[one] for one in files), *_counted(keeper, facts)])
        if names and not yes:
            _ask(f"Forget all of {names}?")
        for one in files:
            _notes(found).clear(one)
        for fact in facts:
            if keeper:
                keeper.forget(fact.id)
    click.echo(f"{names}: forgotten. {_OPEN}" if names else "There are no facts.")


def _ask(question: str) -> None:
    """Abort unless the answer is yes."""
    if not agreed(question, "forgets"):
        raise click.Abort


def _counted(keeper: FactKeeper | None, facts: Sequence[Fact]) -> list[str]:
    return [f"the facts of {keeper.name} ({len(facts)})"] if keeper and facts else []


def _list(texts: Sequence[str], words: Sequence[str]) -> int:
    """Show the texts that hold all the words; how many do."""
    held = [text for text in texts if all(word.casefold() in text.casefold() for word in words)]
    for text in held:
        click.echo(f"  - {visible(strip_escapes(text))}")
    return len(held)


def _notes(found: Here) -> Notes:
    return found.settings[MemorySettings].notes(found.home.memories)


@contextmanager
def _provider(found: Here) -> Iterator[MemoryProvider | None]:
    """The memory provider of the home, if it has one."""
    name, folder = found.settings[MemorySettings].provider, found.home.memories
    if not name:
        yield None
        return
    home = ProviderHome(folder=folder, settings=found.settings, environ=found.environ, ports=SYSTEM_PORTS)
    provider = shipped().make(name, home)
    try:
        yield provider
    finally:
        provider.close()
