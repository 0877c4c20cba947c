import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from peer_gate import Gate, said
from peers import last_words

EVENTS = (
    'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\ndata: {"choices":[{"delta":{"content":"lo"}}]}\n\n'
)


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    heard: list[tuple[str, dict[str, Any]]] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            heard.append((self.headers["authorization"], asked))
            whole = json.dumps({"choices": [{"message": {"content": "Hello"}}]})
            reply = (EVENTS + "data: [DONE]\n\n" if asked.get("stream") else whole).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_port}/v1", heard
    serving.shutdown()
    serving.server_close()


def ask(gate: Gate, *, stream: bool = False) -> str:
    body = json.dumps({"messages": [], "stream": stream, "temperature": 0.7}).encode()
    request = urllib.request.Request(f"{gate.base_url}/chat/completions", body)
    with urllib.request.urlopen(request) as reply:
        return str(reply.read().decode())


def test_a_request_goes_on_with_the_key_and_at_temperature_0(server: Any) -> None:
    with Gate(server[0], "secret", 5) as gate:
        assert json.loads(ask(gate)) == {"choices": [{"message": {"content": "Hello"}}]}
    assert server[1] == [("Bearer secret", {"messages": [], "stream": False, "temperature": 0})]


def test_replies_are_remembered_whole_or_streamed(server: Any) -> None:
    with Gate(server[0], "secret", 5) as gate:
        assert "[DONE]" in ask(gate, stream=True)
        ask(gate)
    assert (gate.replies, gate.steps, gate.spent) == (["Hello", "Hello"], 2, False)


def test_no_more_than_the_allowed_steps_reach_the_model(server: Any) -> None:
    with Gate(server[0], "secret", 1) as gate:
        ask(gate)
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(gate)
        refused.value.close()
    assert (gate.spent, gate.steps, len(server[1])) == (True, 1, 1)


def test_a_stream_that_was_broken_off_has_said_what_came() -> None:
    assert said(EVENTS.encode()[:-20]) == "Hel"
    assert said(b"") == ""


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        (["THOUGHT: It is 6.\n\n```mswea_bash_command\necho DONE\n```"], "It is 6."),
        (["There are 6.", "```complete\n```"], "There are 6."),
        (["Look.", "```complete\nThere are 6.\n```"], "There are 6."),
        (["It prints\n```\n6\n```"], "It prints\n```\n6\n```"),
        (["```shell\nls"], ""),
        ([], ""),
    ],
)
def test_the_last_words_of_an_agent_are_no_actions(replies: list[str], words: str) -> None:
    gate = Gate("http://127.0.0.1:9/v1", "", 1)
    gate.replies += replies
    with gate:
        assert last_words(gate) == words
