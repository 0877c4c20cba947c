"""The slash commands as data: names, aliases, arguments, summaries."""

from functools import cache
from typing import Literal

from msgspec import Struct

from hermes.lib.data_files import data_table


class SlashCommand(Struct, frozen=True, kw_only=True):
    """One command, as `/help` shows it. `asked` says whether it may be a question on the command line,
    `instead` how that has what it would change.
    """

    name: str
    category: str
    summary: str
    arguments: str = ""
    aliases: tuple[str, ...] = ()
    asked: Literal["always", "alone", "never"] = "never"
    instead: str = "the screen does it"

    @property
    def usage(self) -> str:
        """The command with its arguments, such as `/queue message`."""
        return f"/{self.name} {self.arguments}".rstrip()


@cache
def commands() -> tuple[SlashCommand, ...]:
    """All commands, in the order of `/help`."""
    table = data_table("commands.toml")
    return tuple(
        SlashCommand(**{**row, "aliases": tuple(row.get("aliases", ()))}) for row in table["command"]
    )


def find(word: str) -> SlashCommand | None:
    """The command of that name or alias, or the only one that begins with it; None when there is none."""
    wanted = word.lower()
    for command in commands():
        if wanted in {command.name, *command.aliases}:
            return command
    begins = [command for command in commands() if wanted and command.name.startswith(wanted)]
    return begins[0] if len(begins) == 1 else None


def names() -> list[str]:
    """Every name and alias of a command."""
    return [name for command in commands() for name in (command.name, *command.aliases)]
