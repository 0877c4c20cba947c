import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.models.local.catalogue import AUTO, Download, Wheels, default, entries, find, largest
from hermes.models.local.gguf import GgufHeader, control_tokens, gguf_header
from hermes.models.local.windows import LONGEST, RESERVE, SHORTEST, window_for
from hermes.types.error import ConfigError

GIGA = 10**9


def test_every_entry_is_whole() -> None:
    for model in entries():
        assert model.size > 10**8
        assert model.licence
        assert model.token_bytes % 4096 == 0
        kinds = {type(source) for source in model.sources}
        if model.sha256:
            assert (len(model.sha256), kinds) == (64, {Wheels, Download})
            assert int(model.sha256, 16) > 0
        else:  # only a hub tells the digest of its file
            assert kinds == {Download}


def test_the_largest_model_that_memory_has_room_for_is_chosen() -> None:
    chosen = [largest(room * GIGA).alias for room in (1, 2, 3, 5, 8, 12, 17)]
    assert chosen == [f"qwen2.5-coder-{size}" for size in ("0.5b", "0.5b", "1.5b", "3b", "7b", "7b", "14b")]
    assert find(AUTO) in entries()


@pytest.mark.parametrize(
    ("trained", "token_bytes", "gigabytes", "window"),
    [
        (32_768, 28_672, 20, 32_768),
        (131_072, 28_672, 20, LONGEST),
        (32_768, 28_672, 1.5, 16_384),
        (32_768, 28_672, 0, SHORTEST),
        (2_048, 28_672, 0, 2_048),
        (0, 28_672, 20, 8_192),
        (32_768, 0, 20, 8_192),
    ],
)
def test_the_window_is_what_memory_has_room_for(
    trained: int, token_bytes: int, gigabytes: float, window: int
) -> None:
    assert window_for(trained, token_bytes, int(gigabytes * (1 << 30))) == window


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(-(10**11), 10**12))
def test_a_window_is_never_longer_than_memory_or_training_allow(
    trained: int, token_bytes: int, room: int
) -> None:
    window = window_for(trained, token_bytes, room)
    assert 0 < window <= min(trained, LONGEST)
    assert window <= SHORTEST or window * token_bytes + RESERVE <= room


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
    with pytest.raises(ConfigError, match=r"no local model '~no-such-user-here/x.gguf'"):
        find("~no-such-user-here/x.gguf")


def _text(value: str) -> bytes:
    return _bytes(value.encode())


def _bytes(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def _file(path: Path, *facts: bytes) -> Path:
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(facts)) + b"".join(facts))
    return path


def _count(name: str, value: int) -> bytes:
    return _text(name) + struct.pack("<II", 4, value)


def test_the_header_is_read_behind_other_facts(tmp_path: Path) -> None:
    path = _file(
        tmp_path / "tiny.gguf",
        _text("general.name") + struct.pack("<I", 8) + _text("tiny"),
        _text("tokenizer.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("a") + _text("b"),
        _text("tokenizer.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5),
        _count("tiny.context_length", 2048),
        _count("tiny.block_count", 28),
        _count("tiny.embedding_length", 1536),
        _count("tiny.attention.head_count", 12),
        _count("tiny.attention.head_count_kv", 2),
    )
    assert gguf_header(path) == GgufHeader(context_length=2048, token_bytes=28 * 2 * 256 * 2)


def test_heads_of_their_own_width_are_counted_as_such(tmp_path: Path) -> None:
    path = _file(
        tmp_path / "tiny.gguf",
        _count("tiny.context_length", 2048),
        _count("tiny.block_count", 2),
        _count("tiny.embedding_length", 64),
        _count("tiny.attention.head_count", 4),
        _count("tiny.attention.key_length", 100),
        _count("tiny.attention.value_length", 50),
    )
    assert gguf_header(path) == GgufHeader(context_length=2048, token_bytes=2 * 4 * 150 * 2)


@pytest.mark.parametrize("items", [1_500_000, 1_500_001])
def test_a_header_that_would_take_long_to_read_says_nothing(tmp_path: Path, items: int) -> None:
    path = _file(
        tmp_path / "x.gguf",
        _text("x.texts") + struct.pack("<IIQ", 9, 8, items) + bytes(8 * items),
        _count("x.context_length", 2048),
    )
    assert gguf_header(path) == GgufHeader(context_length=2048 if items == 1_500_000 else 0)


def test_a_text_of_a_header_without_measure_says_nothing(tmp_path: Path) -> None:
    text = struct.pack("<Q", 20_000_000) + bytes(20_000_000)
    path = _file(
        tmp_path / "x.gguf", _text("x.t") + struct.pack("<I", 8) + text, _count("x.context_length", 9)
    )
    assert gguf_header(path) == GgufHeader()


def test_the_marks_of_a_models_template_are_its_control_tokens(tmp_path: Path) -> None:
    words = ("hello", "<|im_start|>", "[INST]", "<s>", "<tool_call>", "[PAD1]")
    path = _file(
        tmp_path / "tiny.gguf",
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(_text, words)),
        _text("tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5),
        _text("tokenizer.ggml.token_type") + struct.pack("<IIQ6i", 9, 5, 6, 1, 3, 3, 3, 4, 5),
        _count("tiny.context_length", 2048),
    )
    assert control_tokens(path) == ("<|im_start|>", "[INST]", "<s>")


def test_a_control_token_that_is_no_text_hides_no_other(tmp_path: Path) -> None:
    path = _file(
        tmp_path / "tiny.gguf",
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("<s>") + _bytes(b"\xff\xfe"),
        _text("tokenizer.ggml.token_type") + struct.pack("<IIQ2i", 9, 5, 2, 3, 3),
    )
    assert control_tokens(path) == ("<s>",)


NESTED = _text("x.y") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 3000
BEHIND_THE_END = _text("x.y") + struct.pack("<I", 9) + struct.pack("<IQ", 12, 2**61)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello, world",
        b"GGUF",
        b"GGUF" + b"\xff" * 20,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + NESTED,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + BEHIND_THE_END,
    ],
)
def test_a_file_that_is_no_model_says_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    assert (gguf_header(path), control_tokens(path)) == (GgufHeader(), ())


SOUND = b"".join(
    (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 6),
        _text("general.name") + struct.pack("<I", 8) + _text("tiny"),
        _text("tiny.sizes") + struct.pack("<IIQ3d", 9, 12, 3, 0.5, 1.5, 2.5),
        _count("tiny.block_count", 28),
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + _text("<s>") + _text("b"),
        _text("tokenizer.ggml.token_type") + struct.pack("<IIQ2i", 9, 5, 2, 3, 1),
        _count("tiny.context_length", 2048),
    )
)


@example(len(SOUND), [(SOUND.index(struct.pack("<IQ", 12, 3)) + 4, struct.pack("<Q", 2**61))])
@given(st.integers(0, len(SOUND)), st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.binary(min_size=8))))
def test_however_a_file_is_damaged_its_header_is_read_or_says_nothing(
    end: int, changes: list[tuple[int, bytes]]
) -> None:
    content = bytearray(SOUND)
    for place, other in changes:
        content[place : place + len(other)] = other
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.gguf")
        path.write_bytes(content[:end])
        header, marks = gguf_header(path), control_tokens(path)
    assert (header.context_length >= 0, header.token_bytes >= 0, all(marks)) == (True, True, True)
