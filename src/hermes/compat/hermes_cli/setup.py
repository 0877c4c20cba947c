"""`hermes_cli.setup`: what a plugin's own set-up asks and tells, and keeps in the home."""

from collections.abc import Sequence
from typing import Any

import click

from hermes.compat.hermes_cli.cli_output import (
    print_error,
    print_header,
    print_info,
    print_success,
    print_warning,
    prompt,
    prompt_yes_no,
)
from hermes.compat.hermes_cli.config import published as config
from hermes.plugins.aliases import Guest

__all__ = [
    "print_error",
    "print_header",
    "print_info",
    "print_success",
    "print_warning",
    "prompt",
    "prompt_yes_no",
]


def published(guest: Guest) -> dict[str, Any]:
    """What is about a home."""
    return config(guest)


def prompt_choice(question: str, choices: Sequence[str], default: int = 0) -> int:
    """The number, from 0, of what a person chooses."""
    for number, choice in enumerate(choices, 1):
        click.echo(f"  {number}. {choice}")
    given = click.prompt(question, type=click.IntRange(1, len(choices)), default=default + 1)
    return int(given) - 1
