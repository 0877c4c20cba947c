"""Python code of small models mended: they miscount brackets, and take Python for a shell."""

import ast
import shutil
import warnings
from typing import Final

_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_MOST: Final = 4


def close_brackets(code: str) -> str:
    """The code with brackets closed at the ends of the lines that open them, if it is Python then and was
    none before; else as it was.
    """
    mended = code
    for _ in range(_MOST):
        try:
            _parse(mended)
        except SyntaxError as error:
            line, opener = error.lineno or 0, error.msg[1:2]
            if "was never closed" not in error.msg or opener not in _CLOSERS:
                return code
            lines = mended.split("\n")
            lines[line - 1] = f"{lines[line - 1].rstrip()}{_CLOSERS[opener]}"
            mended = "\n".join(lines)
        except (ValueError, RecursionError, MemoryError):  # a NUL, or too deep to be read
            return code
        else:
            return mended
    return code


def is_shell_line(code: str) -> bool:
    """Whether it is a line for the shell rather than Python: it begins with a program that is there."""
    line = code.strip()
    return "\n" not in line and not _is_python(line) and shutil.which(line.partition(" ")[0]) is not None


def _is_python(code: str) -> bool:
    try:
        _parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _parse(code: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes, which are no matter of ours
        ast.parse(code)
