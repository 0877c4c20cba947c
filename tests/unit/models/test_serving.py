"""A local model that cannot be served is told of in a sentence, wherever its states were to be kept."""

import struct
from pathlib import Path

import pytest

from hermes.models.local.serving import LocalServer
from hermes.types.error import ConfigError

pytestmark = pytest.mark.anyio


async def test_a_damaged_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    behind_the_end = struct.pack("<Q3sIIQ", 3, b"a.b", 9, 12, 2**61)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + behind_the_end)
    with pytest.raises(ConfigError, match=r"x\.gguf cannot be loaded as a GGUF model: "):
        await LocalServer.start(path)


async def test_where_no_state_can_be_kept_a_model_is_started_all_the_same(tmp_path: Path) -> None:
    path, states = tmp_path / "x.gguf", tmp_path / "states"
    path.write_bytes(b"GGUF")
    states.write_text("no folder")
    with pytest.raises(ConfigError, match=r"x\.gguf cannot be loaded as a GGUF model: "):
        await LocalServer.start(path, states=states)
