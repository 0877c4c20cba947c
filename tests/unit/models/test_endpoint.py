import base64
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.config.sections import Settings
from hermes.models.catalog.catalogue import profile_of, window_of
from hermes.models.catalog.endpoint import fallbacks, resolve, with_credential
from hermes.models.local import catalogue
from hermes.models.settings import (
    Fallback,
    ModelSettings,
    OwnModel,
    OwnProvider,
    PriceSettings,
    ProviderSettings,
)
from hermes.types.error import ConfigError
from hermes.types.profile import Price
from hermes.types.request import Endpoint

KEYS = {"OPENROUTER_API_KEY": "or-key", "OPENAI_API_KEY": "oa-key"}


def chosen(default: str = "", base_url: str = "", **flags: str) -> Endpoint:
    own = ModelSettings(default=default, base_url=base_url, api_key_env=flags.pop("key", ""))
    return resolve(Settings((own,)), KEYS, **flags)


def test_with_nothing_chosen_it_is_the_built_in_model() -> None:
    found = chosen()
    told = (found.full_name, found.local, found.calls, found.base_url)
    assert told == (f"local/{catalogue.default().alias}", True, "constrained", "")


def test_the_window_of_a_model_of_this_machine_is_not_known_before_it_runs() -> None:
    asleep, elsewhere = chosen(), chosen("m", "http://127.0.0.1:1/v1")
    running = replace(asleep, base_url="http://127.0.0.1:1/v1", context_window=4096)
    assert (asleep.known_window, running.known_window, elsewhere.known_window) == (
        0,
        4096,
        elsewhere.context_window,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"model": "openrouter/z-ai/glm-5"},
            ("openrouter", "z-ai/glm-5", "https://openrouter.ai/api/v1", "or-key"),
        ),
        ({"model": "or/x"}, ("openrouter", "x", "https://openrouter.ai/api/v1", "or-key")),
        ({"default": "openai/gpt-5"}, ("openai", "gpt-5", "https://api.openai.com/v1", "oa-key")),
        (
            {"default": "openai/gpt-5", "model": "ollama/qwen3"},
            ("ollama", "qwen3", "http://127.0.0.1:11434/v1", ""),
        ),
        ({"base_url": "http://127.0.0.1:1/v1"}, ("custom", "default", "http://127.0.0.1:1/v1", "")),
        ({"default": "m", "base_url": "http://127.0.0.1:1/v1"}, ("custom", "m", "http://127.0.0.1:1/v1", "")),
        (
            {"default": "m", "base_url": "https://h/v1", "key": "OPENAI_API_KEY"},
            ("custom", "m", "https://h/v1", "oa-key"),
        ),
        (
            {"default": "m", "base_url": "http://127.0.0.1:1/v1", "model": "openai/gpt-5"},
            ("openai", "gpt-5", "https://api.openai.com/v1", "oa-key"),
        ),
        ({"model": "local/auto"}, ("local", "auto", "", "")),
        ({"model": "local/"}, ("local", catalogue.default().alias, "", "")),
        ({"default": "local"}, ("local", catalogue.default().alias, "", "")),
    ],
)
def test_a_choice_leads_to_its_endpoint(options: dict[str, str], expected: tuple[str, str, str, str]) -> None:
    found = chosen(**options)
    assert (found.provider, found.model, found.base_url, found.credential) == expected


def test_a_file_is_a_model_of_this_machine_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.touch()
    assert [chosen(model=name).model for name in (str(file), f"local/{file}")] == [str(file)] * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "local/nope"}, "There is no local model 'nope': it is neither a file nor one of "),
        ({"default": "local/nope"}, "There is no local model 'nope'"),
        ({"model": "./none.gguf"}, "There is no local model './none.gguf'"),
        ({"model": "groq/llama"}, "No key for groq: set GROQ_API_KEY"),
        ({"model": "opnai/x"}, "There is no provider 'opnai'. Did you mean openai?"),
        ({"model": "gpt-55"}, "Model 'gpt-55' names no provider; write provider/name"),
        ({"model": "copilot-acp/x"}, "copilot-acp runs a program of GitHub's"),
        (
            {"model": "azure/x"},
            "azure-foundry has no address yet: set AZURE_FOUNDRY_BASE_URL in the environment",
        ),
        (
            {"model": "nous/x"},
            "No key for nous: set NOUS_API_KEY in the environment or in .env (hermes config set NOUS_API_KEY KEY), or sign in with: hermes auth add nous.",
        ),
        ({"model": "meta-llama/x"}, "There is no provider 'meta-llama'"),
        ({"model": "gpt-oss-120b"}, "No key for cerebras"),
        (
            {"model": "moonshotai/Kimi-K3"},
            "Model 'moonshotai/Kimi-K3' is served by several providers; write together/moonshotai/Kimi-K3 or openrouter/moonshotai/kimi-k3.",
        ),
        ({"base_url": "127.0.0.1:80"}, "is not an address; write it like http://127.0.0.1:8080/v1"),
    ],
)
def test_what_cannot_be_had_is_told_in_a_sentence(options: dict[str, str], words: str) -> None:
    with pytest.raises(
        ConfigError,
        match=words.replace(".", r"\.").replace("(", r"\(").replace("?", r"\?").replace(")", r"\)"),
    ):
        chosen(**options)


