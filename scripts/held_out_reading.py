"""Held-out tasks that only read: measure, lookup, table, git."""

import json
import os
from pathlib import Path
from random import Random

from task_checks import exactly, keeps, matches, names, picks, tells
from task_parts import Build, Check, Task, all_of, git, output, tree

WORDS = [
    "river",
    "stone",
    "window",
    "garden",
    "bread",
    "winter",
    "lantern",
    "copper",
    "market",
    "bridge",
    "paper",
    "silver",
    "forest",
    "island",
    "butter",
    "candle",
    "harbour",
    "meadow",
    "pepper",
    "ribbon",
    "saddle",
    "thunder",
    "village",
    "whistle",
]


FOODS = [
    "flour",
    "sugar",
    "butter",
    "oats",
    "raisins",
    "almonds",
    "honey",
    "yeast",
    "milk",
    "cream",
    "cocoa",
    "ginger",
    "lemon",
    "salt",
    "cinnamon",
    "apples",
    "pears",
    "plums",
]


def asked(
    kind: str, name: str, question: str, contents: dict[str, str], *checks: Check, language: str = "en"
) -> Task:
    """A task that leaves the files as they are."""
    check = all_of(*checks, keeps(contents))
    return Task(name, question, tree(contents), check, kind=kind, language=language)


def prose(rng: Random, words: int) -> str:
    """That many words in lines of uneven length."""
    text = [rng.choice(WORDS) for _ in range(words)]
    return "".join(word + (" " if rng.random() < 0.85 else "\n") for word in text).rstrip() + "\n"


def rows(count: int) -> str:
    """That many lines of a log."""
    return "".join(f"09:{line % 60:02} step {line} done\n" for line in range(count))


def _words(rng: Random) -> Task:
    count = rng.randint(140, 390)
    text = prose(rng, count)
    return asked(
        "measure",
        "words of a letter",
        "I am only allowed 400 words for this. How many words does letter.txt have right now?",
        {"letter.txt": text, "notes.txt": prose(rng, 40)},
        tells(count, len(text)),
    )


def _newest(rng: Random) -> Task:
    reports = [f"reports/{name}.txt" for name in rng.sample(WORDS, 5)]
    newest = rng.choice(reports)
    contents = {name: prose(rng, 20) for name in reports}

    def build(root: Path) -> None:
        tree(contents)(root)
        for day, name in enumerate([*(one for one in reports if one != newest), newest]):
            os.utime(root / name, (1_780_000_000 + day * 86_400,) * 2)

    short = [Path(name).name for name in reports]
    right = Path(newest).name
    check = all_of(picks(right, [name for name in short if name != right]), keeps(contents))
    question = "Which of the files in the reports folder was changed most recently?"
    return Task("newest report", question, build, check, kind="measure")


def _pictures(rng: Random) -> Task:
    count = rng.randint(14, 29)
    contents = {f"photos/{rng.choice('abc')}/{number}.png": "x\n" for number in range(count - 2)}
    contents |= {"photos/cover.png": "x\n", "photos/a/deep/last.png": "x\n"}
    contents |= {f"photos/a/{number}.jpg": "x\n" for number in range(5)} | {"logo.png": "x\n"}
    question = "how many png files are there under photos, subfolders included"
    return asked("measure", "pictures in subfolders", question, contents, tells(count))


def _most_lines(rng: Random) -> Task:
    short = rng.sample(WORDS, 4)
    sizes = rng.sample(range(20, 90), 4)
    contents = {f"texte/{name}.txt": rows(size) for name, size in zip(short, sizes, strict=True)}
    right = max(contents, key=lambda name: contents[name].count("\n"))
    return asked(
        "measure",
        "most lines, in German",
        "Welche Datei im Ordner texte hat die meisten Zeilen?",
        contents,
        picks(Path(right).stem, [Path(name).stem for name in contents if name != right]),
        language="de",
    )


def _direct_files(rng: Random) -> Task:
    count = rng.randint(15, 28)
    contents = {f"archives/doc{number}.txt": "x\n" for number in range(count)}
    contents |= {f"archives/{folder}/a.txt": "x\n" for folder in ("2024", "2025", "vieux")}
    return asked(
        "measure",
        "files of a folder, in French",
        "Combien de fichiers y a-t-il directement dans le dossier archives, sans les sous-dossiers ?",
        contents,
        tells(count),
        language="fr",
    )


def _port(rng: Random) -> Task:
    port, other = rng.sample(range(2100, 9900), 2)
    text = f"[imap]\nhost = in.example.org\nport = {other}\n\n[smtp]\nhost = out.example.org\nport = {port}\n"
    return asked(
        "lookup", "port of a section", "smtp port in mail.ini?", {"mail.ini": text}, tells(port, other)
    )


