"""Write the pages of docs/reference that are made from the code.

Run it after a change of settings, events, errors, commands or public names, as a test will say:
.venv/bin/python scripts/reference.py
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import click
import reference_words as words

import hermes
import hermes.sync
import hermes.testing
import hermes.types.error as errors
from hermes.api import OpenOptions
from hermes.apps import settings as every_section  # noqa: F401  # registers those of screens, too
from hermes.apps.cli.main import SUBCOMMANDS, cli
from hermes.apps.cli.manual import ENDS
from hermes.apps.tui.region import KEYS
from hermes.commands.catalogue import commands
from hermes.config.names import setting_names
from hermes.config.sections import keys_of, known_sections
from hermes.mcp import settings as mcp_settings
from hermes.models import settings as model_settings
from hermes.models.errors.classify import reasons
from hermes.plugins import settings as plugin_settings
from hermes.types import delegation, event, goal, message, question, usage

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
_MADE = "This page is made from the code by `scripts/reference.py`."
_OWN = (
    (model_settings, ("OwnProvider", "SignInSettings", "OwnModel", "PriceSettings", "Fallback")),
    (plugin_settings, ("PluginEntry", "PluginLlmTrust", "ShellHook")),
)
_MCP = ("McpServer", "McpFilter", "McpSandbox", "McpOAuth", "McpIdentity", "McpSampling", "McpElicitation")
_ENVIRONMENT = tuple(setting_names().environment.items())
_VALUES = (
    (message, ("User", "Assistant", "ToolResult", "Compaction", "ToolCall", "ContextBlock", "Attachment")),
    (usage, ("Usage",)),
    (errors, ("Failure",)),
    (goal, ("Goal",)),
)


def settings() -> str:
    """Every section and key of the settings."""
    return _page(
        "Settings",
        "The keys of `config.yaml`, each in its section. `hermes config explain KEY` says the same of one,"
        " its value and where that came from; `hermes config set KEY VALUE` changes it. Flags count before"
        " the variables [below](#variables), these before the file, and the file before the defaults.",
        *(_section(kind, name) for kind, name in known_sections()),
        *(_struct(module, name) for module, names in _OWN for name in names),
        *(_struct(mcp_settings, name) for name in _MCP),
        "## Variables\n\n" + _names("variable", setting_names().variables),
        "## Other variables\n\nBeside them the program reads these, and the keys of"
        " [providers](../guide/providers.md).\n\n"
        + words.table(("variable", "what it says"), ((f"`{name}`", told) for name, told in _ENVIRONMENT)),
        "## Older names\n\nThey are read; `hermes config migrate` renames them.\n\n"
        + _names("older name", setting_names().renamed),
        "## Second names\n\nBoth are read; the first counts where both are set.\n\n"
        + _names("second name", setting_names().also),
    )


def events() -> str:
    """Every event, and what questions and answers are made of."""
    classes = get_args(event.Event)
    return _page(
        "Events, questions and answers",
        "What `session.stream(...)` and `session.watch()` give, in order, on one stream"
        " ([the library](../guide/library.md)); the lines of `--json` are made of them, and have"
        " [a schema](json-lines.schema.json) of their own. Each event has a `stamp`, and a `kind` that names"
        " it.",
        _struct(event, "EventStamp"),
        "## Events",
        *(_struct(event, one.__name__, "###") for one in classes),
        "## Questions",
        *(_struct(question, name, "###") for name in ("Approve", "Clarify", "Scope")),
        "## Answers",
        *(_struct(question, name, "###") for name in ("Grant", "Deny", "Reply")),
        "## What they are made of",
        *(_struct(module, name, "###") for module, names in _VALUES for name in names),
        "### States of a child\n\n" + ", ".join(f"`{one}`" for one in get_args(delegation.ChildState)) + "\n",
    )


def error_tree() -> str:
    """The tree of errors, exit codes and the reasons of failed requests."""
    return _page(
        "Errors",
        "Whatever Hermes raises itself is a `HermesError`, whose message is a sentence for a person.",
        "## The tree\n\n" + "\n".join(_branch(errors.HermesError)),
        *(_error(one) for one in _below(errors.HermesError)),
        "## Exit codes\n\nOf a question (`-z`, `chat -q`). A"
        " `ConfigError` or `EnvironmentUnavailable` that reaches the command line ends it with 2, any other"
        " error with 1.\n\n" + words.table(("code", "meaning"), ((f"`{code}`", told) for code, told in ENDS)),
        "## Reasons of failed requests\n\n`Failure.reason` is one of these; [the page on"
        " failures](failures.md) says what follows each.\n\n"
        + words.table(
            ("reason", "what it means"), ((f"`{name}`", one.meaning) for name, one in reasons().items())
        ),
    )


def api() -> str:
    """Every public name of the library."""
    return _page(
        "Public names",
        "What a program may import. [The guide](../guide/library.md) shows how they are used, [a page of its"
        " own](events.md) has the fields of events, questions and answers.",
        *(_module(module) for module in (hermes, hermes.sync, hermes.testing)),
    )


def command_tables() -> str:
    """Slash commands, keys and subcommands."""
    rows = commands()
    categories = dict.fromkeys(one.category for one in rows)
    return _page(
        "Commands and keys",
        "`/help` shows the slash commands, `?` on an empty line the keys, `hermes --help` the subcommands.",
        "## Keys\n\n" + words.table(("key", "what it does"), ((words.code(key), told) for key, told in KEYS)),
        *(
            f"## {category}\n\n"
            + words.table(
                ("command", "also", "what it does"),
                (
                    (words.code(one.usage), " ".join(f"`/{name}`" for name in one.aliases), one.summary)
                    for one in rows
                    if one.category == category
                ),
            )
            for category in categories
        ),
        "## Subcommands\n\n"
        + words.table(
            ("command", "what it does"), (row for name in SUBCOMMANDS for row in _subcommands(name))
        ),
    )


PAGES: Mapping[str, Callable[[], str]] = {
    "settings.md": settings,
    "events.md": events,
    "errors.md": error_tree,
    "api.md": api,
    "commands.md": command_tables,
}


def _page(title: str, about: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", about, _MADE, *(part.strip() for part in parts)]) + "\n"


def _section(kind: type, name: str) -> str:
    rows = (
        (f"`{one.key}`", words.kind(one.kind), words.value(one.default), words.prose(one.description))
        for one in keys_of(kind)
    )
    head = name or f"At the top: {kind.__name__.removesuffix('Settings').lower()}"
    return f"## {head}\n\n{words.doc(kind)}\n\n{words.table(('key', 'type', 'default', 'meaning'), rows)}"


def _names(head: str, names: Mapping[str, str]) -> str:
    return words.table((head, "key"), ((f"`{name}`", f"`{key}`") for name, key in names.items()))


def _struct(module: Any, name: str, head: str = "##") -> str:
    kind = getattr(module, name)
    return f"{head} {name}\n\n{words.doc(kind)}\n\n{words.fields(kind)}"


def _below(kind: type[Exception]) -> Iterator[type[Exception]]:
    """An error and those below it, in the order of the source."""
    yield kind
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            yield from _below(one)


def _branch(kind: type[Exception], depth: int = 0) -> Iterator[str]:
    others = [one.__name__ for one in kind.__bases__ if one.__module__ == "builtins" and one is not Exception]
    also = f" (also `{others[0]}`)" if others else ""
    yield f"{'    ' * depth}- [{kind.__name__}](#{kind.__name__.lower()}){also}"
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            yield from _branch(one, depth + 1)


def _error(kind: type[Exception]) -> str:
    return f"## {kind.__name__}\n\n{words.doc(kind)}\n\n{words.made_with(kind)}"


def _module(module: Any) -> str:
    parts = (_name(name, getattr(module, name)) for name in module.__all__)
    return f"## {module.__name__}\n\n" + "\n\n".join(part.strip() for part in parts)


def _name(name: str, thing: Any) -> str:
    head = f"### {name}\n\n"
    if not isinstance(thing, type) and not callable(thing):
        return f"{head}Any event: one of [these](events.md#events)."
    if not isinstance(thing, type):
        node = words.function(thing)
        options = f"\n\n{words.doc(OpenOptions)}\n\n{words.fields(OpenOptions)}" if name == "open" else ""
        return f"{head}{words.signature(node, name)}\n\n{words.doc(thing)}{options}"
    if thing.__module__ in {event.__name__, question.__name__}:
        return f"{head}{words.doc(thing)} [Its fields](events.md#{name.lower()})."
    made = words.fields(thing) or words.made_with(thing)
    return f"{head}{words.doc(thing)}\n\n{made}\n\n" + "\n".join(words.members(thing))


def _subcommands(name: str) -> Iterator[tuple[str, str]]:
    context = click.Context(cli, info_name="hermes")
    found = cli.get_command(context, name)
    assert found is not None
    yield f"`hermes {name}`", SUBCOMMANDS[name][1]
    if isinstance(found, click.Group):
        for below in found.list_commands(context):
            one = found.commands[below]
            yield (
                words.code(" ".join(["hermes", name, *_usage(one)])),
                words.prose(one.get_short_help_str(200)),
            )


def _usage(command: click.Command) -> list[str]:
    given = (one for one in command.params if isinstance(one, click.Argument))
    return [str(command.name), *(one.make_metavar(click.Context(command)) for one in given)]


def main() -> None:
    """Write the pages."""
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
