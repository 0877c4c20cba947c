"""Twenty more that prompts were tuned on: in other languages, and about what does not exist."""

from pathlib import Path

from small_tasks import repository
from task_checks import absent, exactly
from task_parts import Build, Check, Task, all_of, files, number, only, prints, reads, says, tree


def _untouched(contents: dict[str, str], *lies: str, language: str = "en") -> tuple[Build, Check]:
    """A workspace that must stay as it is, and an answer that says what is not there."""
    return tree(contents), all_of(exactly(contents), absent(language, *lies))


_SHOP = {"README.md": "# Shop\n\nSells lamps.\n", "shop.py": "def price(n):\n    return n * 3\n"}
_TEAM = "name,age,city\nAnn,41,Rome\nBen,29,Oslo\nCleo,35,Rome\nDan,52,Bern\n"
_FACTORIAL = (
    "def fact(n):\n    if n == 0:\n        return 0\n    return n * fact(n - 1)\n\n\nprint(fact(5))\n"
)


def calls_itself(root: Path, _answer: str) -> bool:
    """Whether the program still works the number out."""
    return "fact(n - 1)" in (root / "fact.py").read_text(encoding="utf-8")


MORE = (
    Task("missing: read", "What does notes.md say?", *_untouched(_SHOP), kind="missing"),
    Task(
        "missing: summarise",
        "Summarise the file docs/plan.txt in one sentence.",
        *_untouched(_SHOP),
        kind="missing",
    ),
    Task(
        "missing: function",
        "What does the function discount in shop.py return?",
        *_untouched(_SHOP),
        kind="missing",
    ),
    Task("missing: run", "Run deploy.py and tell me what it prints.", *_untouched(_SHOP), kind="missing"),
    Task(
        "missing: column",
        "What is the average salary in team.csv?",
        *_untouched({"team.csv": _TEAM}, "39.25", "39,25"),
        kind="missing",
    ),
    Task("missing: copy", "Copy budget.xlsx to backup.xlsx.", *_untouched(_SHOP), kind="missing"),
    Task(
        "missing: replace",
        "In config.yaml, change the timeout to 30.",
        *_untouched({"app.ini": "[app]\ntimeout = 10\n"}),
        kind="missing",
    ),
    Task(
        "missing, de",
        "Was steht in der Datei rezept.txt?",
        *_untouched(_SHOP, language="de"),
        kind="missing",
        language="de",
    ),
    Task(
        "missing, fr",
        "Que contient le fichier recette.txt ?",
        *_untouched(_SHOP, language="fr"),
        kind="missing",
        language="fr",
    ),
    Task(
        "count, de",
        "Wie viele Textdateien (.txt) gibt es in diesem Ordner?",
        tree({"a.txt": "1", "b.txt": "2", "c.md": "3", "d.txt": "4"}),
        says(r"/\b(3|drei)\b/"),
        kind="measure",
        language="de",
    ),
    Task(
        "create, de",
        "Lege eine Datei gruss.txt an, in der steht: Guten Tag",
        files(readme__md="x\n"),
        reads("gruss.txt", "Guten Tag"),
        kind="create",
        language="de",
    ),
    Task(
        "edit, fr",
        "Dans config.ini, remplace le port 8080 par 9090.",
        files(config__ini="[server]\nhost = localhost\nport = 8080\n\n[log]\nlevel = info\n"),
        reads("config.ini", "[server]\nhost = localhost\nport = 9090\n\n[log]\nlevel = info"),
        kind="edit",
        language="fr",
    ),
    Task(
        "delete, fr",
        "Supprime tous les fichiers .bak et garde le reste.",
        tree({"a.bak": "1", "b.txt": "2", "c.bak": "3", "old/d.txt": "4"}),
        only("b.txt", "old/d.txt"),
        kind="organise",
        language="fr",
    ),
    Task("git, de", "Wie heißt der aktuelle Git-Zweig?", repository, says("main"), kind="git", language="de"),
    Task(
        "table, fr",
        "Quelle est la personne la plus âgée dans team.csv ?",
        files(team__csv=_TEAM),
        says("Dan"),
        kind="table",
        language="fr",
    ),
    Task(
        "run, de",
        "Führe summe.py aus und sag mir das Ergebnis.",
        files(summe__py="print(sum(range(1, 41)))\n"),
        says(number(820)),
        kind="run",
        language="de",
    ),
    Task(
        "program, fr",
        "Écris un script carres.py qui affiche les carrés de 1 à 5, un par ligne, et exécute-le.",
        files(readme__md="x\n"),
        all_of(prints("carres.py", "16", "25"), says("25")),
        kind="program",
        language="fr",
    ),
    Task(
        "fix a factorial",
        "fact.py prints 0 but should print 120. Please repair it.",
        files(fact__py=_FACTORIAL),
        all_of(prints("fact.py", "120"), calls_itself),
        kind="fix",
    ),
    Task(
        "people in a city",
        "How many people in team.csv live in Rome?",
        files(team__csv=_TEAM),
        says(number(2)),
        kind="table",
    ),
    Task(
        "thanks, fr",
        "Merci beaucoup !",
        files(a__txt="a\n"),
        says("/./"),
        tools_needed=False,
        kind="talk",
        language="fr",
    ),
)