def _maintainer(rng: Random) -> Task:
    name = rng.choice(("ines", "tomas", "yuki", "carla"))
    address = f"{name}.{rng.choice(WORDS)}@example.org"
    text = f'[project]\nname = "ferry"\nversion = "0.{rng.randint(2, 9)}"\n\n[[project.maintainers]]\n'
    text += f'name = "{name.title()}"\nemail = "{address}"\n\n[project.urls]\nlist = "list@example.org"\n'
    return asked(
        "lookup",
        "address in a TOML file",
        "I would like to write to whoever maintains this project. What e-mail address does pyproject.toml"
        " give for the maintainer?",
        {"pyproject.toml": text, "README.md": "# Ferry\n"},
        names([address]),
    )


def _line(rng: Random) -> Task:
    number = rng.randint(6, 14)
    texts = [f"{rng.choice(('Add', 'Stir in', 'Fold in'))} {rng.randint(20, 99)} g of {w}" for w in FOODS]
    return asked(
        "lookup",
        "a line by its number",
        f"What does line {number} of recipe.txt say?",
        {"recipe.txt": "\n".join(texts) + "\n"},
        names([texts[number - 1]], [texts[number - 2], texts[number]]),
    )


def _phone(rng: Random) -> Task:
    people = ["Keller", "Vogt", "Brandt", "Seidel"]
    numbers = [str(rng.randint(200_000, 999_999)) for _ in people]
    entries = [
        {"name": name, "telefon": f"0351 {number}", "ort": "Dresden"}
        for name, number in zip(people, numbers, strict=True)
    ]
    asks = rng.randrange(4)
    digits = [" ?".join(number) for number in numbers]
    return asked(
        "lookup",
        "phone number in JSON, in German",
        f"Unter welcher Telefonnummer erreiche ich {people[asks]}? Steht in kontakte.json.",
        {"kontakte.json": json.dumps(entries, indent=2) + "\n"},
        matches(rf"0351[ /-]*{digits[asks]}", *(one for place, one in enumerate(digits) if place != asks)),
        language="de",
    )


def _train(rng: Random) -> Task:
    towns = ["Lyon", "Nantes", "Lille", "Dijon"]
    times = [(hour, rng.randint(11, 58)) for hour in rng.sample(range(6, 12), 4)]
    lines = [f"{h:02}:{m}  {town}  voie {3 + h}" for town, (h, m) in zip(towns, times, strict=True)]
    patterns = [rf"\b0?{hour} ?[:h.] ?{minute}" for hour, minute in times]
    asks = rng.randrange(4)
    return asked(
        "lookup",
        "time of a train, in French",
        f"À quelle heure part le train pour {towns[asks]} d'après horaires.txt ?",
        {"horaires.txt": "\n".join(lines) + "\n"},
        matches(patterns[asks], *(one for place, one in enumerate(patterns) if place != asks)),
        language="fr",
    )


def _coldest(rng: Random) -> Task:
    towns = ["Bergen", "Porto", "Graz", "Vilnius", "Split"]
    degrees = rng.sample(range(11, 35), 5)
    text = "city,wind,temperature\n" + "".join(
        f"{town},{rng.randint(10, 60)},{degree}\n" for town, degree in zip(towns, degrees, strict=True)
    )
    coldest = towns[degrees.index(min(degrees))]
    return asked(
        "table",
        "lowest of a column",
        "Which city in weather.csv had the lowest temperature?",
        {"weather.csv": text},
        picks(coldest, [town for town in towns if town != coldest]),
    )


def _open_orders(rng: Random) -> Task:
    counts = dict(zip(("open", "paid", "shipped"), rng.sample(range(13, 24), 3), strict=True))
    states = [status for status, count in counts.items() for _ in range(count)]
    rng.shuffle(states)
    text = "id,customer,status\n" + "".join(
        f"{number},{rng.choice(WORDS)},{status}\n" for number, status in enumerate(states, 501)
    )
    return asked(
        "table",
        "rows with a status",
        "How many of the orders in orders.csv are still open? (see the status column)",
        {"orders.csv": text},
        tells(*counts.values()),
    )


def _expenses(rng: Random) -> Task:
    amounts = [rng.randint(12, 480) for _ in range(12)]
    text = "date,what,amount\n" + "".join(
        f"2026-03-{day:02},{rng.choice(WORDS)},{value}\n" for day, value in enumerate(amounts, 1)
    )
    question = "what do my expenses add up to? it's the amount column in expenses.csv"
    return asked("table", "sum of a column", question, {"expenses.csv": text}, tells(sum(amounts)))


