"""How much a model takes in: as servers list it, as overflows state it, remembered."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.models.catalog.context_limits import ContextLimits, windows_in
from hermes.types.request import Endpoint

pytestmark = pytest.mark.anyio

HERE = Endpoint(provider="custom", base_url="http://h/v1", model="m", credential="key")


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"data": [{"id": "m", "max_model_len": 8192}]}, {"m": 8192}),
        ({"data": [{"id": "m", "context_length": 131072, "top_provider": {"context_length": 32768}}]}, {"m": 131072}),
        ({"data": [{"id": "other.gguf", "meta": {"n_ctx_train": 32768, "n_ctx": 4096}}]}, {"other.gguf": 4096, "m": 4096}),
        ({"models": [{"name": "models/gemini", "inputTokenLimit": 1048576}, {"name": "models/x", "inputTokenLimit": 1000}]}, {"gemini": 1048576, "x": 1000}),
        ({"data": [{"id": "m", "max_context_length": 32768, "loaded_context_length": 4096}]}, {"m": 4096}),
        ({"data": [{"id": "m"}]}, {}),
        ({"data": [{"id": "m", "context_length": "long"}, {"id": "n", "context_length": True}]}, {}),
        ({"error": "no"}, {}),
        ([], {}),
        (None, {}),
    ],
)  # fmt: skip
def test_lists_of_all_servers_are_read(tree: Any, found: dict[str, int]) -> None:
    assert windows_in(tree, asked="m") == found


def serving(answer: httpx2.Response | Exception) -> tuple[httpx2.AsyncClient, list[httpx2.Request]]:
    asked: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return httpx2.AsyncClient(transport=httpx2.MockTransport(handle)), asked


async def test_a_server_is_asked_once_and_its_answer_outlives_the_process(tmp_path: Path) -> None:
    http, asked = serving(
        httpx2.Response(
            200, json={"data": [{"id": "m", "max_model_len": 8192}, {"id": "n", "max_model_len": 4096}]}
        )
    )
    windows = ContextLimits(tmp_path / "w.json", http)
    assert [await windows.ask(HERE) for _ in range(3)] == [8192] * 3
    assert [(str(one.url), one.headers["authorization"]) for one in asked] == [
        ("http://h/v1/models", "Bearer key")
    ]
    assert ContextLimits(tmp_path / "w.json", http).of(HERE) == 8192
    assert "key" not in (tmp_path / "w.json").read_text().replace("keys", "")


async def test_what_an_overflow_states_wins_over_a_longer_list(tmp_path: Path) -> None:
    http, _ = serving(httpx2.Response(200, json={"data": [{"id": "m", "max_model_len": 8192}]}))
    windows = ContextLimits(tmp_path / "w.json", http)
    await windows.ask(HERE)
    windows.learn(HERE, 4096)
    windows.learn(HERE, 6000)
    windows.learn(HERE, 3)
    assert windows.of(HERE) == 4096


@pytest.mark.parametrize(
    "answer", [httpx2.Response(404), httpx2.Response(200, text="<html>"), httpx2.ConnectError("no")], ids=repr
)
async def test_a_server_that_does_not_say_is_no_error(
    tmp_path: Path, answer: httpx2.Response | Exception
) -> None:
    http, _ = serving(answer)
    assert await ContextLimits(tmp_path / "w.json", http).ask(HERE) == 0


async def test_a_broken_file_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text("{broken")
    http, _ = serving(httpx2.Response(404))
    windows = ContextLimits(tmp_path / "w.json", http)
    windows.learn(HERE, 4096)
    assert json.loads((tmp_path / "w.json").read_text()) == {"http://h/v1 m": 4096}