def test_a_key_for_one_company_is_not_sent_to_whatever_address_was_typed() -> None:
    assert chosen(base_url="https://somewhere.example/v1").credential == ""
    assert chosen(base_url="https://api.openai.com/v1").credential == "oa-key"


def test_families_and_windows_come_from_the_table() -> None:
    assert (
        profile_of("z-ai/glm-5").family,
        window_of("z-ai/glm-5"),
        profile_of("nobody-knows").family,
        window_of("nobody-knows"),
    ) == (
        "glm",
        200_000,
        "",
        128_000,
    )


@pytest.mark.parametrize(
    ("model", "base_url", "protocol"),
    [
        ("anthropic/claude-x", "", "anthropic_messages"),
        ("m", "https://api.anthropic.com", "anthropic_messages"),
        ("m", "https://proxy.example/anthropic", "anthropic_messages"),
        ("m", "https://proxy.example/anthropic/", "anthropic_messages"),
        ("m", "https://proxy.example/anthropic/chat", "chat_completions"),
        ("bedrock/m", "", "bedrock_converse"),
        ("m", "https://bedrock-runtime.eu-west-1.amazonaws.com", "bedrock_converse"),
        ("m", "https://bedrock.eu-west-1.amazonaws.com", "chat_completions"),
        ("m", "https://proxy.example/backend-api/codex", "codex_responses"),
        ("openai/gpt-5.2", "", "codex_responses"),
        ("openai/gpt-4.1", "", "chat_completions"),
        ("gpt-5", "https://proxy.example/v1", "chat_completions"),
        ("openrouter/openai/gpt-5", "", "chat_completions"),
        ("minimax/MiniMax-M3", "", "anthropic_messages"),
        ("xai/grok-4", "", "codex_responses"),
    ],
)
def test_the_wire_is_found_by_provider_and_address(model: str, base_url: str, protocol: str) -> None:
    keys = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "MINIMAX_API_KEY", "XAI_API_KEY"), "k"
    )
    assert resolve(Settings(), keys, model=model, base_url=base_url).protocol == protocol


def test_the_users_word_on_the_wire_wins_for_the_model_of_the_settings_alone() -> None:
    settings = Settings((ModelSettings(default="openai/gpt-5", protocol="chat_completions"),))
    assert resolve(settings, KEYS).protocol == "chat_completions"
    assert resolve(settings, KEYS, model="openai/gpt-5.1").protocol == "codex_responses"


def test_an_endpoint_has_all_that_the_catalogue_knows() -> None:
    found = resolve(Settings(), {"ANTHROPIC_API_KEY": "sk-1"}, model="claude/claude-haiku-4-5-20251001")
    assert (found.provider, found.base_url, found.auth, found.credential) == (
        "anthropic",
        "https://api.anthropic.com",
        "x-api-key",
        "sk-1",
    )
    assert (found.context_window, found.max_output, found.profile.family) == (200_000, 64_000, "claude")
    assert found.price == Price(input=1, output=5, cache_read=0.1, cache_write=1.25)
    assert resolve(Settings(), KEYS, model="or/x").headers["X-Title"] == "Hermes Agent"


def test_a_model_without_provider_is_found_where_only_one_has_it() -> None:
    assert (chosen(model="gpt-5.2").provider, chosen(default="GPT-5.2").model) == ("openai", "gpt-5.2")


