"""The scripts of bundled skills do what their first lines say, with nothing but Python."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import hermes

ROOT = Path(hermes.__file__).parent / "data" / "skills"


def run(script: str, *words: object, given: str = "") -> str:
    """What the script says on standard output, or what it ends with."""
    path = next(ROOT.rglob(script))
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(path), *map(str, words)]
    ran = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    assert b"Traceback" not in ran.stderr, ran.stderr
    return (ran.stdout if ran.returncode == 0 else ran.stderr).decode()


def notebook(path: Path) -> Path:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "id": "a", "source": ["# Title\n"]},
        {
            "cell_type": "code",
            "metadata": {},
            "id": "b",
            "execution_count": 3,
            "source": ["%matplotlib inline\n", "x = 1"],
            "outputs": [{"output_type": "error", "ename": "E", "evalue": "bad", "traceback": []}],
        },
    ]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    return path


def test_a_notebook_is_listed_shown_and_taken_as_a_program(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb")
    assert run("notebook.py", "list", path).splitlines() == [
        "  0 markdown run    - # Title",
        "  1 code     run    3 FAILED %matplotlib inline",
    ]
    assert run("notebook.py", "show", path, 1) == "%matplotlib inline\nx = 1\n--- output\nE: bad\n"
    assert run("notebook.py", "code", path) == "# cell 1\n# %matplotlib inline\nx = 1\n"


def test_a_notebook_is_changed_cell_by_cell(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb")
    run("notebook.py", "set", path, 1, given="y = 2\ny")
    run("notebook.py", "add", path, 0, "code", given="z = 3")
    cells = json.loads(path.read_text())["cells"]
    assert [(one["cell_type"], one["source"]) for one in cells] == [
        ("code", ["z = 3"]),
        ("markdown", ["# Title\n"]),
        ("code", ["y = 2\n", "y"]),
    ]
    assert [(one["outputs"], one["execution_count"]) for one in cells if one["cell_type"] == "code"] == [
        ([], None),
        ([], None),
    ]
    assert len({one["id"] for one in cells}) == 3


def test_the_profile_of_a_table_names_forms_and_odd_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"id; price\n1;1,50\n02;1.234,00\n3\n1;1,50\n\xe9;n/a\n")
    said = run("table_profile.py", path)
    for words in (
        "encoding: cp1252",
        "delimiter: ';'",
        "heading ' price': empty or with spaces",
        "line 4: 1 fields, not 2: ['3']",
        "rows: 5; the same as another row: 1",
        "1 integer with leading zero; line 3: '02'",
        "2 decimal comma; line 2: '1,50'",
        "1 thousands; line 3: '1.234,00'",
        "1 says that it is missing; line 6: 'n/a'",
    ):
        assert words in said


def word(path: Path, body: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>')
    return path


def test_the_text_of_a_document_has_headings_lists_and_tables(tmp_path: Path) -> None:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p>'
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>it</w:t></w:r><w:r><w:t>em</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    )
    assert run("office_text.py", word(tmp_path / "a.docx", body)) == "## One\n- item\na | \n"


def test_a_document_that_declares_entities_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    assert "it is not read" in run("office_text.py", path)


def test_a_sheet_keeps_the_places_of_its_cells_and_shows_formulas(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    relation = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {relation}><sheets><sheet name="A" r:id="x"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels", '<r><Relationship Id="x" Target="worksheets/sheet1.xml"/></r>'
        )
        archive.writestr("xl/sharedStrings.xml", "<sst><si><t>words, two</t></si></sst>")
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            '<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>'
            '<row r="3"><c r="C3"><f>A1+1</f><v>2</v></c></row></sheetData></worksheet>',
        )
    assert run("office_text.py", path, "A") == '"words, two"\n\n,,=A1+1 -> 2\n'
    assert run("office_text.py", path, "B") == "There is no sheet 'B'; there are: A\n"


FEED = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">
<entry><id>http://arxiv.org/abs/{}</id><title>{}</title><published>2017-06-12T17:57:34Z</published>
<updated>2023-08-02T00:41:18Z</updated><summary>Short.</summary><author><name>A. One</name></author>
<arxiv:comment>15 pages</arxiv:comment><arxiv:primary_category term="cs.CL"/></entry></feed>"""


def test_an_answer_of_arxiv_becomes_a_list_and_an_error_is_told() -> None:
    said = run("arxiv_list.py", "--abstracts", given=FEED.format("1706.03762v7", "A\n title"))
    assert said.splitlines() == [
        "1706.03762v7  2017-06-12 (changed 2023-08-02)  cs.CL",
        "  A title",
        "  A. One",
        "  comment: 15 pages",
        "  Short.",
        "",
        "1 of an unknown number results",
    ]
    assert run("arxiv_list.py", given=FEED.format("x", "Error")) == "arXiv answers with an error: Short.\n"


def test_a_page_gives_its_dates_its_text_and_its_links(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        '<meta charset="utf-8"><title>T</title><meta property="article:published_time" content="2024-01-02">'
        '<script type="application/ld+json">{"dateModified": "2024-02-03"}</script><nav>menu</nav>'
        '<h2>Héad</h2><p>One <b>two</b> <a href="https://x.example/">l</a><ul><li>a</ul>'
    )
    assert run("page_text.py", path, "--links").splitlines() == [
        "article:published_time: 2024-01-02",
        "dateModified: 2024-02-03",
        "T",
        "## Héad",
        "One two l",
        "- a",
        "https://x.example/",
    ]


def test_lines_of_a_log_are_grouped_by_what_does_not_vary() -> None:
    log = "2026-03-12 10:00:01 id=12 from 10.0.0.1\n2026-03-12 10:00:02 id=13 from 10.0.0.2\n  at x\nboom\n"
    assert run("log_shapes.py", given=log).splitlines() == [
        "       2  lines 1-2  <time> id=<n> from <ip>",
        "          2026-03-12 10:00:01 id=12 from 10.0.0.1",
        "       1  lines 4-4  boom",
        "4 lines, 2 shapes, 0 not shown",
    ]


def test_two_runs_are_compared_item_by_item(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("".join(f'{{"id": {one}, "score": {int(one < 1000)}}}\n' for one in range(2000)))
    new.write_text("".join(f'{{"id": {one}, "score": {int(one >= 1)}}}\n' for one in range(2001)))
    said = run("compare_runs.py", old, new)
    assert "left out: ['2000']" in said
    assert "all: 2000 items, 0.5000 -> 0.9995, difference +0.4995" in said
    assert "better 1000, worse 1, same 999" in said
    assert "p = 0.0000" in said
    assert said.endswith("worse now: ['0']\n")
