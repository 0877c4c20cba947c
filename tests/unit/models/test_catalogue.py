import re

import pytest

from hermes.config.sections import Settings
from hermes.models.catalog.catalogue import (
    UNNAMED,
    _tables,
    address,
    families,
    key_of,
    known_models,
    known_provider,
    known_providers,
    model_of,
    models,
    provider,
    providers,
    search,
)
from hermes.models.settings import OwnModel, OwnProvider, ProviderSettings
from hermes.types.error import ConfigError
from hermes.types.request import CUSTOM


def test_a_dated_name_is_known_as_the_undated_one() -> None:
    dated = model_of("anthropic", "claude-sonnet-4-5-20250929", models())
    assert (dated.id, dated.window, dated.price) == (
        "claude-sonnet-4-5-20250929",
        200_000,
        models()["anthropic/claude-sonnet-4-5"].price,
    )
    assert model_of("openai", "gpt-5-2025-08-07", models()).price == models()["openai/gpt-5"].price
    assert model_of("zai", "GLM-5", models()).price == models()["zai/glm-5"].price


def test_of_an_unknown_model_nothing_is_claimed() -> None:
    found = model_of("openrouter", "nobody/knows", models())
    assert (found.name, found.window, found.max_output, found.price) == (
        "openrouter/nobody/knows",
        0,
        0,
        None,
    )


def test_no_table_speaks_of_the_provider_and_the_model_that_nobody_named() -> None:
    known = {*providers(), *(model.provider for model in models().values())}
    aliases = {alias for one in providers().values() for alias in one.aliases}
    assert CUSTOM not in known | aliases | {*_tables()["provider"]}
    assert [one.pattern for one in families() if re.search(one.pattern, UNNAMED)] == []


def test_what_the_user_tells_of_an_address_is_known() -> None:
    told = ProviderSettings(
        providers={CUSTOM: OwnProvider(base_url="http://127.0.0.1:1/v1", api_key_env="MINE")},
        models={"custom/m": OwnModel(context_window=9000), "openai/gpt-5": OwnModel(context_window=7)},
    )
    settings = Settings((told,))
    assert known_models(settings, of=CUSTOM)["custom/m"].window == 9000
    found = known_provider(CUSTOM, settings)
    assert found is not None
    assert (found.keys, known_provider(CUSTOM, Settings())) == (("MINE",), None)
    assert known_provider("openai", Settings()) == providers()["openai"]


def test_addresses_take_variables_of_the_environment() -> None:
    assert address(provider("aws"), {}) == "https://bedrock-runtime.us-east-1.amazonaws.com"
    assert (
        address(provider("aws"), {"AWS_REGION": "eu-west-1"})
        == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    )
    assert (
        address(provider("aws"), {"AWS_DEFAULT_REGION": "eu-west-2"})
        == "https://bedrock-runtime.eu-west-2.amazonaws.com"
    )
    assert (
        address(provider("novita"), {"NOVITA_BASE_URL": "http://127.0.0.1:1/v1"}) == "http://127.0.0.1:1/v1"
    )
    with pytest.raises(
        ConfigError, match="vertex has no address yet: set GOOGLE_CLOUD_PROJECT in the environment"
    ):
        address(provider("vertex"), {})


def test_the_first_key_variable_that_is_set_counts() -> None:
    environ = {"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "g"}
    assert (key_of(provider("gemini"), environ), key_of(provider("gemini"), {})) == (
        ("GEMINI_API_KEY", "g"),
        ("", ""),
    )


def test_the_address_of_gemini_may_be_given() -> None:
    assert address(provider("gemini"), {"GEMINI_BASE_URL": "http://here/v1"}) == "http://here/v1"
    assert address(provider("gemini"), {}).startswith("https://generativelanguage.googleapis.com/")


def test_the_users_providers_change_known_ones_and_add_to_them() -> None:
    settings = Settings(
        (
            ProviderSettings(
                providers={
                    "moonshot": OwnProvider(base_url="http://127.0.0.1:1/v1"),
                    "new": OwnProvider(base_url="http://127.0.0.1:2/v1"),
                }
            ),
        )
    )
    known = known_providers(settings)
    assert set(known) - set(providers()) == {"new"}
    assert (known["kimi-coding"].base_url, known["kimi-coding"].keys) == (
        "http://127.0.0.1:1/v1",
        providers()["kimi-coding"].keys,
    )
    assert (known["new"].keyless, known["new"].own) == (True, True)


def test_a_command_for_a_key_is_words_or_a_line() -> None:
    line = known_providers(
        Settings(
            (
                ProviderSettings(
                    providers={"vertex": OwnProvider(api_key_command="gcloud auth print-access-token")}
                ),
            )
        )
    )
    words = known_providers(
        Settings(
            (
                ProviderSettings(
                    providers={
                        "vertex": OwnProvider(api_key_command=["gcloud", "auth", "print-access-token"])
                    }
                ),
            )
        )
    )
    assert (
        line["vertex"].key_command == words["vertex"].key_command == ("gcloud", "auth", "print-access-token")
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            Settings((ProviderSettings(models={"gpt-5": OwnModel(context_window=1)}),)),
            "models: 'gpt-5' names no provider; write provider/gpt-5",
        ),
        (
            Settings((ProviderSettings(custom_providers=[OwnProvider(base_url="http://h")]),)),
            "An entry of custom_providers has no name",
        ),
    ],
)
def test_what_the_users_tables_lack_is_told(settings: Settings, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        _ = (known_providers(settings), known_models(settings))


def test_a_search_takes_words_in_any_order_and_gives_the_plainest_name_first() -> None:
    found = [one.name for one in search(["sonnet", "CLAUDE"], models().values())]
    assert found[0] == "anthropic/claude-sonnet-5"
    assert "openrouter/anthropic/claude-sonnet-4.5" in found
    assert search(["no such thing"], models().values()) == []
