"""`hermes_cli.secret_prompt`: a secret that a person types."""

import click


def masked_secret_prompt(prompt: str = "Secret") -> str:
    """What a person types, which is not shown."""
    return str(click.prompt(prompt.rstrip(": "), default="", show_default=False, hide_input=True))
