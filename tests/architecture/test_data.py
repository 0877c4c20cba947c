import tomllib
from pathlib import Path

import pytest

from hermes.models.catalogue import providers
from hermes.models.local import catalogue
from hermes.models.profiles import families
from hermes.tools.discovery import discover_builtin_tools
from hermes.tools.policy import policies
from hermes.tools.registry import ToolRegistry, registry
from hermes.tools.toolsets import bundled, resolve

DATA = Path(__file__).parents[2] / "src" / "hermes" / "data"


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.toml")), ids=lambda path: path.name)
def test_every_table_is_toml(path: Path) -> None:
    assert tomllib.loads(path.read_text())


def test_every_toolset_resolves() -> None:
    empty = ToolRegistry()
    assert {name for name in bundled() if not resolve(name, empty)} == set()


def test_every_builtin_tool_is_in_a_toolset_and_has_a_policy() -> None:
    assert discover_builtin_tools() == ()
    offered = resolve("hermes-cli", registry)
    builtin = {name for name, entry in registry.entries().items() if getattr(entry.handler, "__module__", "").startswith("hermes.")}
    assert builtin - offered == set()
    assert builtin - policies().keys() == set()


def test_provider_names_and_aliases_are_unique_and_addresses_are_addresses() -> None:
    names = [name for one in providers().values() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    assert all(one.base_url.startswith(("https://", "http://127.0.0.1")) for one in providers().values())
    assert all(one.keys or one.keyless for one in providers().values())


def test_families_have_windows() -> None:
    assert all(family.window >= 8_000 and family.profile.family for family in families())


def test_local_models_are_whole_entries() -> None:
    assert all(len(one.sha256) == 64 and one.size > 100_000_000 and one.sources and one.licence for one in catalogue.entries())
