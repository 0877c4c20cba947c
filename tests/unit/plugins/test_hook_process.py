"""What a program of a hook is given to read."""

import json

from hermes.plugins.hook_process import as_json


def test_half_a_letter_stops_no_program_from_reading_the_rest() -> None:
    told = {"content": "a\ud800", "path": "é"}
    assert json.loads(as_json(told)) == told
