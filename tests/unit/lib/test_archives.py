"""Archives of strangers: plain files come out, everything else is refused by name, and bombs stay packed."""

import io
import stat
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest

from hermes.lib.archives import ArchiveBounds, ArchivedFile, BadArchive, archived_files, write_files

BOUNDS = ArchiveBounds(files=10, bytes=100_000)
REGULAR, LINK, DEVICE = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o666


def zipped(*entries: tuple[str, bytes, int], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are there twice
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, packing
            archive.writestr(info, data)
    return made.getvalue()


def tarred(*entries: tuple[str, bytes, bytes, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, data, kind, target in entries:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname, info.mode = len(data), kind, target, 0o755
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def test_files_of_a_zip_come_out_as_they_went_in(tmp_path: Path) -> None:
    data = zipped(
        ("skill/", b"", stat.S_IFDIR | 0o755),
        ("skill/SKILL.md", b"text", REGULAR),
        ("skill/scripts/run", b"#!", stat.S_IFREG | 0o4755),
        ("skill/größe.md", b"", 0),
    )
    found = archived_files(data, BOUNDS)
    assert found == {
        "skill/SKILL.md": ArchivedFile(b"text"),
        "skill/scripts/run": ArchivedFile(b"#!", runs=True),
        "skill/größe.md": ArchivedFile(b""),
    }
    write_files(found, tmp_path / "out")
    modes = {path.name: path.stat().st_mode & 0o7777 for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {"SKILL.md": 0o644, "run": 0o755, "größe.md": 0o644}


def test_files_of_a_tar_come_out_as_they_went_in() -> None:
    data = tarred((".", b"", tarfile.DIRTYPE, ""), ("./SKILL.md", b"text", tarfile.REGTYPE, ""))
    assert archived_files(data, BOUNDS) == {"SKILL.md": ArchivedFile(b"text", runs=True)}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../x", "a name in it leads elsewhere: '../x'"),
        ("a/../../x", "a name in it leads elsewhere: 'a/../../x'"),
        ("/etc/x", "a name in it leads elsewhere: '/etc/x'"),
        ("a\\..\\x", "a name in it leads elsewhere: 'a\\\\..\\\\x'"),
        ("C:x", "a name in it leads elsewhere: 'C:x'"),
        ("a//x", "a name in it leads elsewhere: 'a//x'"),
        ("a\x1b[2Jx", "a name in it is no plain text: 'a\\x1b[2Jx'"),
        ("a\u202ex", "a name in it is no plain text: 'a\\u202ex'"),
        ("a" * 401, f"a name in it is no plain text: '{'a' * 80}'"),
    ],
)
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_names_that_lead_elsewhere_or_hide_are_refused(name: str, told: str, form: str) -> None:
    data = zipped((name, b"x", REGULAR)) if form == "zip" else tarred((name, b"x", tarfile.REGTYPE, ""))
    with pytest.raises(BadArchive) as caught:
        archived_files(data, BOUNDS)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    "data",
    [
        zipped(("link", b"/etc/passwd", LINK)),
        zipped(("link", b"", DEVICE)),
        tarred(("link", b"", tarfile.SYMTYPE, "/etc/passwd")),
        tarred(("link", b"", tarfile.LNKTYPE, "../x")),
        tarred(("link", b"", tarfile.CHRTYPE, "")),
        tarred(("link", b"", tarfile.FIFOTYPE, "")),
        tarred(("link", b"", tarfile.GNUTYPE_SPARSE, "")),
    ],
)
def test_links_and_devices_are_refused(data: bytes) -> None:
    with pytest.raises(BadArchive, match="'link' in it is a link or a device"):
        archived_files(data, BOUNDS)


@pytest.mark.parametrize(
    ("first", "second"), [("a/x", "a/x"), ("a/x", "A/X"), ("a", "a/x"), ("a/x", "a"), ("é", "e\u0301")]
)
def test_names_that_file_systems_hold_for_one_are_refused(first: str, second: str) -> None:
    with pytest.raises(BadArchive, match="two names in it are one and the same"):
        archived_files(zipped((first, b"", REGULAR), (second, b"", REGULAR)), BOUNDS)


def test_a_bomb_is_left_when_its_bound_is_reached() -> None:
    told = "it unpacks to more than 100,000 bytes"
    bomb = zipped(("x", bytes(20_000_000), REGULAR))
    for data in (bomb, tarred(("x", bytes(20_000_000), tarfile.REGTYPE, ""))):
        with pytest.raises(BadArchive, match=told):
            archived_files(data, BOUNDS)
    shared = zipped(*[(f"{number}", bytes(20_000), REGULAR) for number in range(6)])
    with pytest.raises(BadArchive, match=told):
        archived_files(shared, BOUNDS)


def test_an_archive_that_lies_about_sizes_is_damaged() -> None:
    honest = zipped(("x", bytes(20_000_000), REGULAR))
    lying = honest.replace((20_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(BadArchive, match="damaged"):
        archived_files(lying, BOUNDS)


def test_an_archive_in_an_archive_stays_a_file() -> None:
    inner = zipped(("../x", b"", REGULAR))
    assert archived_files(zipped(("inner.zip", inner, REGULAR)), BOUNDS) == {"inner.zip": ArchivedFile(inner)}


def test_ten_thousand_files_are_too_many() -> None:
    with pytest.raises(BadArchive, match="it has more than 10 files"):
        archived_files(zipped(*[(f"{number}", b"", REGULAR) for number in range(10_000)]), BOUNDS)


def test_names_that_are_no_utf8_are_refused() -> None:
    plain = zipped(("ab.md", b"", REGULAR))
    foreign = plain.replace(b"ab.md", b"a\xff.md")
    with pytest.raises(BadArchive, match="a name in it is no plain text"):
        archived_files(foreign, BOUNDS)
    claimed = zipped(("é.md", b"", REGULAR)).replace("é".encode(), b"\xff\xff")
    with pytest.raises(BadArchive, match="damaged"):
        archived_files(claimed, BOUNDS)
    hidden = plain.replace(b"ab.md", b"a\0.md")
    with pytest.raises(BadArchive, match="a name in it is no plain text"):
        archived_files(hidden, BOUNDS)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"<html>", "it is neither a zip nor a tar.gz"),
        (b"PK\x03\x04 cut off", "damaged"),
        (b"\x1f\x8b cut off", "damaged"),
        (tarred(("x", b"y" * 50_000, tarfile.REGTYPE, ""))[:60], "damaged"),
        (zipped(("x", b"y", REGULAR), packing=zipfile.ZIP_LZMA), "packed in a way that is not read"),
    ],
)
def test_what_is_no_archive_is_told(data: bytes, told: str) -> None:
    with pytest.raises(BadArchive, match=told):
        archived_files(data, BOUNDS)
