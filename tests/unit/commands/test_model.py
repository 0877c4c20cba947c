"""`/model` with names that are not whole."""

from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from hermes.commands.model import ModelArgs, model, understood
from hermes.commands.model_choices import chosen_endpoint
from hermes.models.catalog.catalogue import models
from hermes.runtime import open_runtime
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint


class Person:
    """A conversation that knows whole names alone and notes what it was asked for."""

    def __init__(self, endpoint: Endpoint | None = None) -> None:
        self.session = SimpleNamespace(endpoint=endpoint, context_tokens=0, busy=False) if endpoint else None
        self.asked: list[tuple[str, str, str]] = []

    def tell(self, text: str) -> None:
        """Nobody looks."""

    async def use_model(self, name: str, base_url: str, key: str) -> None:
        self.asked.append((name, base_url, key))
        if not base_url and not name.startswith(("openai/", "mistral/")):
            raise ConfigError(f"Model {name!r} names no provider.")


async def say(words: str, endpoint: Endpoint | None = None) -> list[tuple[str, str, str]]:
    person: Any = Person(endpoint)
    await model(person, words)
    asked: list[tuple[str, str, str]] = person.asked
    return asked


def test_a_part_of_a_name_means_the_models_that_have_it() -> None:
    assert understood("opus-4-8", models(), "anthropic") == ["anthropic/claude-opus-4-8"]
    assert understood("haiku-5", models(), "openrouter") == [
        "openrouter/anthropic/claude-haiku-4.5",
        "openrouter/anthropic/claude-haiku-5.5",
    ]
    assert understood("codestral", models(), "") == ["mistral/codestral-2508"]


def test_a_misspelt_name_means_the_nearest() -> None:
    assert understood("gpt-5-mnii", models(), "")[0] == "openai/gpt-5-mini"
    assert understood("zzzzzz", models(), "") == []


@pytest.mark.anyio
async def test_a_name_that_can_only_mean_one_model_is_taken() -> None:
    assert await say("codestral") == [("codestral", "", ""), ("mistral/codestral-2508", "", "")]
    assert await say("openai/x") == [("openai/x", "", "")]


@pytest.mark.anyio
async def test_a_name_that_may_mean_several_is_answered_with_them() -> None:
    with pytest.raises(
        ConfigError, match="sonnet may be `anthropic/claude-sonnet-5`, .*; write one of them."
    ):
        await say("sonnet")


@pytest.mark.anyio
async def test_a_name_that_means_nothing_keeps_its_own_sentence() -> None:
    with pytest.raises(ConfigError, match="Model 'zzzzzz' names no provider"):
        await say("zzzzzz")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["other", "org/other"])
async def test_beside_ones_own_server_a_name_that_is_no_provider_s_is_one_of_its_models(name: str) -> None:
    own = Endpoint(provider="custom", base_url="http://127.0.0.1:9/v1", model="mine")
    assert (await say(name, own))[-1] == (name, "http://127.0.0.1:9/v1", "")
    assert await say("openai/x", own) == [("openai/x", "", "")]


async def wished(environ: dict[str, str], name: str, answer: httpx2.Response) -> str:
    """The model that is used for a name, where one's own server answers so to the question for its models."""
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer))
    async with open_runtime(environ=environ, http=http) as runtime:
        wish = ModelArgs(model=name, base_url="http://127.0.0.1:9/v1")
        return (await chosen_endpoint(runtime, wish)).model


SERVED = {"data": [{"id": "qwen3:latest"}, {"id": "llama3.2"}, {"id": "openai/*"}]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("llama3.2", httpx2.Response(200, json=SERVED)),
        ("qwen3", httpx2.Response(200, json=SERVED)),
        ("openai/gpt-9", httpx2.Response(200, json=SERVED)),
        ("nosuch", httpx2.Response(404)),
        ("nosuch", httpx2.Response(200, json={"data": []})),
    ],
)
async def test_a_model_that_ones_own_server_has_or_may_have_is_taken(
    environ: dict[str, str], name: str, answer: httpx2.Response
) -> None:
    assert await wished(environ, name, answer) == name


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lama3.2", "http://127.0.0.1:9/v1 has no model lama3.2; it has llama3.2."),
        ("nosuch", "http://127.0.0.1:9/v1 has no model nosuch; it has qwen3:latest, llama3.2, openai/*."),
    ],
)
async def test_a_model_that_ones_own_server_does_not_have_is_refused_with_those_it_has(
    environ: dict[str, str], name: str, told: str
) -> None:
    with pytest.raises(ConfigError) as fault:
        await wished(environ, name, httpx2.Response(200, json=SERVED))
    assert str(fault.value) == told
