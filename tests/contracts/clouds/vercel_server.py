"""Vercel's sandbox API on a loopback port, as far as commands go; they run here. Prints its address.

A file `end` in the folder given stops every sandbox.
"""

import json
import re
import subprocess
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FOLDER = Path(sys.argv[1])
SANDBOXES: dict[str, dict[str, Any]] = {}


def made(wanted: dict[str, Any]) -> dict[str, Any]:
    """A running sandbox as the API shows it."""
    now, name = int(time.time() * 1000), wanted.get("name") or f"sb-{uuid.uuid4().hex[:8]}"
    common = {
        "status": "running",
        "cwd": "/tmp",
        "region": "iad1",
        "memory": 2048,
        "vcpus": 1,
        "timeout": 300_000,
        "createdAt": now,
    }
    shown = {
        "persistent": bool(wanted.get("persistent")),
        "tags": wanted.get("tags") or {},
        "updatedAt": now,
        "projectId": "p",
    }
    SANDBOXES[name] = {**common, **shown, "name": name, "currentSessionId": f"s-{name}"}
    return SANDBOXES[name]


def session(sandbox: dict[str, Any]) -> dict[str, Any]:
    """The run of a sandbox as the API shows it."""
    kept = ("status", "cwd", "region", "memory", "vcpus", "timeout", "createdAt", "updatedAt", "projectId")
    part = {name: sandbox[name] for name in kept}
    return {
        **part,
        "id": sandbox["currentSessionId"],
        "sandboxName": sandbox["name"],
        "requestedAt": sandbox["createdAt"],
    }


def whole(sandbox: dict[str, Any]) -> dict[str, Any]:
    """Both, as most answers have them."""
    return {"sandbox": sandbox, "session": session(sandbox), "routes": [], "resumed": False}


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, value: Any, code: int = 200, *, lines: bool = False) -> None:
        body = (
            "".join(json.dumps(one) + "\n" for one in value).encode() if lines else json.dumps(value).encode()
        )
        self.send_response(code)
        self.send_header("Content-Type", "application/x-ndjson" if lines else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = json.loads(raw) if raw else {}
        return found if isinstance(found, dict) else {}

    def do(self) -> None:
        path, wanted = urlsplit(self.path).path, self.body()
        if (FOLDER / "end").exists():
            for one in SANDBOXES.values():
                one["status"] = "stopped"
            (FOLDER / "end").unlink()
        if re.search(r"/v\d/sandboxes/?$", path):
            if self.command == "POST":
                return self.answer(whole(made(wanted)))
            return self.answer(
                {"sandboxes": list(SANDBOXES.values()), "pagination": {"count": len(SANDBOXES), "next": None}}
            )
        if found := re.search(r"/sessions/s-([^/]+)/(cmd|stop)$", path):
            return self.run(SANDBOXES.get(found[1]), found[2], wanted)
        if found := re.search(r"/sandboxes/(?:sessions/s-)?([^/]+)$", path):
            return self.one(SANDBOXES.get(found[1]))
        return self.missing()

    do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = do

    def missing(self) -> None:
        self.answer({"error": {"code": "not_found", "message": "not found"}}, 404)

    def one(self, sandbox: dict[str, Any] | None) -> None:
        if sandbox is None:
            return self.missing()
        if self.command == "DELETE":
            SANDBOXES.pop(sandbox["name"])
        elif sandbox["persistent"]:
            sandbox["status"] = "running"
        return self.answer(whole(sandbox))

    def run(self, sandbox: dict[str, Any] | None, verb: str, wanted: dict[str, Any]) -> None:
        if sandbox is None or sandbox["status"] != "running":
            return self.answer(
                {"error": {"code": "sandbox_stopped", "message": "the sandbox has stopped"}}, 410
            )
        if verb == "stop":
            sandbox["status"] = "stopped"
            return self.answer({"session": session(sandbox), "sandbox": sandbox})
        name = f"cmd_{uuid.uuid4().hex}"
        done = subprocess.run(
            [wanted["command"], *wanted.get("args", [])],
            stdin=-3,
            capture_output=True,
            cwd="/tmp",
            check=False,
        )
        shown = {
            "id": name,
            "name": wanted["command"],
            "args": [],
            "cwd": "/tmp",
            "sessionId": sandbox["currentSessionId"],
            "startedAt": 1,
        }
        lines: list[Any] = [{"command": {**shown, "exitCode": None}}]
        lines += [{"stream": "stdout", "data": done.stdout.decode("utf-8", "replace")}] if done.stdout else []
        return self.answer([*lines, {"command": {**shown, "exitCode": done.returncode}}], lines=True)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
