"""Runs inside the sandbox, before the command: listens on loopback there and passes each connection on to a socket with a name.

Started as a program of its own, `python -I -S relay.py SOCKET PORT COMMAND …`, with the standard library alone: it must be there at once.
"""

import os
import select
import signal
import socket
import sys

_CHUNK = 65_536
_WAITING = 128


def main(words: list[str]) -> None:
    """Listen, leave the relay behind as a process of its own, and become the command."""
    name, port, command = words[0], int(words[1]), words[2:]
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_WAITING)
    child = os.fork()
    if child == 0:
        _leave(listener, name)
    os.waitpid(child, 0)
    listener.close()
    os.execvp(command[0], command)  # noqa: S606 -- the command that is to be run


def _leave(listener: socket.socket, name: str) -> None:
    """Become a process that nobody waits for and that holds nothing of the command's."""
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        near, _ = listener.accept()
        if os.fork() == 0:
            _copy(near, name)
            os._exit(0)
        near.close()


def _copy(near: socket.socket, name: str) -> None:
    """Copy both ways until both have ended."""
    far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    far.connect(name)
    waiting = select.poll()
    pairs = {near.fileno(): (near, far), far.fileno(): (far, near)}
    for descriptor in pairs:
        waiting.register(descriptor, select.POLLIN)
    while pairs:
        for descriptor, _ in waiting.poll():
            source, peer = pairs[descriptor]
            data = source.recv(_CHUNK)
            if data:
                peer.sendall(data)
            else:
                waiting.unregister(descriptor)
                del pairs[descriptor]
                peer.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1:])
