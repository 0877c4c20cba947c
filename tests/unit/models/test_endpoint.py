import pytest

from hermes.config.settings import ModelSettings
from hermes.models.endpoint import resolve
from hermes.models.profiles import profile_of, window_of
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

KEYS = {"OPENROUTER_API_KEY": "or-key", "OPENAI_API_KEY": "oa-key"}


def chosen(default: str = "", base_url: str = "", **flags: str) -> Endpoint:
    return resolve(ModelSettings(default=default, base_url=base_url, api_key_env=flags.pop("key", "")), KEYS, **flags)


def test_with_nothing_chosen_it_is_the_built_in_model() -> None:
    found = chosen()
    assert (found.provider, found.model, found.local, found.calls, found.base_url) == ("local", "", True, "constrained", "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "openrouter/z-ai/glm-5"}, ("openrouter", "z-ai/glm-5", "https://openrouter.ai/api/v1", "or-key")),
        ({"model": "or/x"}, ("openrouter", "x", "https://openrouter.ai/api/v1", "or-key")),
        ({"default": "openai/gpt-5"}, ("openai", "gpt-5", "https://api.openai.com/v1", "oa-key")),
        ({"default": "openai/gpt-5", "model": "ollama/qwen3"}, ("ollama", "qwen3", "http://127.0.0.1:11434/v1", "")),
        ({"base_url": "http://127.0.0.1:1/v1"}, ("custom", "default", "http://127.0.0.1:1/v1", "")),
        ({"default": "m", "base_url": "http://127.0.0.1:1/v1"}, ("custom", "m", "http://127.0.0.1:1/v1", "")),
        ({"default": "m", "base_url": "https://h/v1", "key": "OPENAI_API_KEY"}, ("custom", "m", "https://h/v1", "oa-key")),
        (
            {"default": "m", "base_url": "http://127.0.0.1:1/v1", "model": "openai/gpt-5"},
            ("openai", "gpt-5", "https://api.openai.com/v1", "oa-key"),
        ),
        ({"model": "local/qwen"}, ("local", "qwen", "", "")),
        ({"model": "local//models/a.gguf"}, ("local", "/models/a.gguf", "", "")),
        ({"model": "./a.gguf"}, ("local", "./a.gguf", "", "")),
    ],
)
def test_a_choice_leads_to_its_endpoint(options: dict[str, str], expected: tuple[str, str, str, str]) -> None:
    found = chosen(**options)
    assert (found.provider, found.model, found.base_url, found.credential) == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "groq/llama"}, "No key for groq: set GROQ_API_KEY"),
        ({"model": "opnai/x"}, "There is no provider 'opnai'. Did you mean openai?"),
        ({"model": "gpt-5"}, "Model 'gpt-5' names no provider; write provider/name"),
        ({"base_url": "127.0.0.1:80"}, "is not an address; write it like http://127.0.0.1:8080/v1"),
    ],
)
def test_what_cannot_be_had_is_told_in_a_sentence(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace(".", r"\.").replace("(", r"\(").replace("?", r"\?")):
        chosen(**options)


def test_a_key_for_one_company_is_not_sent_to_whatever_address_was_typed() -> None:
    assert chosen(base_url="https://somewhere.example/v1").credential == ""
    assert chosen(base_url="https://api.openai.com/v1").credential == "oa-key"


def test_families_and_windows_come_from_the_table() -> None:
    assert (profile_of("z-ai/glm-5").family, window_of("z-ai/glm-5"), profile_of("nobody-knows").family, window_of("nobody-knows")) == (
        "glm",
        200_000,
        "",
        128_000,
    )
