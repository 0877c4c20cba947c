"""Print the text of a docx, xlsx or pptx file, with nothing but the standard library.

    office_text.py FILE            docx: paragraphs, headings as #, tables as rows; pptx: slides; xlsx: sheets
    office_text.py FILE SHEET      one sheet of an xlsx, as CSV; formulas as =FORMULA -> VALUE

Comments, headers, footnotes and what changes removed are named apart at the end.
"""

from __future__ import annotations

import csv
import posixpath
import re
import sys
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree as ET

Element = ET.Element
MOST_EMPTY = 1000
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def find(element: Element, name: str) -> Iterator[Element]:
    return (one for one in element.iter() if local(one) == name)


def tree(archive: zipfile.ZipFile, path: str) -> Element:
    data = archive.read(path)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        sys.exit(f"{path} declares a document type, which no office program writes; it is not read.")
    return ET.fromstring(data)


def text_of(element: Element) -> str:
    words = {"tab": "\t", "br": "\n", "cr": "\n"}
    return "".join(
        one.text or "" if local(one) == "t" else words.get(local(one), "")
        for one in element.iter()
        if local(one) in {"t", *words}
    )


def paragraph(element: Element) -> str:
    style = next((attribute(one, "val") for one in find(element, "pStyle")), "")
    level = re.fullmatch(r"(?i)heading ?(\d)", style)
    mark = "#" * int(level[1]) + " " if level else "# " if style == "Title" else ""
    listed = style.startswith("List") or next(find(element, "numPr"), None) is not None
    bullet = "- " if listed and not mark else ""
    return mark + bullet + text_of(element)


def body(element: Element) -> Iterator[str]:
    for one in element:
        if local(one) == "p":
            yield paragraph(one)
        elif local(one) == "tbl":
            for row in find(one, "tr"):
                yield " | ".join(text_of(cell).replace("\n", " ") for cell in row if local(cell) == "tc")
        else:
            yield from body(one)


def docx(archive: zipfile.ZipFile) -> None:
    root = tree(archive, "word/document.xml")
    print("\n".join(body(root)))
    for path in sorted(archive.namelist()):
        if re.fullmatch(r"word/(comments|footnotes|endnotes|header\d*|footer\d*)\.xml", path):
            words = "\n".join(filter(str.strip, (text_of(one) for one in find(tree(archive, path), "p"))))
            if words:
                print(f"\n[{path[5:-4]}]\n{words}")
    removed = [one.text or "" for one in find(root, "delText")]
    if removed or next(find(root, "ins"), None) is not None:
        print(f"\n[tracked changes: the text has insertions that are not accepted yet; removed: {removed!r}]")


def pptx(archive: zipfile.ZipFile) -> None:
    number = re.compile(r"ppt/(slides/slide|notesSlides/notesSlide)(\d+)\.xml")
    found = [match for path in archive.namelist() if (match := number.fullmatch(path))]
    for match in sorted(found, key=lambda one: (one[1] != "slides/slide", int(one[2]))):
        print(f"\n[{'slide' if match[1] == 'slides/slide' else 'notes'} {match[2]}]")
        print("\n".join(filter(None, (text_of(one) for one in find(tree(archive, match[0]), "p")))))


def sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """The path of each sheet by its name, in the order of the workbook."""
    links = {
        one.get("Id", ""): posixpath.normpath(posixpath.join("/xl", one.get("Target", ""))).lstrip("/")
        for one in tree(archive, "xl/_rels/workbook.xml.rels")
    }
    book = tree(archive, "xl/workbook.xml")
    return {one.get("name", ""): links[one.get(RELATION, "")] for one in find(book, "sheet")}


def column(reference: str) -> int:
    number = 0
    for letter in re.sub(r"\d", "", reference):
        number = number * 26 + ord(letter) - 64
    return number - 1


def value(cell: Element, shared: list[str]) -> str:
    raw = next((one.text or "" for one in cell if local(one) == "v"), "")
    kind = cell.get("t", "n")
    if kind == "s":
        raw = shared[int(raw)]
    elif kind == "inlineStr":
        raw = text_of(cell)
    elif kind == "b":
        raw = "TRUE" if raw == "1" else "FALSE"
    formula = next((one for one in cell if local(one) == "f"), None)
    return raw if formula is None else f"={formula.text or '(shared)'} -> {raw}"


def sheet_rows(archive: zipfile.ZipFile, path: str) -> Iterator[list[str]]:
    shared: list[str] = []
    if "xl/sharedStrings.xml" in archive.namelist():
        shared = [text_of(one) for one in tree(archive, "xl/sharedStrings.xml")]
    there = 0
    for row in find(tree(archive, path), "row"):
        number = int(row.get("r", there + 1))
        yield from [[]] * min(number - there - 1, MOST_EMPTY)
        there = number
        cells: list[str] = []
        for cell in (one for one in row if local(one) == "c"):
            place = column(cell.get("r", "")) if cell.get("r") else len(cells)
            cells += [""] * (place - len(cells)) + [value(cell, shared)]
        yield cells


def xlsx(archive: zipfile.ZipFile, wanted: list[str]) -> None:
    there = sheets(archive)
    if wanted and wanted[0] not in there:
        sys.exit(f"There is no sheet {wanted[0]!r}; there are: {', '.join(there)}")
    out = csv.writer(sys.stdout, lineterminator="\n")
    for name in wanted or there:
        if not wanted:
            print(f"[sheet {name}]")
        out.writerows(sheet_rows(archive, there[name]))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        archive = zipfile.ZipFile(sys.argv[1])
    except zipfile.BadZipFile:
        sys.exit("This is no docx, xlsx or pptx: an old .doc or .xls, or one with a password.")
    with archive:
        names = archive.namelist()
        if "word/document.xml" in names:
            docx(archive)
        elif "ppt/presentation.xml" in names:
            pptx(archive)
        elif "xl/workbook.xml" in names:
            xlsx(archive, sys.argv[2:])
        else:
            sys.exit("This archive is no docx, xlsx or pptx.")


if __name__ == "__main__":
    main()
