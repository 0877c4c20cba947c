import struct
from pathlib import Path

import pytest

from hermes.models.local.catalogue import Download, Wheels, default, entries, find
from hermes.models.local.serving import context_length
from hermes.types.error import ConfigError


def test_every_entry_is_whole() -> None:
    for model in entries():
        assert len(model.sha256) == 64
        assert int(model.sha256, 16) > 0
        assert model.size > 10**8
        assert model.licence == "Apache-2.0"
        assert 4096 <= model.context_window <= 32768
        assert {type(source) for source in model.sources} == {Wheels, Download}


def test_wheel_parts_are_numbered_in_the_order_of_the_file() -> None:
    source = next(source for source in default().sources if isinstance(source, Wheels))
    assert [part.partition("==")[0].rpartition("part")[2] for part in source.parts] == [
        str(n) for n in range(1, len(source.parts) + 1)
    ]


def test_the_default_comes_first_and_aliases_differ() -> None:
    aliases = [model.alias for model in entries()]
    assert (aliases[0], len(set(aliases))) == (default().alias, len(aliases))


def test_an_alias_or_a_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    assert (find(default().alias), find(str(file))) == (default(), file)


def test_what_is_neither_names_the_choices(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no local model '.*none.gguf'.*qwen2.5-coder-0.5b"):
        find(str(tmp_path / "none.gguf"))


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def test_the_window_is_read_from_the_header_behind_other_facts(tmp_path: Path) -> None:
    facts = (
        _text("general.name") + struct.pack("<I", 8) + _text("tiny"),
        _text("tokenizer.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("a") + _text("b"),
        _text("tokenizer.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5),
        _text("tiny.context_length") + struct.pack("<II", 4, 2048),
    )
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(facts)) + b"".join(facts))
    assert context_length(path) == 2048


@pytest.mark.parametrize(
    "content",
    [b"", b"hello, world", b"GGUF", b"GGUF" + b"\xff" * 20, b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63)],
)
def test_a_file_that_is_no_model_has_no_window(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    assert context_length(path) == 0
