"""Sections of the settings belong to the packages that read them."""

import pytest
from msgspec import Struct

from hermes.apps.settings import Settings, known_keys
from hermes.config.sections import section
from hermes.environments.settings import TerminalSettings
from hermes.models.settings import ModelSettings


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
