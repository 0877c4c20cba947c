"""Print the answer of arXiv's interface, an Atom feed on standard input, as a list.

curl -sSG https://export.arxiv.org/api/query … | python3 arxiv_list.py [--abstracts]
"""

from __future__ import annotations

import sys
from xml.etree import ElementTree as ET

ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
FEW = 4


def words(element: ET.Element, path: str) -> str:
    return " ".join((element.findtext(path) or "").split())


def show(entry: ET.Element, *, abstracts: bool) -> None:
    identifier = words(entry, f"{ATOM}id").rpartition("/abs/")[2]
    title = words(entry, f"{ATOM}title")
    if not identifier or title == "Error":
        sys.exit(f"arXiv answers with an error: {words(entry, f'{ATOM}summary')}")
    authors = [words(one, f"{ATOM}name") for one in entry.iter(f"{ATOM}author")]
    more = " and others" if len(authors) > FEW else ""
    kind = entry.find(f"{ARXIV}primary_category")
    first, last = (words(entry, f"{ATOM}{name}")[:10] for name in ("published", "updated"))
    print(f"{identifier}  {first}{f' (changed {last})' if last != first else ''}", end="  ")
    print(kind.get("term") if kind is not None else "")
    print(f"  {title}\n  {', '.join(authors[:FEW])}{more}")
    for name, label in (("journal_ref", "published as"), ("doi", "DOI"), ("comment", "comment")):
        if found := words(entry, f"{ARXIV}{name}"):
            print(f"  {label}: {found}")
    if abstracts:
        print(f"  {words(entry, f'{ATOM}summary')}")
    print()


def main() -> None:
    data = sys.stdin.buffer.read()
    if b"<feed" not in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        sys.exit(f"This is no feed of arXiv: {data[:200]!r}")
    root = ET.fromstring(data)
    entries = root.findall(f"{ATOM}entry")
    for entry in entries:
        show(entry, abstracts="--abstracts" in sys.argv[1:])
    print(f"{len(entries)} of {words(root, TOTAL) or 'an unknown number'} results")


if __name__ == "__main__":
    main()
