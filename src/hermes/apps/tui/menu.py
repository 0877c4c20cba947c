"""What can be completed at the cursor: commands and skills after `/`, files after `@`."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from hermes.commands.catalogue import commands
from hermes.present.spans import Line, Span, cut_text, line, pad

ROWS = 8
_FILE = re.compile(r"(?:^|\s)@(\S*)$")


class Item(Struct, frozen=True):
    """One row: what replaces the typed word, what is shown, and a note beside it."""

    insert: str
    label: str
    note: str = ""


class Menu(Struct, frozen=True):
    """The rows that fit, for the last `length` characters before the cursor; `chosen` counts from 0."""

    items: tuple[Item, ...] = ()
    length: int = 0
    chosen: int = 0

    def move(self, steps: int) -> "Menu":
        """The menu with another row chosen; it goes round."""
        return Menu(self.items, self.length, (self.chosen + steps) % len(self.items)) if self.items else self


def command_items() -> list[Item]:
    """The slash commands as rows of the menu; one that takes arguments leaves room for them."""
    return [
        Item(f"/{command.name}{' ' if command.arguments else ''}", command.usage, command.summary)
        for command in commands()
    ]


def complete(before: str, listed: Sequence[Item], find: Callable[[str], Sequence[Item]]) -> Menu:
    """The menu for the text before the cursor; empty when there is nothing to complete."""
    if before.startswith("/") and " " not in before and "\n" not in before:
        return Menu(_named(listed, before[1:].lower()), len(before))
    typed = _FILE.search(before)
    return Menu(tuple(find(typed[1])), len(typed[1]) + 1) if typed else Menu()


def _named(listed: Sequence[Item], word: str) -> tuple[Item, ...]:
    names = [(command.label.partition(" ")[0].removeprefix("/"), command) for command in listed]
    starts = [command for name, command in names if name.startswith(word)]
    inside = [command for name, command in names if word in name and not name.startswith(word)]
    return (*starts, *inside)


def menu_lines(menu: Menu, width: int) -> list[Line]:
    """The rows around the chosen one, one line each, with a count when there are more."""
    start = min(max(0, menu.chosen - ROWS + 1), max(0, len(menu.items) - ROWS))
    shown = menu.items[start : start + ROWS]
    if not shown:
        return []
    names = min(max(len(item.label) for item in shown), max(8, width // 2))
    rows: list[Line] = []
    for number, item in enumerate(shown, start):
        role = "chosen accent" if number == menu.chosen else ""
        head: Line = (
            Span("❯ " if number == menu.chosen else "  ", role),
            Span(cut_text(item.label, names), role),
        )
        note = cut_text(item.note, max(0, width - names - 5)) if width - names > ROWS else ""
        rows.append((*pad(head, names + 2), Span("  "), Span(note, "dim")) if note else head)
    if len(menu.items) > ROWS:
        rows.append(line(f"  {menu.chosen + 1} of {len(menu.items)}", "dim"))
    return rows
