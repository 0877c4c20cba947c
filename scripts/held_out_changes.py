"""Held-out tasks that change files, and those about what is not there: create, edit, organise, missing."""

import json
from pathlib import Path
from random import Random

from held_out_reading import FOODS, WORDS, prose
from task_checks import absent, exactly, lines
from task_parts import Check, Task, all_of, tree


def changed(
    kind: str,
    name: str,
    question: str,
    before: dict[str, str],
    after: dict[str, str],
    language: str = "en",
) -> Task:
    """A task that is right when the workspace has exactly the files of `after`."""
    return Task(name, question, tree(before), exactly(after), kind=kind, language=language)


def _list(rng: Random) -> Task:
    items = [*rng.sample(FOODS, 2), f"{rng.randint(3, 12)} eggs"]
    before = {"old.txt": "soap\n"}
    return Task(
        "list of items",
        f"Put these on a shopping list, shopping.txt, one per line: {', '.join(items)}",
        tree(before),
        all_of(lines("shopping.txt", *items), exactly_but("shopping.txt", before)),
        kind="create",
    )


def exactly_but(name: str, before: dict[str, str]) -> Check:
    """The workspace is as it was but for one file more."""
    return lambda root, answer: (
        (root / name).is_file()
        and exactly(before | {name: (root / name).read_text(encoding="utf-8")})(root, answer)
    )


def _entry(rng: Random) -> Task:
    day, version = f"2026-04-{rng.randint(10, 28)}", f"0.{rng.randint(2, 9)}.{rng.randint(1, 9)}"
    text = f"2026-01-09 released 0.1.0\n2026-02-17 released 0.1.{rng.randint(1, 9)}\n"
    question = (
        f"please add the line\n{day} released {version}\nto the end of changes.log, and leave the"
        " lines that are already in it"
    )
    after = {"changes.log": f"{text}{day} released {version}\n"}
    return changed("create", "line at the end", question, {"changes.log": text}, after)


def _folders(rng: Random) -> Task:
    new = rng.sample(WORDS, 3)
    before = {"readme.txt": "x\n"}
    after = before | {f"{name}/": "" for name in new}
    question = f"I need three empty folders here: {new[0]}, {new[1]} and {new[2]}."
    return changed("create", "three folders", question, before, after)


def _heading(rng: Random) -> Task:
    word = rng.choice(("Garten", "Umzug", "Urlaub", "Werkstatt", "Keller"))
    before = {"notizen/alt.md": "# Alt\n"}
    after = before | {"notizen/idee.md": f"# {word}\n"}
    question = f"Leg im Ordner notizen eine Datei idee.md an, in der nur diese Überschrift steht: # {word}"
    return changed("create", "file with a heading, in German", question, before, after, "de")


