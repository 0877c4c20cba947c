"""What an exception that ended a turn is told as."""

from hermes.types.error import Failure, HermesError, ModelError


def failure_of(error: Exception) -> tuple[Failure, bool]:
    """The fault that ended a turn, and whether it is one of those that are known and need not be raised."""
    inner = innermost(error)
    if isinstance(inner, ModelError):
        return inner.failure, True
    if isinstance(inner, HermesError):
        return Failure(reason="unknown", message=str(inner)), True
    name = type(inner).__name__
    # A check, such as that of a scripted model, says what to do
    told = f"{name}: {inner}" if isinstance(inner, AssertionError) and str(inner) else name
    return Failure(reason="unknown", message=f"A fault inside Hermes ended this turn ({told})."), False


def innermost(error: Exception) -> Exception:
    """The first exception of a group, of groups in it too; one that is no group is itself."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
