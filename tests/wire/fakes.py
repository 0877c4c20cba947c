"""A model server that others wrote, started once for all tests that talk to it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = (
    Path(__file__).parents[2]
    / ".venv"
    / "fakes"
    / "node_modules"
    / "@copilotkit"
    / "aimock"
    / "dist"
    / "cli.js"
)
FIXTURES = {
    "fixtures": [
        {"match": {"userMessage": "weather", "hasToolResult": False}, "response": {"toolCalls": [{"name": "get_weather", "arguments": '{"city":"Paris"}'}]}},
        {"match": {"userMessage": "weather", "hasToolResult": True}, "response": {"content": "It is 21 degrees."}},
        {"match": {"userMessage": "hurry"}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
    ]
}  # fmt: skip


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server; it answers words about the weather with a call, and its result with a sentence."""
    node = shutil.which("node")
    assert node is not None, "node is needed; install it (Debian: apt install nodejs npm)"
    assert PROGRAM.exists(), "another maker's model server is not installed; run scripts/fakes"
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps(FIXTURES), encoding="utf-8")
    command = [node, str(PROGRAM), "-p", "0", "-f", str(fixtures)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            yield _address(server)
        finally:
            server.terminate()
            server.communicate(timeout=10)


def _address(server: "subprocess.Popen[str]") -> str:
    said = ""
    for line in server.stdout or ():
        said += line
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", line)
        if found:
            return found.group(1)
    raise AssertionError(f"the server did not start: {said}")
