import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("kind", ["folder", "dangling link", "pipe"])
def test_what_is_no_file_is_no_state(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"tiny-aa-{'0' * 16}.state"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")
    states = States(tmp_path, "tiny")
    assert states.find("aa") == ""
    states.keep(saved(states, "half", b"state"), "aa", 5)
    assert (tmp_path / states.find("aa")).read_bytes() == b"state"


def test_a_state_that_another_process_has_removed_is_none(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    states.keep("half", "aa", 5)
    assert (states.find("aa"), list(tmp_path.iterdir())) == ("", [])


def test_processes_that_keep_states_in_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")

    def work(number: int) -> None:
        for turn in range(60):
            digest = f"d{(turn + number) % 7}"
            if not states.find(digest):
                states.keep(saved(states, f"half{number}-{turn}", b"state"), digest, 5)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4


def test_halves_of_processes_that_were_killed_go_away_after_an_hour(tmp_path: Path) -> None:
    states = States(tmp_path, "tiny")
    half = saved(states, f"{'a' * 16}.{'0' * 8}", b"state")
    old, young = (saved(states, f"{'b' * 16}.{number * 8}", b"sta") for number in "12")
    written = (tmp_path / half).stat().st_mtime
    os.utime(tmp_path / old, (written - 3601, written - 3601))
    os.utime(tmp_path / young, (written - 3599, written - 3599))
    states.keep(half, "a" * 16, 5)
    assert {one.name for one in tmp_path.iterdir()} == {states.find("a" * 16), young}
