"""What an exception that ended a turn is told as."""

from hermes.types.error import Failure, HermesError, ModelError


def failure_of(error: Exception) -> tuple[Failure, bool]:
    """The fault that ended a turn, and whether it is one of those that are known and need not be raised."""
    inner = error
    while isinstance(inner, ExceptionGroup):
        inner = inner.exceptions[0]
    if isinstance(inner, ModelError):
        return inner.failure, True
    if isinstance(inner, HermesError):
        return Failure(reason="unknown", message=str(inner)), True
    words = f"A fault inside Hermes ended this turn ({type(inner).__name__})."
    return Failure(reason="unknown", message=words), False
