"""Daytona's API and toolbox on one loopback port, as far as sandboxes go; commands run here. Prints its address.

A file `end` in the folder given loses every sandbox.
"""

import json
import re
import subprocess
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FOLDER = Path(sys.argv[1])
SANDBOXES: dict[str, dict[str, Any]] = {}


def sandbox(name: str, wanted: dict[str, Any], address: str) -> dict[str, Any]:
    """A running sandbox as the API shows it."""
    fixed = {
        "organizationId": "o",
        "user": "root",
        "public": False,
        "kvm": False,
        "target": "us",
        "gpu": 0,
        "disk": 1,
        "cpu": 1,
        "memory": 1,
    }
    return {
        **fixed,
        "id": name,
        "name": wanted.get("name") or name,
        "env": wanted.get("env") or {},
        "labels": wanted.get("labels") or {},
        "networkBlockAll": wanted.get("networkBlockAll", False),
        "state": "started",
        "desiredState": "started",
        "toolboxProxyUrl": f"{address}/toolbox",
    }


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, value: Any = None, code: int = 200) -> None:
        body = json.dumps(value).encode() if value is not None else b""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = json.loads(raw) if raw and "json" in self.headers.get("Content-Type", "") else {}
        return found if isinstance(found, dict) else {}

    def lost(self) -> bool:
        if (FOLDER / "end").exists():
            SANDBOXES.clear()
            (FOLDER / "end").unlink()
        return not SANDBOXES

    def do(self) -> None:
        path, wanted, is_lost = urlsplit(self.path).path, self.body(), self.lost()
        if path == "/sandbox" and self.command == "POST":
            name = str(uuid.uuid4())
            SANDBOXES[name] = sandbox(name, wanted, f"http://127.0.0.1:{self.server.server_port}")  # type: ignore[attr-defined]
            return self.answer(SANDBOXES[name])
        if path == "/sandbox":
            return self.answer({"items": list(SANDBOXES.values()), "nextCursor": None})
        if found := re.match(r"/sandbox/([^/]+)(?:/(start|stop))?$", path):
            return self.one(found[1], found[2])
        if found := re.match(r"/sandbox/([^/]+)/toolbox-proxy-url", path):
            return self.answer({"url": f"http://127.0.0.1:{self.server.server_port}/toolbox"})  # type: ignore[attr-defined]
        if path.endswith("/process/execute") and not is_lost:
            return self.execute(wanted)
        return self.answer({"message": "not found", "statusCode": 404}, 404)

    do_GET = do_POST = do_DELETE = do_PUT = do

    def one(self, name: str, verb: str | None) -> None:
        found = next((key for key, value in SANDBOXES.items() if name in {key, value["name"]}), None)
        if found is None:
            return self.answer({"message": "not found", "statusCode": 404}, 404)
        if self.command == "DELETE":
            return self.answer({**SANDBOXES.pop(found), "state": "destroyed"})
        if verb:
            SANDBOXES[found]["state"] = {"start": "started", "stop": "stopped"}[verb]
        return self.answer(SANDBOXES[found])

    def execute(self, wanted: dict[str, Any]) -> None:
        try:
            done = subprocess.run(
                ["sh", "-c", wanted["command"]],
                stdin=-3,
                stdout=-1,
                stderr=-2,
                cwd="/tmp",
                timeout=wanted.get("timeout"),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self.answer({"message": "command execution timeout", "statusCode": 408}, 408)
        return self.answer({"exitCode": done.returncode, "result": done.stdout.decode("utf-8", "replace")})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
