"""`agent.redact`: credentials out of text."""

from typing import Any

from hermes.safety.redact import redact


def redact_sensitive_text(text: str, **kwargs: Any) -> str:
    """The text with each credential that can be told by its form masked."""
    return redact(text)
