"""`hermes man` and `hermes completion`: the manual and what shells complete, from the commands themselves."""

import inspect
from collections.abc import Iterator
from typing import Final

import click
from click.shell_completion import get_completion_class

from hermes.apps.cli.main import SUBCOMMANDS, cli
from hermes.config.names import setting_names
from hermes.lib.lazy import import_object

_HEAD: Final = '.TH HERMES 1 "" "hermes {version}" "User Commands"'
ENDS: Final = (
    ("0", "answered"),
    ("1", "the model or the network failed"),
    ("2", "something was wrong with what was asked for"),
    ("3", "an approval was needed and nobody could give it"),
    ("4", "the steps, the time or the money were used up"),
    ("5", "the answer is not whole, or not of the form that was asked for"),
    ("6", "a goal that cannot be reached without the user"),
    ("130", "interrupted"),
)
_FILES: Final = (
    ("~/.hermes/config.yaml", "settings; hermes config explains each"),
    ("~/.hermes/.env", "keys"),
    ("~/.hermes/sessions.db", "what was said"),
    ("~/.hermes/tools", "tools of your own"),
)
_SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
def man() -> None:
    """Print the manual page; hermes man | man -l - shows it."""
    click.echo("\n".join(page()))


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands and names; eval "$(hermes completion bash)" uses it."""
    made = get_completion_class(shell)
    if made is None:
        raise AssertionError("click knows each of them")
    click.echo(made(cli, {}, "hermes", "_HERMES_COMPLETE").source())


def page() -> Iterator[str]:
    """The lines of the manual page."""
    context = click.Context(cli, info_name="hermes")
    yield _HEAD.format(version=import_object("hermes:__version__"))
    yield from _section("NAME", "hermes \\- an agent that works on your computer through tools")
    yield from _section(
        "SYNOPSIS", ".B hermes", "[OPTIONS] [COMMAND] [ARGS]...", ".br", '.B hermes -z "QUESTION"'
    )
    yield from _section("DESCRIPTION", *_text(inspect.getdoc(cli.callback) or ""))
    yield ".SH OPTIONS"
    yield from _options(cli, context)
    yield ".SH COMMANDS"
    for name in sorted(SUBCOMMANDS):
        yield from _command(name, context)
    yield ".SH EXIT STATUS"
    yield from _pairs(ENDS)
    yield ".SH ENVIRONMENT"
    yield from _pairs(tuple(setting_names().environment.items()))
    yield ".SH FILES"
    yield from _pairs(_FILES)


def _command(name: str, above: click.Context) -> Iterator[str]:
    """A command with its options, and those below it in a line each."""
    command = cli.get_command(above, name)
    if command is None:
        raise AssertionError("it is in the table")
    context = click.Context(command, info_name=name, parent=above)
    yield f".SS hermes {_safe(name)}"
    yield from _text(inspect.getdoc(command.callback) or command.help or "")
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            one = command.get_command(context, below)
            usage = " ".join(one.collect_usage_pieces(click.Context(one))) if one else ""
            yield from _pair(f"hermes {name} {below} {usage}", one.get_short_help_str(200) if one else "")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for one in command.get_params(context):
        if (record := one.get_help_record(context)) is not None:
            yield from _pair(*record)


def _section(title: str, *lines: str) -> Iterator[str]:
    yield f".SH {title}"
    yield from lines


def _pairs(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for row in rows:
        yield from _pair(*row)


def _pair(term: str, words: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_safe(term)}\\fR"
    yield from _text(words)


def _text(words: str) -> Iterator[str]:
    for number, paragraph in enumerate(words.split("\n\n")):
        if number:
            yield ".PP"
        yield _safe(" ".join(paragraph.split()))


def _safe(words: str) -> str:
    """Words that the formatter takes as words."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
