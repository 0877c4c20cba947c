"""`hermes scan`: what in files is hidden from people, encoded or forged."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from hermes.agent.prompt.settings import ContextFileSettings
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.lib.edit.textfile import is_binary
from hermes.lib.text import mend_surrogates
from hermes.safety.settings import SecuritySettings
from hermes.safety.text.quarantine import QuarantineFinding, findings
from hermes.types.error import ConfigError

FOUND: Final = 3
MOST_BYTES: Final = 20_000_000
_SHOWN: Final = 200


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each file.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.pass_obj
def scan(choices: Choices, files: tuple[str, ...], *, as_json: bool) -> None:
    """Show what in files is hidden from people, encoded or forged: invisible characters, comments to
    agents, base64 of words, imitated turns. Plain words are not judged, but what matches one of
    context_files.phrases of the settings is shown.

    - reads the standard input. What security.allow_text of the settings names by its hash is not shown. Exit
      code 0 when nothing is
    found, 3 when something is, 2 when a file cannot be read.
    """
    settings = here(choices).settings
    allowed = frozenset(settings[SecuritySettings].allow_text)
    phrases = settings[ContextFileSettings].phrases
    every = [(name, findings(_text(name), allowed, phrases)) for name in files]
    for name, found in every:
        if as_json or choices.as_json:
            click.echo(
                msgspec.json.encode(
                    {"v": 1, "file": mend_surrogates(name), "spans": [_plain(one) for one in found]}
                )
            )
        elif found:
            click.echo("\n".join(_lines(name, found)))
    if not any(found for _, found in every):
        if not (as_json or choices.as_json):
            click.echo("Nothing was found.", err=True)
        return
    sys.exit(FOUND)


def _text(name: str) -> str:
    """A file's text with its places as they are; ConfigError when there is none."""
    data = _bytes(name)
    if len(data) > MOST_BYTES:
        raise ConfigError(
            f"{name} has {len(data):,} bytes, more than {MOST_BYTES:,}; scan a part of it: head -c"
            f" {MOST_BYTES} … | hermes scan -"
        )
    if is_binary(data):
        raise ConfigError(f"{name} is no text; there is nothing to scan in it.")
    return data.decode("utf-8", "surrogateescape")


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    path = Path(name)
    try:
        if path.is_dir():
            raise ConfigError(f"{name} is a folder; name the files in it.")
        if not path.exists():
            raise ConfigError(f"There is no file {name}.")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror or error}.") from error


def _plain(one: QuarantineFinding) -> dict[str, Any]:
    span = one.span
    return {
        "start": span.start,
        "end": span.end,
        "line": one.line,
        "column": one.column,
        "kind": span.kind,
        "rule": span.rule,
        "why": span.why,
        "text": one.text,
        "hash": one.hash,
    }


def _lines(name: str, found: Sequence[QuarantineFinding]) -> list[str]:
    rows: list[str] = []
    for one in found:
        text = " ".join(one.text.split())
        rows += (
            f"{name}:{one.line}:{one.column}: {one.span.kind}: {one.span.why} ({one.span.rule})",
            f"    {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}",
            f"    allow it: add {one.hash} to security.allow_text",
        )
    return rows
