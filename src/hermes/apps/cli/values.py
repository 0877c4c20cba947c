"""What a shell completes in place of a word: names that store, settings and catalogue have here."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hermes.lib.lazy import import_object

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

Completed = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem]"]


def of(kind: str) -> Completed:
    """Completes the names of one kind, a function of `known_values.py`, which is imported when a shell asks.

    A shell that asks gets nothing where the names cannot be read: its user is told when the command runs.
    """

    def complete(context: "click.Context", _: "click.Parameter", begun: str) -> "list[CompletionItem]":
        named: Callable[[str], Iterable[tuple[str, str]]]
        named = import_object(f"hermes.apps.cli.known_values:{kind}")
        item = import_object("click.shell_completion:CompletionItem")
        try:
            found = list(named(context.find_root().params.get("profile") or ""))
        except import_object("hermes.types.error:HermesError"):
            return []
        return [item(name, help=words or None) for name, words in found if name.startswith(begun)]

    return complete
