"""Which models a side task may ask, and in which order."""

import msgspec
import pytest

from hermes.config.settings import Settings
from hermes.models.auxiliary import Task
from hermes.models.chains import errand
from hermes.models.endpoint import resolve
from hermes.types.request import Endpoint

KEYS = {"OPENROUTER_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "DEEPSEEK_API_KEY": "d"}
OWN = Endpoint(provider="custom", base_url="http://h/v1", model="m")


def chain(task: Task, main: Endpoint, environ: dict[str, str], **auxiliary: object) -> list[str]:
    settings = msgspec.convert({"auxiliary": {task: auxiliary} if auxiliary else {}}, Settings)
    return [one.provider for one in errand(task, main, settings, environ).chain]


def test_a_summary_asks_the_session_s_model_and_then_every_provider_that_has_a_key() -> None:
    assert chain("compression", OWN, KEYS) == ["custom", "openrouter", "anthropic", "deepseek"]
    assert chain("compression", OWN, {}) == ["custom"]


def test_a_title_is_asked_of_small_models_only() -> None:
    assert chain("title", OWN, {}) == []
    main = resolve(Settings(), KEYS, model="anthropic/claude-opus-4-8")
    found = errand("title", main, Settings(), KEYS)
    assert (found.chain[0].provider, found.chain[0].model[:12]) == ("anthropic", "claude-haiku")
    assert found.max_output == 200


def test_what_the_user_set_comes_first_and_the_session_s_model_after_it() -> None:
    assert chain("vision", OWN, KEYS, provider="openrouter", model="x/y", timeout=5.0) == ["openrouter", "custom"]
    assert chain("compression", OWN, KEYS, base_url="http://127.0.0.1:9/v1", model="tiny") == ["custom", "custom"]


def test_time_and_length_are_the_task_s() -> None:
    settings = msgspec.convert({"auxiliary": {"compression": {"timeout": 7.0, "max_output": 99}}}, Settings)
    found = errand("compression", OWN, settings, {})
    assert (found.seconds, found.max_output) == (7.0, 99)


@pytest.mark.parametrize("task", ["compression", "title", "web_extract", "vision", "approval", "search_summary"])
def test_every_task_has_a_chain_that_works_for_a_hosted_model(task: Task) -> None:
    main = resolve(Settings(), KEYS, model="openrouter/anthropic/claude-sonnet-5")
    found = errand(task, main, Settings(), KEYS)
    assert found.chain
    assert all(one.credential for one in found.chain)