def _average(rng: Random) -> Task:
    values = [rng.randint(10, 90) for _ in range(7)]
    values.append(rng.randint(2, 11) * 8 + -sum(values) % 8)
    return asked(
        "table",
        "average of numbers, in German",
        "In messwerte.txt steht in jeder Zeile eine Zahl. Wie hoch ist der Durchschnitt aller Werte?",
        {"messwerte.txt": "".join(f"{value}\n" for value in values)},
        tells(sum(values) // 8),
        language="de",
    )


def _pupils(rng: Random) -> Task:
    pupils = rng.sample(["Amélie", "Bruno", "Chloé", "David", "Elsa", "Farid", "Gaspard", "Hana"], 8)
    marks = [rng.randint(16, 20) for _ in range(3)] + [rng.randint(6, 14) for _ in range(5)]
    pairs = sorted(zip(pupils, marks, strict=True))
    return asked(
        "table",
        "rows above a mark, in French",
        "Quels élèves ont plus de 15 dans notes.csv ?",
        {"notes.csv": "eleve,note\n" + "".join(f"{pupil},{mark}\n" for pupil, mark in pairs)},
        names(pupils[:3], pupils[3:]),
        language="fr",
    )


def history(commits: list[tuple[str, str, dict[str, str]]]) -> Build:
    """A repository on the branch main with those commits: author, subject, files."""

    def build(root: Path) -> None:
        git(root, "init", "-q", "-b", "main")
        for author, subject, contents in commits:
            tree(contents)(root)
            git(root, "add", ".")
            git(root, "commit", "-q", "-m", subject, f"--author={author} <{author.lower()}@example.org>")

    return build


def _authors(rng: Random, counts: dict[str, int]) -> Build:
    turns = [name for name, count in counts.items() for _ in range(count)]
    rng.shuffle(turns)
    return history([(name, f"Tidy the {WORDS[n]}", {"log.txt": f"{n}\n"}) for n, name in enumerate(turns)])


def _busiest(rng: Random) -> Task:
    people = rng.sample(["Noor", "Piotr", "Salma", "Viktor"], 3)
    build = _authors(rng, dict(zip(people, (6, 3, 2), strict=True)))
    question = "Who has made the most commits in this repository?"
    return Task("busiest author", question, build, picks(people[0], people[1:]), kind="git")


def _last_change(rng: Random) -> Task:
    stems = rng.sample(WORDS, 5)
    every = {f"{stem}.py": f"NAME = '{stem}'\n" for stem in stems}
    last = {f"{stem}.py": f"NAME = '{stem.upper()}'\n" for stem in stems[:2]}
    build = history([("Noor", "Start", every), ("Piotr", "Shout", last)])
    check = names(stems[:2], stems[2:])
    return Task(
        "files of the last commit", "Which files did the last commit touch?", build, check, kind="git"
    )


def _branch(rng: Random) -> Task:
    name = f"{rng.choice(WORDS)}-{rng.randint(20, 99)}"
    build = history([("Noor", "Start", {"a.txt": "a\n"}), ("Noor", "Go on", {"a.txt": "b\n"})])

    def check(root: Path, _answer: str) -> bool:
        current = output(root, "branch", "--show-current", program="git")
        return (current or "").strip() == name and exactly({"a.txt": "b\n"})(root, "")

    return Task(
        "new branch", f"start a new git branch {name} here and switch to it", build, check, kind="git"
    )


def _uncommitted(rng: Random) -> Task:
    stems = rng.sample(WORDS, 5)
    every = {f"{stem}.txt": f"{stem}\n" for stem in stems}

    def build(root: Path) -> None:
        history([("Noor", "Start", every)])(root)
        tree({f"{stem}.txt": "neu\n" for stem in stems[:2]})(root)

    question = "Welche Dateien in diesem Git-Repository habe ich geändert, aber noch nicht committet?"
    check = names(stems[:2], stems[2:])
    return Task("uncommitted files, in German", question, build, check, kind="git", language="de")


def _commits_of(rng: Random) -> Task:
    count = rng.randint(3, 6)
    build = _authors(rng, {"Salma": count, "Viktor": 8, "Noor": 2})
    question = "Combien de commits Salma a-t-elle faits dans ce dépôt ?"
    return Task(
        "commits of an author, in French",
        question,
        build,
        tells(count),
        kind="git",
        language="fr",
    )


MEASURE = (_words, _newest, _pictures, _most_lines, _direct_files)
LOOKUP = (_port, _maintainer, _line, _phone, _train)
TABLE = (_coldest, _open_orders, _expenses, _average, _pupils)
GIT = (_busiest, _last_change, _branch, _uncommitted, _commits_of)
