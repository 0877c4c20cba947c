"""A sweep: one refresh of a token is killed (SIGKILL) at every step, in a process of its own, and then another process goes on.

Steps lie around taking the lock, asking the endpoint, and each part of replacing the file. Prints what was found, one JSON object. Usage:
refresh.py FOLDER STEP
"""

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2

from hermes.models.auth.resolver import CredentialUnavailable, SecretResolver
from hermes.store.auth import AuthFile
from hermes.types.credential import Credential
from hermes.types.error import HermesError
from tests.unit.models.identity import Identity, running

NOW = 1_700_000_000.0
OLD, KEY = "refresh-0", Credential(id="k", secret="other")


def stepping(wanted: int) -> Callable[[Any, str, Any], None]:
    """A profile hook that kills this process at the `wanted`th call into the operating system or our own files of the refresh."""
    passed = 0
    ours = ("store/auth.py", "lib/files.py", "models/auth/resolver.py", "models/auth/oauth.py")
    calls = {"fsync", "replace", "rename", "mkstemp", "write", "flush", "chmod", "fchmod", "unlink"}

    def hook(frame: Any, event: str, argument: Any) -> None:
        nonlocal passed
        near = event in {"call", "return"} and frame.f_code.co_filename.endswith(ours)
        system = event in {"c_call", "c_return"} and getattr(argument, "__name__", "") in calls
        if near or system:
            passed += 1
            if passed == wanted:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


async def refreshed(path: str) -> str:
    keep = AuthFile(Path(path))
    (token,) = [one for one in keep.credentials("p") if one.id == "t"]
    async with httpx2.AsyncClient(trust_env=False) as http:
        return (
            await SecretResolver(http=http, keep=keep, environ={}, now=lambda: NOW).open("p", token)
        ).secret


def child(path: str, wanted: int) -> None:
    sys.setprofile(stepping(wanted))
    anyio.run(refreshed, path)
    os._exit(0)


def after(path: Path, identity: Identity) -> str:
    """How the next process fares: `fine`, or that it has to sign in again."""
    try:
        token = anyio.run(refreshed, str(path))
    except CredentialUnavailable as error:
        return "sign in again" if error.final else f"not final: {error}"
    return "fine" if token in identity.valid else f"a token that is not valid: {token}"


def one(folder: Path, wanted: int) -> tuple[bool, bool, str]:
    """Whether the process was killed, whether that was between the endpoint's answer and the write, and what is wrong (nothing)."""
    path = folder / str(wanted) / "auth.json"
    with running(Identity()) as identity:
        url = f"{identity.base}/token"
        keep = AuthFile(path)
        keep.add("p", KEY)
        keep.add(
            "p",
            Credential(
                id="t",
                kind="oauth",
                secret="access-0",
                refresh_token=OLD,
                expires_at=1.0,
                token_url=url,
                client_id="us",
            ),
        )
        process = multiprocessing.get_context("fork").Process(target=child, args=(str(path), wanted))
        process.start()
        process.join()
        killed = process.exitcode == -signal.SIGKILL
        try:
            key, token = keep.credentials("p")
        except HermesError as error:
            return killed, False, f"{wanted}: {error}"
        written, fate = token.refresh_token != OLD, after(path, identity)
        # The endpoint may hear the killed one only now: it was answered if its token came a second time.
        between = identity.banned and not written
        allowed = {"fine", "sign in again"} if between else {"fine"}
        wrong = (
            []
            if key == KEY and fate in allowed
            else [f"{wanted}: {fate}, allowed {allowed}, key {key == KEY}"]
        )
        loose = [
            one.name
            for one in path.parent.iterdir()
            if one.stat().st_mode & 0o077 and not one.name.endswith(".lock")
        ]
        return (
            killed,
            between,
            "; ".join([*wrong, *(f"{wanted}: {name} is readable by others" for name in loose)]),
        )


def main(folder: Path, step: int) -> None:
    os.umask(0)
    wanted, between, violations, killed = 1, 0, [], True
    while killed:
        killed, lost, wrong = one(folder, wanted)
        between += lost
        violations += [wrong] if wrong else []
        wanted += step
    sys.stdout.write(
        json.dumps({"points": wanted - 1 - step, "between": between, "violations": violations}) + "\n"
    )


main(Path(sys.argv[1]), int(sys.argv[2]))