def test_a_subscription_token_travels_as_one() -> None:
    found = resolve(
        Settings(), {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"}, model="anthropic/claude-sonnet-5"
    )
    assert (found.auth, found.headers["anthropic-beta"]) == ("bearer", "oauth-2025-04-20")
    back = with_credential(found, "sk-ant-api-x")
    assert (back.auth, with_credential(back, "sk-ant-api-x") is back) == ("x-api-key", True)


def test_a_codex_token_names_its_account() -> None:
    claims = (
        base64.urlsafe_b64encode(
            json.dumps({"https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}}).encode()
        )
        .decode()
        .rstrip("=")
    )
    bare = resolve(Settings(), {}, model="codex/gpt-5.3-codex", stored={"openai-codex"})
    assert (bare.credential, "chatgpt-account-id" in bare.headers, bare.headers["originator"]) == (
        "",
        False,
        "codex_cli_rs",
    )
    assert with_credential(bare, f"h.{claims}.s").headers["chatgpt-account-id"] == "acc-1"
    assert with_credential(bare, "h.%%%.s").headers == bare.headers


def test_an_address_of_a_known_provider_is_that_provider() -> None:
    found = chosen(default="z-ai/glm-5", base_url="https://openrouter.ai/api/v1")
    assert (found.provider, found.credential, found.price is not None) == ("openrouter", "or-key", True)
    bedrock = chosen(base_url="https://bedrock-runtime.eu-west-1.amazonaws.com")
    assert (bedrock.provider, bedrock.auth, bedrock.protocol) == ("bedrock", "aws", "bedrock_converse")
    assert chosen(base_url="https://bucket.s3.amazonaws.com/v1").provider == "custom"
    assert chosen(base_url="https://api.novita.ai/openai/v1").provider == "novita"
    assert chosen(base_url="https://openrouter.ai.evil.example/v1").credential == ""
    assert chosen(base_url="https://evilopenrouter.ai/v1").credential == ""


MINE = Settings(
    (
        ProviderSettings(
            providers={
                "mine": OwnProvider(
                    base_url="http://127.0.0.1:1/v1",
                    protocol="anthropic_messages",
                    api_key_env="MY_KEY",
                    headers={"x-team": "a"},
                    extra_body={"top_k": 1},
                    models={
                        "big": OwnModel(
                            context_window=9000,
                            max_output=100,
                            price=PriceSettings(input=1, output=2),
                            family="claude",
                        )
                    },
                ),
                "openai": OwnProvider(api_key_env="WORK_KEY", headers={"x-team": "b"}),
            },
            custom_providers=[OwnProvider(name="open", base_url="http://127.0.0.1:2/v1", models=["small"])],
            models={"openrouter/z-ai/glm-5": OwnModel(context_window=5000)},
            fallback_providers=[
                "mine/big",
                Fallback(provider="openrouter", model="z-ai/glm-5"),
                Fallback(model="m", base_url="http://127.0.0.1:3/v1", api_key_env="MY_KEY"),
                Fallback(
                    provider="openai",
                    model="gpt-4.1",
                    base_url="https://proxy.example/v1",
                    api_key_env="MY_KEY",
                ),
                "local",
            ],
        ),
    )
)
MY_KEYS = {**KEYS, "MY_KEY": "my-key", "WORK_KEY": "work-key"}


def test_a_provider_of_ones_own_is_as_good_as_a_known_one() -> None:
    assert resolve(MINE, MY_KEYS, model="mine/big") == Endpoint(
        provider="mine",
        base_url="http://127.0.0.1:1/v1",
        model="big",
        protocol="anthropic_messages",
        profile=profile_of("claude"),
        price=Price(input=1, output=2),
        credential="my-key",
        extra_body={"top_k": 1},
        context_window=9000,
        max_output=100,
        headers={"x-team": "a"},
    )
    assert resolve(MINE, MY_KEYS, model="small").base_url == "http://127.0.0.1:2/v1"
    changed = resolve(MINE, MY_KEYS, model="openai/gpt-5")
    assert (changed.credential, changed.headers, changed.base_url) == (
        "work-key",
        {"x-team": "b"},
        "https://api.openai.com/v1",
    )
    assert resolve(MINE, MY_KEYS, model="openrouter/z-ai/glm-5").context_window == 5000


def test_fallbacks_are_endpoints_in_their_order() -> None:
    found = fallbacks(MINE, MY_KEYS)
    assert [(one.provider, one.model, one.base_url, one.credential) for one in found] == [
        ("mine", "big", "http://127.0.0.1:1/v1", "my-key"),
        ("openrouter", "z-ai/glm-5", "https://openrouter.ai/api/v1", "or-key"),
        ("custom", "m", "http://127.0.0.1:3/v1", "my-key"),
        ("openai", "gpt-4.1", "https://proxy.example/v1", "my-key"),
        ("local", catalogue.default().alias, "", ""),
    ]


def test_a_fallback_that_cannot_be_had_is_named() -> None:
    with pytest.raises(ConfigError, match="fallback_providers, entry 1: No key for mine: set MY_KEY"):
        fallbacks(MINE, {})


def test_a_provider_with_a_stored_credential_needs_no_key_in_the_environment() -> None:
    assert resolve(Settings(), {}, model="groq/llama", stored={"groq"}).credential == ""


def test_no_representation_shows_a_key() -> None:
    assert "my-key" not in repr(fallbacks(MINE, MY_KEYS))
