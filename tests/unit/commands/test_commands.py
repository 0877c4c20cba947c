"""Slash commands: the table, the handlers, and what a person is told."""

import pytest

from hermes.commands.catalogue import commands, find, names
from hermes.commands.model import ModelArgs, read_wish
from hermes.commands.run import HANDLERS, is_command, kept
from hermes.types.error import HermesError


def test_every_command_has_a_handler_and_every_handler_a_command() -> None:
    assert {command.name for command in commands()} == set(HANDLERS)


def test_the_commands_that_were_promised_are_there() -> None:
    promised = [
        "help",
        "new",
        "resume",
        "model",
        "tools",
        "usage",
        "steer",
        "queue",
        "stop",
        "retry",
        "undo",
        "title",
        "quit",
    ]
    assert [name for name in promised if find(name) is None] == []


def test_names_and_aliases_are_used_once() -> None:
    assert sorted(names()) == sorted(set(names()))


@pytest.mark.parametrize(
    ("word", "name"),
    [("help", "help"), ("q", "queue"), ("exit", "quit"), ("mod", "model"), ("HELP", "help"), ("t", None)],
)
def test_a_command_is_found_by_name_alias_or_unmistakable_beginning(word: str, name: str | None) -> None:
    found = find(word)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/help", True),
        ("/title My work", True),
        ("/etc/hosts is odd", False),
        ("/", False),
        ("see /help", False),
        ("", False),
        ("/usr", True),
    ],
)
def test_a_path_is_not_a_command(text: str, meant: bool) -> None:
    assert is_command(text) is meant


@pytest.mark.parametrize(
    ("argument", "wish"),
    [
        ("gpt-9", ModelArgs(model="gpt-9")),
        ("gpt-9 http://h:1/v1", ModelArgs(model="gpt-9", base_url="http://h:1/v1")),
        ("gpt-9 http://h:1/v1 sk-1", ModelArgs(model="gpt-9", base_url="http://h:1/v1", key="sk-1")),
        ("http://h:1/v1", ModelArgs(base_url="http://h:1/v1")),
        ("http://h:1/v1 gpt-9 sk-1", ModelArgs(model="gpt-9", base_url="http://h:1/v1", key="sk-1")),
    ],
)
def test_a_model_is_named_with_address_and_key(argument: str, wish: ModelArgs) -> None:
    assert read_wish(argument) == wish


def test_too_many_words_for_a_model_are_refused() -> None:
    with pytest.raises(HermesError, match="a name, an address and a key"):
        read_wish("a b c")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("/model m http://h/v1 sk-secret", "/model m http://h/v1"),
        ("/model http://h/v1 m sk-secret", "/model http://h/v1 m"),
        ("/mod m http://h/v1 sk-secret more words", "/mod m http://h/v1"),
        ("/model m", "/model m"),
        ("/title http://h is down", "/title http://h is down"),
        ("look at http://h m", "look at http://h m"),
    ],
)
def test_a_typed_key_is_kept_neither_on_the_screen_nor_in_the_history(typed: str, shown: str) -> None:
    assert kept(typed) == shown
