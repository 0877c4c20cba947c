"""The tools of the session that runs this script, as functions.

Each gives what the tool answered: a dict, or text where that is no JSON. Where something went wrong the dict
has "error". The calls of a script are counted; see also json_parse, shell_quote and retry.
"""

# This is the beginning of a file that scripts import, wherever they run: nothing but the standard library of
# any Python from 3.8 on, and nothing of Hermes.
from __future__ import annotations

import json
import os
import shlex
import socket
import threading
import time
from typing import Any, Callable

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LONGEST = 8_000_000
_STEP = 0.05


class _Line:
    """One process's way to the session."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stream: Any = None
        self.number = 0

    def ask(self, request: bytes) -> bytes:
        if len(request) > _LONGEST:
            raise ValueError("the arguments of a call may have %d bytes at most" % _LONGEST)
        with self.lock:
            if os.path.exists(os.path.join(_FOLDER, "token")):
                return self._by_socket(request)
            return self._by_files(request)

    def _by_socket(self, request: bytes) -> bytes:
        try:
            if self.stream is None:
                self.stream = _connected()
            self.stream.sendall(_framed(request))
            return self._exactly(int.from_bytes(self._exactly(4), "big"))
        except OSError as error:
            self.stream = None
            raise RuntimeError("The session does not answer: %s" % error) from None

    def _exactly(self, length: int) -> bytes:
        parts = []
        while length:
            part = self.stream.recv(min(length, 65536))
            if not part:
                raise ConnectionResetError("it has closed the connection")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _by_files(self, request: bytes) -> bytes:
        self.number += 1
        name = "%d-%d" % (os.getpid(), self.number)
        path = os.path.join(_FOLDER, "request-" + name)
        with open(path + ".part", "wb") as file:
            file.write(request)
        os.rename(path + ".part", os.path.join(_FOLDER, "request-" + name))
        answer = os.path.join(_FOLDER, "answer-" + name)
        while not os.path.exists(answer):
            if not os.path.isdir(_FOLDER):
                raise RuntimeError("The session does not answer any more.")
            time.sleep(_STEP)
        with open(answer, "rb") as file:
            return file.read()


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _connected() -> socket.socket:
    stream = socket.socket(socket.AF_UNIX)
    path = os.path.join(_FOLDER, "socket")
    folder = None
    if len(os.fsencode(path)) > 100:  # the kernel takes no longer ones
        folder = os.open(_FOLDER, os.O_RDONLY)
        path = "/proc/self/fd/%d/socket" % folder
    try:
        stream.connect(path)
        with open(os.path.join(_FOLDER, "token"), "rb") as file:
            stream.sendall(_framed(file.read()))
    finally:
        if folder is not None:
            os.close(folder)
    return stream


_LINES = [_Line()]


def _after_fork() -> None:
    _LINES[0] = _Line()


os.register_at_fork(after_in_child=_after_fork)


def _call(tool: str, arguments: dict[str, Any]) -> Any:
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = json.loads(_LINES[0].ask(json.dumps({"tool": tool, "arguments": given}).encode()))["result"]
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def json_parse(text: str) -> Any:
    """The value of JSON text, also with words or a code fence around it; ValueError when there is none."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        starts = [at for at, letter in enumerate(text) if letter in "{["]
    for at in starts:
        try:
            return json.JSONDecoder(strict=False).raw_decode(text, at)[0]
        except ValueError:
            continue
    raise ValueError("there is no JSON in this text")


def shell_quote(text: object) -> str:
    """The text as one word of a shell command."""
    return shlex.quote(str(text))


def retry(function: Callable[[], Any], attempts: int = 3, delay: float = 1.0) -> Any:
    """What `function()` gives; when it raises, it is called again, after a pause that doubles each time."""
    for attempt in range(attempts - 1):
        try:
            return function()
        except Exception:  # noqa: BLE001  # whatever it is, it is tried again
            time.sleep(delay * 2**attempt)
    return function()
