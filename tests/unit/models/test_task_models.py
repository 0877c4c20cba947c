"""Which models a side task may ask, and in which order."""

from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from hermes.config.sections import Settings
from hermes.models.catalog.catalogue import providers
from hermes.models.catalog.endpoint import resolve
from hermes.models.settings import AuxiliarySettings
from hermes.models.side_calls import Task, side_task
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

KEYS = {"OPENROUTER_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "DEEPSEEK_API_KEY": "d"}
OWN = Endpoint(provider="custom", base_url="http://h/v1", model="m")


def chain(task: Task, main: Endpoint, environ: dict[str, str], **auxiliary: object) -> list[str]:
    settings = Settings((msgspec.convert(auxiliary, AuxiliarySettings),))
    return [one.provider for one in side_task(task, main, settings, environ).chain]


@pytest.mark.parametrize("task", get_args(Task))
def test_a_key_in_the_environment_chooses_nobody(task: Task) -> None:
    every = {name: "k" for one in providers().values() for name in one.keys}
    settings = Settings()
    main = replace(OWN, profile=replace(OWN.profile, vision=True))
    assert {one.base_url for one in side_task(task, main, settings, every).chain} <= {OWN.base_url}
    hosted = resolve(settings, every, model="anthropic/claude-opus-4-8")
    assert {one.provider for one in side_task(task, hosted, settings, every).chain} == {"anthropic"}


def test_a_small_model_is_asked_only_where_the_session_s_own_address_serves_it() -> None:
    elsewhere = resolve(Settings(), KEYS, model="anthropic/claude-opus-4-8")
    elsewhere = replace(elsewhere, base_url="https://proxy.example.com")
    assert [one.base_url for one in side_task("approval", elsewhere, Settings(), KEYS).chain] == [
        "https://proxy.example.com"
    ]


def test_a_list_of_providers_is_asked_in_its_order_and_the_session_s_own_last() -> None:
    listed = ["openrouter", "nous", "custom", "anthropic"]
    assert chain("compression", OWN, KEYS, chain=listed) == ["openrouter", "anthropic", "custom"]
    assert chain("title", OWN, KEYS, chain=["keys"]) == ["openrouter", "anthropic", "deepseek"]
    assert chain("compression", OWN, KEYS, chain=["main", "deepseek"]) == ["custom", "deepseek"]
    with pytest.raises(ConfigError, match="openruoter"):
        chain("title", OWN, KEYS, chain=["openruoter"])


def test_nous_is_asked_where_it_is_listed_and_has_a_key() -> None:
    keys = {**KEYS, "NOUS_API_KEY": "n"}
    listed = ["openrouter", "nous", "custom", "anthropic"]
    for task in get_args(Task):
        asked = chain(task, OWN, keys, chain=listed)
        assert asked[:3] == ["openrouter", "nous", "anthropic"], task


def test_images_may_have_an_order_of_their_own_which_no_other_task_has() -> None:
    keys = {**KEYS, "NOUS_API_KEY": "n"}
    orders = {"chain": ["anthropic"], "vision_chain": ["main", "openrouter", "nous", "deepseek", "anthropic"]}
    assert chain("vision", OWN, keys, **orders) == ["custom", "openrouter", "nous", "anthropic"]
    blind = replace(OWN, profile=replace(OWN.profile, vision=False))
    assert chain("vision", blind, keys, **orders) == ["openrouter", "nous", "anthropic"]
    assert chain("compression", OWN, keys, **orders) == ["anthropic", "custom"]
    assert chain("vision", OWN, keys, chain=["anthropic"]) == ["anthropic", "custom"]


def test_a_title_is_asked_of_small_models_only() -> None:
    assert chain("title", OWN, {}) == []
    main = resolve(Settings(), KEYS, model="anthropic/claude-opus-4-8")
    found = side_task("title", main, Settings(), KEYS)
    assert [(one.provider, one.model[:12]) for one in found.chain] == [("anthropic", "claude-haiku")]
    assert found.max_output == 200


def test_what_the_user_set_comes_first_and_the_session_s_model_after_it() -> None:
    assert chain("vision", OWN, KEYS, vision={"provider": "openrouter", "model": "x/y", "timeout": 5.0}) == [
        "openrouter",
        "custom",
    ]
    assert chain(
        "compression", OWN, KEYS, compression={"base_url": "http://127.0.0.1:9/v1", "model": "tiny"}
    ) == [
        "custom",
        "custom",
    ]


def test_another_model_of_the_session_s_provider_has_a_window_and_a_price_of_its_own() -> None:
    settings = Settings((msgspec.convert({"compression": {"model": "claude-haiku-4-5"}}, AuxiliarySettings),))
    main = resolve(settings, KEYS, model="anthropic/claude-opus-4-8")
    alone = resolve(settings, KEYS, model="anthropic/claude-haiku-4-5")
    first, last = side_task("compression", main, settings, KEYS).chain
    assert (first, last) == (alone, main)
    assert (main.context_window, main.price) != (alone.context_window, alone.price)
    unknown = {"compression": {"model": "nobody-knows"}}
    own = replace(OWN, context_window=20_000)
    settings = Settings((msgspec.convert(unknown, AuxiliarySettings),))
    assert side_task("compression", own, settings, {}).chain[0] == replace(own, model="nobody-knows")


@pytest.mark.parametrize("name", ["max_tokens", "max_output"])
def test_time_and_length_are_the_task_s(name: str) -> None:
    own = msgspec.convert({"compression": {"timeout": 7.0, name: 99}}, AuxiliarySettings)
    settings = Settings((own,))
    found = side_task("compression", OWN, settings, {})
    assert (found.seconds, found.max_output) == (7.0, 99)


@pytest.mark.parametrize("task", get_args(Task))
def test_every_task_has_a_chain_that_works_for_a_hosted_model(task: Task) -> None:
    main = resolve(Settings(), KEYS, model="openrouter/anthropic/claude-sonnet-5")
    found = side_task(task, main, Settings(), KEYS)
    assert found.chain
    assert all(one.credential for one in found.chain)