def _json(rng: Random) -> Task:
    port = rng.randint(4001, 9999)
    before = {"main.py": "print('x')\n"}

    def check(root: Path, answer: str) -> bool:
        try:
            found = json.loads((root / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return found == {"port": port} and exactly_but("config.json", before)(root, answer)

    question = f'Crée un fichier config.json : un objet JSON avec la seule clé "port" et le nombre {port}.'
    return Task("JSON file, in French", question, tree(before), check, kind="create", language="fr")


def _debug(rng: Random) -> Task:
    text = f"NAME=ferry\nDEBUG=true\nPORT={rng.randint(3000, 9000)}\nCOLOUR=true\n"
    after = {"app.env": text.replace("DEBUG=true", "DEBUG=false")}
    return changed("edit", "switch a flag", "set DEBUG to false in app.env", {"app.env": text}, after)


def _bump(rng: Random) -> Task:
    old, new = f"2.{rng.randint(0, 4)}.{rng.randint(1, 9)}", f"2.{rng.randint(5, 9)}.0"
    package = {"name": "ferry", "version": old, "license": "MIT", "dependencies": {"left-pad": "1.3.0"}}
    before = {"package.json": json.dumps(package, indent=2) + "\n", "README.md": f"Ferry {old}\n"}

    def check(root: Path, _answer: str) -> bool:
        try:
            found = json.loads((root / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        text = (root / "package.json").read_text(encoding="utf-8")
        return found == package | {"version": new} and exactly(before | {"package.json": text})(root, "")

    question = f"We're releasing tomorrow. Bump the version in package.json to {new} (only in that file)."
    return Task("bump a version", question, tree(before), check, kind="edit")


def _cafe(rng: Random) -> Task:
    old, new = rng.sample(["Blue Door", "Old Mill", "Red Lion", "Quiet Corner", "Green Table"], 2)
    text = f"Welcome to the {old}!\n\nSoup 6\nPie {rng.randint(7, 14)}\n\nThe {old} is open every day.\n"
    question = f'Our café has a new name. Write "{new}" instead of "{old}" wherever it appears in menu.txt.'
    return changed("edit", "new name", question, {"menu.txt": text}, {"menu.txt": text.replace(old, new)})


def _price(rng: Random) -> Task:
    old, new = f"{rng.randint(5, 6)}.50", f"{rng.randint(7, 9)}.20"
    text = f"ware,preis\nButter,3.10\nHonig,{old}\nKaffee,8.90\nTee,4.40\n"
    after = {"preise.csv": text.replace(old, new)}
    question = f"Ändere in preise.csv den Preis von Honig auf {new}, alles andere soll so bleiben."
    return changed("edit", "price in a table, in German", question, {"preise.csv": text}, after, "de")


def _drop_line(rng: Random) -> Task:
    towns = rng.sample(["Berlin", "Madrid", "Oslo", "Prague", "Vienne", "Lisbonne"], 5)
    rows = [f"{town} : {rng.randint(2, 9)} jours\n" for town in towns]
    before = {"voyages.txt": "".join(rows)}
    after = {"voyages.txt": "".join(row for row in rows if not row.startswith(towns[2]))}
    question = f"Supprime de voyages.txt la ligne qui concerne {towns[2]}."
    return changed("edit", "delete a line, in French", question, before, after, "fr")


def _jpgs(rng: Random) -> Task:
    shots = [f"{name}.jpg" for name in rng.sample(WORDS, 5)]
    rest = {"notes.txt": "x\n", "plan.png": "y\n"}
    before = dict.fromkeys(shots, "p\n") | rest
    after = {f"pictures/{name}": "p\n" for name in shots} | rest
    question = "move all the jpg files into a folder called pictures (doesn't exist yet)"
    return changed("organise", "pictures into a folder", question, before, after)


def _rename(rng: Random) -> Task:
    new = f"report-{rng.randint(2019, 2026)}.txt"
    rest = {"report_final.txt": "one\n", "report_draft.txt": "two\n"}
    question = f"Could you rename report_final_v2.txt to {new} for me?"
    before, after = {"report_final_v2.txt": "three\n"} | rest, {new: "three\n"} | rest
    return changed("organise", "rename a report", question, before, after)


def _delete_folder(rng: Random) -> Task:
    rest = {"build/app.o": "1\n", "main.c": "int x;\n"}
    before = rest | {f"old_build/{name}/{name}.o": "2\n" for name in rng.sample(WORDS, 3)}
    question = "Delete the folder old_build with everything in it. The folder build has to stay."
    return changed("organise", "delete a folder", question, before, rest)


def _copy_tables(rng: Random) -> Task:
    tables = {f"{name}.csv": f"a,b\n{rng.randint(1, 99)},2\n" for name in rng.sample(WORDS, 3)}
    before = {f"daten/{name}": text for name, text in tables.items()} | {"daten/info.txt": "x\n"}
    after = before | {f"sicherung/{name}": text for name, text in tables.items()}
    question = "Kopiere alle CSV-Dateien aus dem Ordner daten in einen neuen Ordner sicherung."
    return changed("organise", "copy tables, in German", question, before, after, "de")


def _extensions(rng: Random) -> Task:
    stems = rng.sample(WORDS, 4)
    rest = {"lisez-moi.txt": "x\n"}
    before = {f"{stem}.jpeg": f"{stem}\n" for stem in stems} | rest
    after = {f"{stem}.jpg": f"{stem}\n" for stem in stems} | rest
    question = "Renomme tous les fichiers .jpeg de ce dossier en .jpg."
    return changed("organise", "new endings, in French", question, before, after, "fr")


def gone(name: str, question: str, contents: dict[str, str], *planted: str, language: str = "en") -> Task:
    """A task about what is not there: nothing may change, and the answer must say so."""
    check = all_of(absent(language, *planted), exactly(contents))
    return Task(name, question, tree(contents), check, kind="missing", language=language)


def _no_file(rng: Random) -> Task:
    total = rng.randint(1200, 9800)
    contents = {"budget_2023.txt": f"rent 700\ntotal {total}\n", "letter.txt": prose(rng, 30)}
    return gone("no such file", "What is the total in budget.txt?", contents, str(total), f"{total:,}")


def _no_target(rng: Random) -> Task:
    contents = {"Makefile": f"test:\n\t@echo {rng.choice(WORDS)}\n", "main.c": "int x;\n"}
    question = "Run `make release` and tell me whether it worked."
    return gone("no such target", question, contents)


def _no_function(rng: Random) -> Task:
    value = rng.randint(2, 40)
    contents = {"dates.py": f"def next_day(day):\n    return day + 1\n\n\ndef week():\n    return {value}\n"}
    question = "Rename the function parse_month in dates.py to read_month."
    return gone("no such function", question, contents)


def _no_folder(rng: Random) -> Task:
    contents = {f"bilder/{name}.png": "x\n" for name in rng.sample(WORDS, 3)} | {"liste.txt": "x\n"}
    question = "Lösch bitte den Ordner alte_bilder."
    return gone("no such folder, in German", question, contents, language="de")


def _no_column(rng: Random) -> Task:
    ages = rng.sample(range(2, 15), 4)
    ages[3] += sum(ages) % 4 == 0  # a mean that no single age is
    rows = zip(("Milou", "Félix", "Rex", "Nala"), ages, strict=True)
    contents = {"animaux.csv": "nom,age\n" + "".join(f"{name},{age}\n" for name, age in rows)}
    question = "Quelle est la moyenne de la colonne poids dans animaux.csv ?"
    mean = f"{sum(ages) / 4:g}"
    return gone("no such column, in French", question, contents, mean, mean.replace(".", ","), language="fr")


CREATE = (_list, _entry, _folders, _heading, _json)
EDIT = (_debug, _bump, _cafe, _price, _drop_line)
ORGANISE = (_jpgs, _rename, _delete_folder, _copy_tables, _extensions)
MISSING = (_no_file, _no_target, _no_function, _no_folder, _no_column)
