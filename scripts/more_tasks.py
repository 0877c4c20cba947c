"""Small tasks in other languages, about what does not exist, and that need no tool; prompts are tuned on them."""

import re
from collections.abc import Callable
from pathlib import Path

from small_tasks import (
    Check,
    Task,
    _all,
    _files,
    _holds,
    _is,
    _number,
    _only,
    _prints,
    _repository,
    _says,
    _tree,
)

ABSENT = re.compile(
    r"\b(no|not|none|never|missing|fail\w*|error|cannot|unable|nothing|nicht|kein\w*|fehl\w*|pas|aucun\w*|introuvable"
    r"|échou\w*|erreur|n'existe|impossible)\b|n't",
    re.IGNORECASE,
)


def _absent(*lies: str) -> Check:
    """The answer says that something is not there, and none of the lies."""
    return lambda _root, answer: bool(ABSENT.search(answer)) and not any(lie in answer for lie in lies)


def _same(contents: dict[str, str]) -> Check:
    return lambda root, _answer: (
        {
            str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        == contents
    )


def _untouched(contents: dict[str, str], *lies: str) -> tuple[Callable[[Path], None], Check]:
    return _tree(contents), _all(_same(contents), _absent(*lies))


_SHOP = {"README.md": "# Shop\n\nSells lamps.\n", "shop.py": "def price(n):\n    return n * 3\n"}
_TEAM = "name,age,city\nAnn,41,Rome\nBen,29,Oslo\nCleo,35,Rome\nDan,52,Bern\n"
_FACTORIAL = "def fact(n):\n    if n == 0:\n        return 0\n    return n * fact(n - 1)\n\n\nprint(fact(5))\n"

MORE = (
    Task("missing: read", "What does notes.md say?", *_untouched(_SHOP)),
    Task("missing: summarise", "Summarise the file docs/plan.txt in one sentence.", *_untouched(_SHOP)),
    Task("missing: function", "What does the function discount in shop.py return?", *_untouched(_SHOP)),
    Task("missing: run", "Run deploy.py and tell me what it prints.", *_untouched(_SHOP)),
    Task(
        "missing: column",
        "What is the average salary in team.csv?",
        *_untouched({"team.csv": _TEAM}, "39.25", "39,25"),
    ),
    Task("missing: copy", "Copy budget.xlsx to backup.xlsx.", *_untouched(_SHOP)),
    Task(
        "missing: replace",
        "In config.yaml, change the timeout to 30.",
        *_untouched({"app.ini": "[app]\ntimeout = 10\n"}),
    ),
    Task("missing, de", "Was steht in der Datei rezept.txt?", *_untouched(_SHOP)),
    Task("missing, fr", "Que contient le fichier recette.txt ?", *_untouched(_SHOP)),
    Task(
        "count, de",
        "Wie viele Textdateien (.txt) gibt es in diesem Ordner?",
        _tree({"a.txt": "1", "b.txt": "2", "c.md": "3", "d.txt": "4"}),
        _says(r"/\b(3|drei)\b/"),
    ),
    Task(
        "create, de",
        "Lege eine Datei gruss.txt an, in der steht: Guten Tag",
        _files(readme__md="x\n"),
        _is("gruss.txt", "Guten Tag"),
    ),
    Task(
        "edit, fr",
        "Dans config.ini, remplace le port 8080 par 9090.",
        _files(config__ini="[server]\nhost = localhost\nport = 8080\n\n[log]\nlevel = info\n"),
        _is("config.ini", "[server]\nhost = localhost\nport = 9090\n\n[log]\nlevel = info"),
    ),
    Task(
        "delete, fr",
        "Supprime tous les fichiers .bak et garde le reste.",
        _tree({"a.bak": "1", "b.txt": "2", "c.bak": "3", "old/d.txt": "4"}),
        _only("b.txt", "old/d.txt"),
    ),
    Task("git, de", "Wie heißt der aktuelle Git-Zweig?", _repository, _says("main")),
    Task(
        "table, fr",
        "Quelle est la personne la plus âgée dans team.csv ?",
        _files(team__csv=_TEAM),
        _says("Dan"),
    ),
    Task(
        "run, de",
        "Führe summe.py aus und sag mir das Ergebnis.",
        _files(summe__py="print(sum(range(1, 41)))\n"),
        _says(_number(820)),
    ),
    Task(
        "program, fr",
        "Écris un script carres.py qui affiche les carrés de 1 à 5, un par ligne, et exécute-le.",
        _files(readme__md="x\n"),
        _all(_prints("carres.py", "16", "25"), _says("25")),
    ),
    Task(
        "fix a factorial",
        "fact.py prints 0 but should print 120. Please repair it.",
        _files(fact__py=_FACTORIAL),
        _all(_prints("fact.py", "120"), _holds("fact.py", "fact(n - 1)")),
    ),
    Task(
        "people in a city",
        "How many people in team.csv live in Rome?",
        _files(team__csv=_TEAM),
        _says(_number(2)),
    ),
    Task("thanks, fr", "Merci beaucoup !", _files(a__txt="a\n"), _says("/./"), tools_needed=False),
)
