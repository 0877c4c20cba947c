"""What is told of reading the instructions of a model that runs here."""

import json
import subprocess
from pathlib import Path

import httpx2
import pytest

from hermes.models.local.serving import READING, LocalServer

pytestmark = pytest.mark.anyio
OPENING = [{"role": "system", "content": "You answer in a few words."}]


class Engine:
    """What the engine does with states: it saves them as files, and takes them from there."""

    def __init__(self, states: Path) -> None:
        self._states = states

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.params.get("action") != "save":
            return httpx2.Response(200, json={"n_restored": 5})
        half = self._states / _named(request)
        half.write_bytes(b"state")
        return httpx2.Response(200, json={"n_written": 5})


def _named(request: httpx2.Request) -> str:
    return str(json.loads(request.content)["filename"])


async def test_that_they_are_read_is_told_the_first_time_alone(tmp_path: Path) -> None:
    model, states = tmp_path / "small.gguf", tmp_path / "states"
    model.touch()
    states.mkdir()
    asked = {"key": "k", "context_window": 4096, "path": str(model), "states": str(states)}
    told: list[list[str]] = []
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(Engine(states))) as client:
        for _start in range(2):
            process = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            server = LocalServer(process, {"address": "http://127.0.0.1:1/v1", "version": "1"}, asked, ())
            heard: list[str] = []
            await server.prime(OPENING, client, heard.append)
            server.close()
            told.append(heard)
    assert told == [[READING], []]
