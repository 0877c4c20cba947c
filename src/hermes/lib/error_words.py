"""What is told of an exception, whatever code it comes from."""


def error_words(error: BaseException) -> str:
    """The kind of an exception and what it says, if it can say anything."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001  # it is of the other code, too
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
