"""What is known of the start of a confined command."""

import os

import pytest

from hermes.environments.sandbox.launch import StartSignal


@pytest.mark.parametrize("begins", [False, True])
def test_what_was_known_of_a_start_can_be_asked_when_its_pipe_is_closed(begins: bool) -> None:
    signal = StartSignal()
    signal.give()
    if begins:
        os.read(signal.reader, 1)
    before = signal.begun()
    signal.close()
    assert (before, signal.begun()) == (begins, begins)
