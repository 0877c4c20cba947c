"""An identity server on loopback: device codes, authorization codes with S256, refresh tokens that may be spent once."""

import base64
import hashlib
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@dataclass
class Identity:
    """What it does and what it saw. `polls` are its answers to a device before the token, `life` is in seconds."""

    polls: list[str] = field(default_factory=list)
    life: float | None = 3600
    rotates: bool = True
    refusal: str = ""
    delay: float = 0.0
    spent: list[str] = field(default_factory=list)
    banned: bool = False
    valid: set[str] = field(default_factory=set)
    forms: list[dict[str, str]] = field(default_factory=list)
    challenges: dict[str, str] = field(default_factory=dict)
    base: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: Any = field(default_factory=threading.Lock)

    def tokens(self, refresh: str = "") -> dict[str, Any]:
        number = next(self._numbers)
        self.valid = {f"access-{number}"}
        life = {} if self.life is None else {"expires_in": self.life}
        return {"access_token": f"access-{number}", "refresh_token": refresh or f"refresh-{number}", **life}

    def device(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.challenges["device-1"] = form.get("code_challenge", "")
        return 200, {
            "device_code": "device-1", "user_code": "ABCD-EFGH", "verification_uri": f"{self.base}/activate",
            "verification_uri_complete": f"{self.base}/activate?code=ABCD-EFGH", "interval": 0.01, "expires_in": 5,
        }  # fmt: skip

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.forms.append(form)
            if self.refusal:
                return 400, {"error": self.refusal, "error_description": "No more."}
            match form["grant_type"]:
                case "refresh_token":
                    return self._refresh(form["refresh_token"])
                case "authorization_code":
                    return self._exchange(form["code"], form.get("code_verifier", ""))
                case _:
                    error = self.polls.pop(0) if self.polls else ""
                    return (
                        (400, {"error": error})
                        if error
                        else self._exchange(form["device_code"], form.get("code_verifier", ""))
                    )

    def _exchange(self, code: str, verifier: str) -> tuple[int, dict[str, Any]]:
        if self.challenges.pop(code, None) != challenge_of(verifier):
            return 400, {"error": "invalid_grant", "error_description": "The verifier does not fit."}
        return 200, self.tokens()

    def _refresh(self, token: str) -> tuple[int, dict[str, Any]]:
        if token in self.spent and self.rotates:
            self.banned = True
        if self.banned:
            return 400, {"error": "invalid_grant", "error_description": "That refresh token was spent."}
        self.spent.append(token)
        return 200, self.tokens("" if self.rotates else token)

    def authorize(self, query: dict[str, str]) -> str:
        """The address that the browser is sent to when the person agrees."""
        self.challenges["code-1"] = (
            query["code_challenge"] if query["code_challenge_method"] == "S256" else ""
        )
        return f"{query['redirect_uri']}?{urlencode({'code': 'code-1', 'state': query['state']})}"


@contextmanager
def running(identity: Identity) -> Iterator[Identity]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            status, answer = identity.device(form) if self.path == "/device" else identity.token(form)
            self._send(status, json.dumps(answer).encode())

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self._send(200, identity.authorize(query).encode())
            else:
                known = self.headers.get("authorization", "").removeprefix("Bearer ") in identity.valid
                self._send(
                    200 if known else 401,
                    b'{"data": [{"id": "m"}]}' if known else b'{"error": {"message": "who are you"}}',
                )

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that is killed resets its connection."""

    server = Server(("127.0.0.1", 0), Handler)
    identity.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield identity
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
