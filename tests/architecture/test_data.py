import re
import tomllib
from pathlib import Path

import pytest

from hermes.environments.child_env import groups
from hermes.models.catalog.catalogue import families, models, profile_of, provider, providers
from hermes.models.local import catalogue
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.toolsets import bundled, resolve
from hermes.types.tool import ToolManifest

DATA = Path(__file__).parents[2] / "src" / "hermes" / "data"


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.toml")), ids=lambda path: path.name)
def test_every_table_is_toml(path: Path) -> None:
    assert tomllib.loads(path.read_text())


def test_every_toolset_resolves() -> None:
    empty = ToolRegistry()
    assert {name for name in bundled() if not resolve(name, empty)} == set()


def test_every_builtin_tool_is_in_a_toolset_and_declares_what_it_does() -> None:
    assert len(discover_builtin_tools()) == len(list((DATA.parent / "tools" / "builtin").glob("[a-z]*.py")))
    offered = resolve("hermes-cli", registry)
    builtin = {name: one for name, one in registry.entries().items() if one.source == "built-in"}
    assert builtin.keys() - offered == set()
    assert [name for name, one in builtin.items() if one.manifest == ToolManifest()] == []


def test_provider_names_and_aliases_are_unique_and_addresses_are_addresses() -> None:
    names = [name for one in providers().values() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    assert all(
        one.base_url.startswith(("https://", "http://127.0.0.1", "${", "acp://"))
        for one in providers().values()
    )
    assert all(one.keys or one.keyless or one.kind != "api_key" for one in providers().values())
    assert all(
        one.how for one in providers().values() if one.kind in {"external", "aws"} and not one.unsupported
    )


def test_the_promised_providers_are_there() -> None:
    promised = [
        "alibaba",
        "alibaba-coding-plan",
        "anthropic",
        "arcee",
        "azure-foundry",
        "bedrock",
        "copilot",
        "copilot-acp",
        "deepinfra",
        "deepseek",
        "fireworks",
        "gemini",
        "gmi",
        "huggingface",
        "kilocode",
        "kimi-coding",
        "kimi-coding-cn",
        "minimax",
        "minimax-cn",
        "minimax-oauth",
        "nous",
        "novita",
        "nvidia",
        "ollama-cloud",
        "openai-codex",
        "opencode-go",
        "opencode-zen",
        "openrouter",
        "qwen-oauth",
        "stepfun",
        "upstage",
        "vertex",
        "xai",
        "xiaomi",
        "zai",
        "openai",
        "groq",
        "mistral",
        "together",
        "cerebras",
        "lmstudio",
        "ollama",
        "vllm",
        "llamacpp",
        "kimi",
        "moonshot",
        "glm",
        "claude",
        "google",
        "grok",
        "hf",
        "fw",
        "or",
        "codex",
        "qwen",
    ]
    assert [name for name in promised if provider(name).base_url == ""] == []


def test_models_have_providers_windows_and_sensible_prices() -> None:
    assert {one.provider for one in models().values()} - set(providers()) == set()
    assert [one.name for one in models().values() if 0 < one.window < 8000 or one.max_output < 0] == []
    prices = [(one.name, one.price) for one in models().values() if one.price]
    assert len(prices) > 100
    assert [
        name
        for name, price in prices
        if not 0 <= price.input <= price.output <= 200 or (price.cache_read or 0) > price.input
    ] == []
    assert all(
        profile_of(one.family or one.id).family
        for one in models().values()
        if one.provider in {"anthropic", "gemini", "deepseek"}
    )


def test_families_have_windows() -> None:
    assert all(family.window >= 8_000 and family.profile.family for family in families())


def test_local_models_are_whole_entries() -> None:
    assert all(
        len(one.sha256) in {0, 64} and one.size > 100_000_000 and one.sources and one.licence
        for one in catalogue.entries()
    )


def test_the_guide_tells_of_every_group_of_variables_that_passes_or_is_withheld() -> None:
    rows = re.findall(
        r"^\| (.+?) \|", (DATA.parents[2] / "docs" / "guide" / "sandbox.md").read_text(), re.MULTILINE
    )
    assert {one.group for one in groups()} <= set(rows)
