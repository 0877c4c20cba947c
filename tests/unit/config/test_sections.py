"""Sections of the settings belong to the packages that read them."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from hermes.apps.settings import Settings, known_keys
from hermes.config.sections import section
from hermes.environments.settings import TerminalSettings
from hermes.models.settings import ModelSettings

SOURCES = Path(__file__).parents[3] / "src"


def sections_of(module: ast.Module) -> Iterator[str]:
    """The classes that a module registers as sections."""
    for one in ast.walk(module):
        if isinstance(one, ast.ClassDef):
            made = [mark.func for mark in one.decorator_list if isinstance(mark, ast.Call)]
            yield from (one.name for func in made if isinstance(func, ast.Name) and func.id == "section")


def keys_after(*modules: str) -> list[str]:
    """The keys that a new program knows once it has imported these."""
    words = f"import json, {', '.join(modules)}, hermes.config.sections as s; print(json.dumps([one.key for one in s.known_keys()]))"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_the_command_line_knows_the_keys_of_every_section_that_any_module_registers() -> None:
    modules = [
        ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for path in sorted(SOURCES.rglob("*.py"))
        if any(sections_of(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert len(modules) > 10
    assert keys_after("hermes.apps.cli.config") == keys_after(*modules)


def test_a_section_is_found_by_its_class_and_has_its_defaults_when_it_was_not_given() -> None:
    settings = Settings((TerminalSettings(backend="ssh"),))
    assert (settings[TerminalSettings].backend, settings[ModelSettings]) == ("ssh", ModelSettings())
    changed = settings.replace(TerminalSettings(backend="docker"))
    assert (changed[TerminalSettings].backend, settings[TerminalSettings].backend) == ("docker", "ssh")


def test_two_sections_cannot_have_one_key() -> None:
    class Mine(Struct, frozen=True):
        toolsets: tuple[str, ...] = ()

    before = [one.key for one in known_keys()]
    for name, said in (("terminal", "TerminalSettings has terminal"), ("", "ToolsetSettings has toolsets")):
        with pytest.raises(ValueError, match=f"Mine: {said} already"):
            section(name)(Mine)
    assert [one.key for one in known_keys()] == before


def test_a_section_called_like_a_key_at_the_top_is_refused() -> None:
    class Other(Struct, frozen=True):
        size: int = 0

    with pytest.raises(ValueError, match="ProviderSettings has providers already"):
        section("providers")(Other)
