import json
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hermes
from hermes.models.catalog.catalogue import Family, families, profile_of, providers, window_of
from hermes.models.transports.chat.transport import ChatCompletions
from hermes.models.transports.responses.transport import CodexResponses
from hermes.types.message import User
from hermes.types.profile import PLAIN, Profile
from hermes.types.request import Endpoint, Options, Request

TABLES = tomllib.loads((Path(hermes.__file__).parent / "data" / "families.toml").read_text(encoding="utf-8"))
PROVIDERS: dict[str, dict[str, Any]] = TABLES["provider"]
DEPTHS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize("family", families(), ids=lambda family: family.pattern)
def test_every_row_is_whole_and_renders(family: Family) -> None:
    assert re.search(family.pattern, "") is None
    profile = family.profile
    assert (bool(profile.family), family.window >= 32_000) == (True, True)
    assert set(profile.efforts) <= set(DEPTHS)
    assert list(profile.efforts) == sorted(profile.efforts, key=DEPTHS.index)
    assert not (profile.thinking in {"", "toggle", "budget"} and profile.efforts)
    for depth in DEPTHS:
        endpoint = Endpoint(provider="p", base_url="http://h", model="m", profile=profile, max_output=9)
        request = Request(
            endpoint=endpoint,
            system="s",
            messages=(User(id="u", at=0, text="x"),),
            options=Options(effort=depth, temperature=0.1),
        )
        for transport in (ChatCompletions(), CodexResponses()):
            body = json.loads(transport.render(request).body)
            assert not body.keys() & profile.omits
            assert body.get("reasoning_effort", "high") in profile.efforts or profile.efforts == ()


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_row_changes_fields_of_a_known_provider(name: str) -> None:
    row = PROVIDERS[name]
    assert name in providers()
    fields = {field for part in (row, *row.get("family", {}).values()) for field in part if field != "family"}
    assert fields <= set(Profile.__struct_fields__)
    assert row.get("family", {}).keys() <= {family.profile.family for family in families()}
    for family in families():
        changed = profile_of(family.profile.family, name)
        assert msgspec.convert(msgspec.to_builtins(changed), Profile) == changed


def test_no_row_names_a_field_that_does_not_exist() -> None:
    assert {field for row in TABLES["family"] for field in row} <= {
        "pattern",
        "window",
        *Profile.__struct_fields__,
    }


@pytest.mark.parametrize(
    ("model", "family", "window", "thinking", "efforts"),
    [
        ("gpt-5", "gpt", 400_000, "effort", "minimal low medium high"),
        ("openai/gpt-5-mini-2025-08-07", "gpt", 400_000, "effort", "minimal low medium high"),
        ("gpt-5.1", "gpt", 400_000, "effort", "none low medium high"),
        ("gpt-5.2-codex", "gpt", 400_000, "effort", "none low medium high xhigh"),
        ("gpt-5-pro", "gpt", 400_000, "effort", "high"),
        ("gpt-5-chat-latest", "gpt", 128_000, "", ""),
        ("o3", "gpt", 200_000, "effort", "low medium high"),
        ("openai/o4-mini", "gpt", 200_000, "effort", "low medium high"),
        ("gpt-4o", "gpt", 128_000, "", ""),
        ("gpt-4.1-nano", "gpt", 1_047_576, "", ""),
        ("openai/gpt-oss-120b", "gpt-oss", 131_072, "effort", "low medium high"),
        ("claude-3-5-haiku-latest", "claude", 200_000, "", ""),
        ("claude-3-opus-20240229", "claude", 200_000, "", ""),
        ("claude-3-7-sonnet-latest", "claude", 200_000, "budget", ""),
        ("claude-opus-4-20250514", "claude", 200_000, "budget", ""),
        ("anthropic/claude-opus-4", "claude", 200_000, "budget", ""),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude", 200_000, "budget", ""),
        ("claude-haiku-4-5@20251001", "claude", 200_000, "budget", ""),
        ("anthropic/claude-sonnet-4.6", "claude", 1_000_000, "adaptive", "low medium high max"),
        ("claude-opus-4-7", "claude", 1_000_000, "adaptive", "low medium high xhigh max"),
        ("claude-opus-5", "claude", 1_000_000, "adaptive", "low medium high xhigh max"),
        ("google/gemini-2.5-pro", "gemini", 1_048_576, "effort", "none low medium high"),
        ("gemini-3-flash-preview", "gemini", 1_048_576, "effort", "minimal low medium high"),
        ("deepseek-chat", "deepseek", 128_000, "toggle", ""),
        ("moonshotai/Kimi-K2-Thinking", "kimi", 262_144, "", ""),
        ("kimi-k2.6", "kimi", 262_144, "toggle", ""),
        ("glm-4.5v", "glm", 64_000, "toggle", ""),
        ("Qwen/Qwen2.5-0.5B-Instruct", "qwen", 32_768, "", ""),
        ("qwen3-coder", "qwen", 262_144, "", ""),
        ("grok-3-mini", "grok", 131_072, "effort", "low high"),
        ("grok-4-0709", "grok", 256_000, "effort", ""),
        ("grok-code-fast-1", "grok", 256_000, "", ""),
        ("MiniMax-M2", "minimax", 204_800, "toggle", ""),
        ("arcee-ai/trinity-large-thinking", "trinity", 262_144, "", ""),
        ("nobody-knows", "", 128_000, "", ""),
    ],
)
def test_well_known_names_find_their_family(
    model: str, family: str, window: int, thinking: str, efforts: str
) -> None:
    found = profile_of(model)
    assert (found.family, window_of(model), found.thinking, " ".join(found.efforts)) == (
        family,
        window,
        thinking,
        efforts,
    )


def test_what_is_not_known_is_plain() -> None:
    assert profile_of("nobody-knows") is PLAIN


@pytest.mark.parametrize("provider", ["", "openrouter", "nous", "kilocode"])
@pytest.mark.parametrize(
    ("model", "role"),
    [
        ("openai/gpt-5.2", "developer"),
        ("openai/gpt-5-codex", "developer"),
        ("openai/gpt-4.1", "system"),
        ("anthropic/claude-sonnet-4.5", "system"),
    ],
)
def test_gpt_5_and_codex_get_the_prompt_as_the_developers_wherever_they_are(
    provider: str, model: str, role: str
) -> None:
    assert profile_of(model, provider).system_role == role


def test_a_provider_changes_what_it_serves_in_its_own_way() -> None:
    direct, routed = profile_of("gpt-5"), profile_of("openai/gpt-5", "openrouter")
    assert (direct.system_role, direct.limit_name, direct.effort_field) == (
        "developer",
        "max_completion_tokens",
        "reasoning_effort",
    )
    assert (routed.system_role, routed.limit_name, routed.effort_field) == (
        "developer",
        "max_tokens",
        "reasoning.effort",
    )
    marks = {
        name: profile_of("qwen3-max", name).cache_marks for name in ("", "openrouter", "alibaba", "vllm")
    }
    assert marks == {"": False, "openrouter": True, "alibaba": True, "vllm": False}
    assert profile_of("gpt-5-codex", "openai-codex").omits == {"max_output_tokens", "temperature", "top_p"}
    assert {profile_of(model, "llamacpp").dialect for model in ("qwen3", "gpt-oss", "unknown")} == {
        "llama_cpp"
    }
    assert profile_of("kimi-k2", "kimi-coding").dialect == "moonshot"
