"""`hermes_cli.cli_output`: lines and questions of a set-up."""

import click

from hermes.compat.hermes_cli.secret_prompt import masked_secret_prompt


def print_header(title: str) -> None:
    """A heading."""
    click.echo(f"\n{title}\n")


def print_info(text: str) -> None:
    """A line."""
    click.echo(f"  {text}")


def print_success(text: str) -> None:
    """What has been done."""
    click.echo(f"✓ {text}")


def print_warning(text: str) -> None:
    """What should be seen to."""
    click.echo(f"! {text}")


def print_error(text: str) -> None:
    """What went wrong."""
    click.echo(f"✗ {text}", err=True)


def prompt(question: str, default: str | None = None, password: bool = False) -> str:
    """What a person types; the default where they type nothing."""
    if password:
        return masked_secret_prompt(question) or default or ""
    return str(click.prompt(question, default=default or "", show_default=bool(default)))


def prompt_yes_no(question: str, default: bool = True) -> bool:
    """A yes or no."""
    return click.confirm(question, default=default)
