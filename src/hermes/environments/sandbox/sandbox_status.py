"""What a sandbox enforces here, layer by layer, and what it does not and why."""

import os
import platform
from collections.abc import Iterator

from msgspec import Struct

from hermes.environments.sandbox import landlock
from hermes.environments.sandbox.sandbox import Sandbox


class Layer(Struct, frozen=True, kw_only=True):
    """One layer: whether it is in force, and what it does or why it does not; `remedy` is what helps then."""

    name: str
    enforced: bool
    what: str
    remedy: str = ""


def layers(sandbox: Sandbox, *, network: bool | tuple[str, ...]) -> Iterator[Layer]:
    """Every layer of a sandbox that works, the outer ones first."""
    yield Layer(
        name="namespaces",
        enforced=True,
        what="processes, users, names, messages: a command sees its own and ends with all of them",
    )
    yield Layer(
        name="mounts", enforced=True, what="it sees the files below, and sockets of other programs not at all"
    )
    yield _network(network)
    yield _calls(sandbox)
    yield _rules(sandbox)
    yield _limits(sandbox)


def _network(network: bool | tuple[str, ...]) -> Layer:  # noqa: FBT001  # as above
    if network is True:
        return Layer(
            name="network",
            enforced=False,
            what="open by terminal.network; abstract sockets of other programs can be reached with it",
            remedy="hosts in terminal.network in place of true open no more than these",
        )
    what = (
        "cut off, but for the named hosts through a proxy of ours"
        if network
        else "cut off: it has a loopback of its own, and nothing else"
    )
    return Layer(name="network", enforced=True, what=what)


def _calls(sandbox: Sandbox) -> Layer:
    if not sandbox.filters:
        return Layer(
            name="seccomp",
            enforced=False,
            what=f"no filter of kernel calls is known for {platform.machine()}",
            remedy="the other layers hold; an x86-64 or 64-bit ARM machine has this one, too",
        )
    tracing = "" if sandbox.options.tracing else "debugging, "
    what = (
        f"no {tracing}mounting, namespaces, keys, modules, io_uring, bpf, typing into terminals, odd sockets"
    )
    return Layer(name="seccomp", enforced=True, what=what)


def _rules(sandbox: Sandbox) -> Layer:
    if sandbox.rules:
        files = "" if sandbox.options.mode == "full" else "pipes and devices outside are not written to; "
        sockets = (
            "abstract sockets outside are out of reach"
            if landlock.scopes()
            else "this kernel has no rules for abstract sockets yet"
        )
        return Layer(name="landlock", enforced=True, what=files + sockets)
    why = (
        "this kernel has none, or an old one"
        if not landlock.version()
        else "it needs /usr/bin/perl"
        if not landlock.launcher()
        else ""
    )
    remedy = "install perl" if why.startswith("it needs") else "the other layers hold; a newer kernel has it"
    return Layer(
        name="landlock", enforced=False, what=why or "the kernel does not let it work", remedy=remedy
    )


def _limits(sandbox: Sandbox) -> Layer:
    set_ = sandbox.options
    if os.geteuid() == 0:
        return Layer(
            name="limits",
            enforced=False,
            what="no core files; the kernel does not count the processes of root",
            remedy="start Hermes as a user of your own, and they are counted",
        )
    processes = f"{set_.processes} processes, " if set_.processes else ""
    files = f"files up to {set_.file_gigabytes} GB, " if set_.file_gigabytes else ""
    return Layer(name="limits", enforced=True, what=f"{processes}{files}no core files")
