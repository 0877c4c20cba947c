"""The program of a kernel: runs one script after another with the same variables, until its input ends."""

# Scripts share its process, so it is started as text wherever they run: nothing but the standard library of
# any Python from 3.8 on, and nothing of Hermes. Whatever a script breaks here ends the process at worst.
from __future__ import annotations

import ast
import fcntl
import io
import json
import linecache
import os
import queue
import signal
import sys
import threading
import time
import traceback
import types
from typing import Any

_CONTROL, _OUT, _ERR = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 64) for number in range(3))
_PROCESS, _MAIN, _END = os.getpid(), threading.get_ident(), os._exit
_BROKEN, _INTERRUPTED, _TRIES, _STEP = 70, 130, 50, 0.1
_ORDERS: queue.SimpleQueue[Any] = queue.SimpleQueue()
_RUNNING = [0]
_TOLD: list[Any] = [None]
_OWN = sys.modules["__main__"]  # kept: a script's own module takes its name
_SCRIPT = types.ModuleType("__main__")
_TOOLS = types.ModuleType("hermes_tools")


def _exactly(length: int) -> bytes:
    parts = []
    while length:
        part = os.read(_CONTROL, min(length, 65536))
        if not part:
            _END(0)  # whoever has started it is gone
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _listen() -> None:
    try:
        while True:
            order = json.loads(_exactly(int.from_bytes(_exactly(4), "big")))
            if "interrupt" not in order:
                _ORDERS.put(order)
            elif order["interrupt"] == _RUNNING[0]:
                signal.pthread_kill(_MAIN, signal.SIGINT)
    finally:
        _ORDERS.put(None)  # a script has closed what is read here


def _load_tools(folder: str) -> dict[str, Any]:
    """Make the module anew in its old place, so that functions which scripts have kept go the new way."""
    path = os.path.join(folder, "hermes_tools.py")
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    way: dict[str, Any] = {"__name__": "hermes_tools", "__file__": path}
    exec(code, way)
    _TOOLS.__file__ = path
    exec(code, _TOOLS.__dict__)
    sys.modules["hermes_tools"] = _TOOLS
    return way


def _open_streams() -> None:
    for number, kept in ((1, _OUT), (2, _ERR)):
        os.dup2(kept, number)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if nothing:
        os.close(nothing)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")


def _writer(number: int, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(number, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, write_through=True)


def _show(error: BaseException, trace: types.TracebackType | None) -> None:
    lines = traceback.format_exception(type(error), error, trace)
    _writer(2, "backslashreplace").write("".join(lines))


def _parsed(code: str, name: str) -> list[types.CodeType]:
    """What is run, and the expression at the end whose value is shown, if there is one."""
    tree = ast.parse(code, name)
    shown = ast.Expression(ast.Constant(value=None, lineno=1, col_offset=0))
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        shown = ast.Expression(last.value)
        tree.body.pop()
    return [compile(one, name, kind, dont_inherit=True) for one, kind in ((tree, "exec"), (shown, "eval"))]


def _execute(code: str, name: str) -> int:
    linecache.cache[name] = (len(code), None, f"{code}\n".splitlines(True), name)
    try:
        body, last = _parsed(code, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _show(error, None)
        return 1
    try:
        exec(body, _SCRIPT.__dict__)
        sys.__displayhook__(eval(last, _SCRIPT.__dict__))
    except SystemExit as end:
        return _exit_code(end.code)
    except BaseException as error:
        _show(error, error.__traceback__ and error.__traceback__.tb_next)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(said: object) -> int:
    if said is None or isinstance(said, int):
        return (said or 0) & 255
    _writer(2, "backslashreplace").write(f"{said}\n")
    return 1


def _run(order: dict[str, Any]) -> int:
    try:
        try:
            os.chdir(order["cwd"])
        except OSError:
            sys.stderr.write(f"{order['cwd']} is gone, so this did not run\n")
            return 1
        try:
            _RUNNING[0] = order["number"]
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return _execute(order["code"], f"<script {order['number']}>")
        finally:
            _RUNNING[0] = 0
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # it came a moment after the script's end
        return _INTERRUPTED


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # a script may have put anything there
            continue


def _tell(way: dict[str, Any], code: int) -> None:
    """Say that a script has ended; its threads may hold all ways to the session for a while."""
    for _ in range(_TRIES):
        try:
            line = way["_Line"]()
            line.ask(b'{"ended": %d}' % code)
            _TOLD[0] = line  # open until the next: the session may be closing it right now
            return
        except RuntimeError:
            time.sleep(_STEP)
    _END(_BROKEN)


def main() -> None:
    """Run what is ordered, one after the other."""
    _SCRIPT.__dict__.update(__builtins__=__builtins__)
    threading.Thread(target=_listen, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        order = _ORDERS.get()
        if order is None:
            _END(_BROKEN)
        _open_streams()
        sys.modules["__main__"] = _SCRIPT
        os.environ["PYTHONPATH"] = order["path"]
        way = _load_tools(order["folder"])
        code = _run(order)
        _flush()
        if os.getpid() != _PROCESS:  # a copy that a script has made of itself
            _END(code)
        _tell(way, code)


try:
    main()
finally:
    _END(_BROKEN)
