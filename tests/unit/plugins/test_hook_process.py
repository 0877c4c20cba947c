"""What a program of a hook is given to read, and what is told of one that cannot be started."""

import json

import pytest

from hermes.plugins.hook_process import HookProgram, HookRun, as_json


def test_half_a_letter_stops_no_program_from_reading_the_rest() -> None:
    told = {"content": "a\ud800", "path": "é"}
    assert json.loads(as_json(told)) == told


@pytest.mark.anyio
async def test_a_command_with_a_zero_byte_is_one_that_cannot_be_started() -> None:
    ran = await HookProgram(argv=["sh", "-c", "a\0b"], environ={}, seconds=5).run({})
    assert ran == HookRun(code=127, errors="it cannot be started: embedded null byte")
