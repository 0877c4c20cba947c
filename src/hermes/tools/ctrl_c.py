"""Tell a Ctrl-C from an exception of its kind that code raised by itself."""

import dis
import signal
from typing import Final

_RAISE: Final = dis.opmap["RAISE_VARARGS"]


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an exception comes from the user's Ctrl-C, not from a `raise` in some file."""
    trace = error.__traceback__
    if not isinstance(error, KeyboardInterrupt) or trace is None:
        return isinstance(error, KeyboardInterrupt)
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    by_statement = code.co_code[trace.tb_lasti] == _RAISE
    # An event loop may have a handler of its own, which raises by a statement
    return not by_statement or code is getattr(signal.getsignal(signal.SIGINT), "__code__", None)
