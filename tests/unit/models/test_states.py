import os
from pathlib import Path

from hermes.models.local.serving import States


def saved(states: States, half: str, data: bytes) -> str:
    (states.folder / half).write_bytes(data)
    return half


def test_a_kept_state_is_found_by_its_prompt_and_only_by_it(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    states.keep(saved(states, "half", b"state"), "aa", 5)
    name = states.find("aa")
    assert (tmp_path / name).read_bytes() == b"state"
    assert (states.find("bb"), States(tmp_path, "other").find("aa")) == ("", "")


def test_a_damaged_state_is_not_given_and_goes_away(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    states.keep(saved(states, "half", b"state"), "aa", 5)
    (tmp_path / states.find("aa")).write_bytes(b"stat")
    assert (states.find("aa"), list(tmp_path.iterdir())) == ("", [])


def test_a_state_that_was_not_written_whole_is_not_kept(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    states.keep(saved(states, "half", b"sta"), "aa", 5)
    assert list(tmp_path.iterdir()) == []


def test_only_the_latest_few_stay(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    for number in range(5):
        states.keep(saved(states, "half", b"state"), f"d{number}", 5)
        os.utime(tmp_path / states.find(f"d{number}"), (number, number))
    assert [bool(states.find(f"d{number}")) for number in range(5)] == [False, False, True, True, True]
