"""What is revoked in the file holds for sessions that run."""

import os
from functools import partial
from pathlib import Path

from hermes.agent.allowlist import Allowlist, stamp_of
from hermes.config import edit

KEY = "command_allowlist"


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    edit.append_to_list(config, KEY, "/w$ echo one")
    known = Allowlist(config, partial(edit.list_items, key=KEY), stamp_of(config))
    assert known.changed() is None
    edit.append_to_list(config, KEY, "/w$ echo two")
    assert known.changed() == ("/w$ echo one", "/w$ echo two")
    assert known.changed() is None
    edit.remove_from_list(config, KEY, "/w$ echo one")
    assert known.changed() == ("/w$ echo two",)
    config.unlink()
    assert known.changed() == ()
    assert known.changed() is None


def test_a_file_that_cannot_be_read_changes_nothing_until_it_can(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"{KEY}: [a]\n")
    known = Allowlist(config, partial(edit.list_items, key=KEY), stamp_of(config))
    config.write_text("{ not yaml")
    assert known.changed() is None
    config.write_text(f"{KEY}: [b]\n")
    os.utime(config, (1, 1))
    assert known.changed() == ("b",)
