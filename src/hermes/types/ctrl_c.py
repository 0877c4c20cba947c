"""Tell a Ctrl-C from an exception of its kind that code raised by itself."""

import dis
import signal
from typing import Final

_RAISE: Final = dis.opmap["RAISE_VARARGS"]


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception, or one of a group, comes from the user's Ctrl-C, not from a `raise` in some
    file.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_ctrl_c, error.exceptions))
    trace = error.__traceback__
    if not isinstance(error, KeyboardInterrupt) or trace is None:  # one that nobody has raised
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    by_statement = code.co_code[trace.tb_lasti] == _RAISE
    # An event loop may have a handler of its own, which raises by a statement
    handler = signal.getsignal(signal.SIGINT)
    return not by_statement or code is getattr(getattr(handler, "func", handler), "__code__", None)
