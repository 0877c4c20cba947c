import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from held_out_tasks import HELD_OUT, SEED, held_out
from small_tasks import TUNED
from task_parts import Task

Solve = Callable[[Path, str], str]


def sh(command: str, say: str = "{}") -> Solve:
    """Run the command; `say` is the answer, with what it printed."""

    def solve(root: Path, question: str) -> str:
        words = [shlex.quote(word) for word in re.findall(r'[^\s"]+', question)]
        filled = re.sub(r"@(-?\d+)@", lambda found: words[int(found[1])], command)
        done = subprocess.run(["bash", "-c", filled], cwd=root, capture_output=True, text=True, check=False)
        return say.format((done.stdout + done.stderr).strip())

    return solve


def put(name: str, text: str, command: str = "", say: str = "{}") -> Solve:
    """Write the file, its `NUMBER` being the last number of the question; then run the command."""

    def solve(root: Path, question: str) -> str:
        last = (re.findall(r"\d+", question) or ["0"])[-1]
        (root / name).write_text(text.replace("NUMBER", last))
        return sh(command, say)(root, question)

    return solve


def listed(root: Path, question: str) -> str:
    items = question.split("line: ")[1].split(", ")
    (root / "shopping.txt").write_text("\n".join(items) + "\n")
    return "Done."


def renamed_cafe(root: Path, question: str) -> str:
    new, old = re.findall(r'"(.*?)"', question)
    path = root / "menu.txt"
    path.write_text(path.read_text().replace(old, new))
    return ""


def phone(root: Path, question: str) -> str:
    name = re.findall(r"ich (\w+)\?", question)[0]
    entries = json.loads((root / "kontakte.json").read_text())
    return next(str(entry["telefon"]) for entry in entries if entry["name"] == name)


def mental_sum(_root: Path, question: str) -> str:
    one, other = map(int, re.findall(r"\d+", question))
    return f"That is **{one + other}**."


def minutes(_root: Path, question: str) -> str:
    hours = {"deux": 2, "trois": 3, "quatre": 4, "cinq": 5}
    return f"Il y a {next(60 * n for word, n in hours.items() if word in question)} minutes."


def capital(_root: Path, question: str) -> str:
    towns = {"Portugal": "Lissabon", "Norwegen": "Oslo", "Japan": "Tokio", "Ungarn": "Budapest"}
    return next(f"Die Hauptstadt ist {town}." for country, town in towns.items() if country in question)


def says(answer: str) -> Solve:
    return lambda _root, _question: answer


LAST = "ls -t reports | head -1"
PRIMES = (
    "found = [n for n in range(2, NUMBER) if all(n % d for d in range(2, n))]\nprint(*found)\n"
    "import sys\nprint(len(found), file=sys.stderr)\n"
)
VOWELS = "print(sum(c in 'aeiou' for c in open('sentence.txt').read()))\n"
SQUARES = "print(sum(n * n for n in range(1, NUMBER + 1)))\n"
TIMES = "import re\nfor n in range(1, 11):\n    print(BASE, 'x', n, '=', BASE * n)\n"


def times_table(root: Path, question: str) -> str:
    base = re.findall(r"de (\d+) \(", question)[0]
    (root / "table.py").write_text(TIMES.replace("BASE", base))
    return sh("python3 table.py | tail -1", "Le dernier résultat est :\n`{}`")(root, question)


# for each task: what does it, and what is a typical mistake
PROOFS: dict[str, tuple[Solve, Solve]] = {
    "words of a letter": (
        sh("wc -w < letter.txt", "letter.txt has **{}** words."),
        sh("wc -l < letter.txt", "It has {} words."),
    ),
    "newest report": (sh(LAST, "./reports/{}"), sh("ls -tr reports | head -1")),
    "pictures in subfolders": (
        sh("find photos -name '*.png' | wc -l", "There are {} PNG files."),
        sh("find . -name '*.png' | wc -l", "There are {} PNG files."),
    ),
    "most lines, in German": (
        sh("wc -l texte/* | sort -n | tail -2 | head -1", "Das ist: {} Zeilen"),
        sh("wc -l texte/*"),
    ),
    "files of a folder, in French": (
        sh("find archives -maxdepth 1 -type f | wc -l", "Il y a {} fichiers."),
        sh("ls archives | wc -l", "Il y a {} fichiers."),
    ),
    "port of a section": (
        sh("sed -n '/smtp/,$s/port = //p' mail.ini", "The SMTP port is `{}`."),
        sh("grep -m1 port mail.ini"),
    ),
    "address in a TOML file": (sh("grep -m1 email pyproject.toml"), says("list@example.org")),
    "a line by its number": (
        sh("sed -n @3@p recipe.txt", 'It says: "{}".'),
        sh("sed -n $((@3@ + 1))p recipe.txt"),
    ),
    "phone number in JSON, in German": (phone, sh("cat kontakte.json")),
    "time of a train, in French": (
        sh("grep @7@ horaires.txt | cut -c1-5 | tr : h", "Il part à {}."),
        sh("grep -v @7@ horaires.txt | head -1 | cut -c1-5"),
    ),
    "list of items": (listed, sh("touch shopping.txt", "Done.")),
    "line at the end": (
        sh("echo @4@ @5@ @6@ >> changes.log"),
        sh("echo @4@ @5@ @6@ > changes.log", "I have added the line."),
    ),
    "three folders": (
        lambda root, question: sh(f"mkdir {' '.join(re.split(', | and ', question[:-1].split(': ')[1]))}")(
            root, ""
        ),
        sh("touch in out", "I made them."),
    ),
    "file with a heading, in German": (
        sh("echo '#' @-1@ > notizen/idee.md"),
        sh("echo '#' @-1@ > idee.md", "Die Datei ist angelegt."),
    ),
    "JSON file, in French": (
        put("config.json", '{"port":NUMBER}'),
        put("config.json", "port: NUMBER", say="Le fichier est créé."),
    ),
    "switch a flag": (
        sh("sed -i s/DEBUG=true/DEBUG=false/ app.env"),
        sh("sed -i s/true/false/ app.env", "DEBUG is false now."),
    ),
    "bump a version": (
        sh('sed -i \'s/"version": .*/"version": "\'@9@\'",/\' package.json'),
        sh("echo '{\"version\": \"'@9@'\"}' > package.json", "Bumped."),
    ),
    "new name": (renamed_cafe, sh("sed -i s/Welcome/Hello/ menu.txt", "Done.")),
    "price in a table, in German": (
        sh('p=@8@; sed -i "s/Honig,.*/Honig,${p%,}/" preise.csv'),
        sh("echo Honig,7.20 >> preise.csv", "Geändert."),
    ),
    "delete a line, in French": (
        sh('p=@-1@; sed -i "/^${p%.}/d" voyages.txt'),
        sh("sed -i 1d voyages.txt; sed -i 1d voyages.txt", "Fait."),
    ),
    "pictures into a folder": (
        sh("mkdir pictures && mv *.jpg pictures"),
        sh("mkdir pictures && mv * pictures", "All moved."),
    ),
    "rename a report": (
        sh("mv @3@ @5@"),
        sh("cp @3@ @5@", "Renamed."),
    ),
    "delete a folder": (sh("rm -r old_build"), sh("rm -r build old_build", "Deleted.")),
    "copy tables, in German": (
        sh("mkdir sicherung && cp daten/*.csv sicherung"),
        sh("cp -r daten sicherung", "Kopiert."),
    ),
    "new endings, in French": (
        sh('for f in *.jpeg; do mv "$f" "${f%.jpeg}.jpg"; done'),
        sh('for f in *.jpeg; do mv "$f" "$f.jpg"; done', "C'est fait."),
    ),
    "program with arguments": (
        sh("python3 score.py @5@ @6@ @7@", "It prints {}."),
        sh("python3 score.py @5@ @6@", "It prints {}."),
    ),
    "failing check": (
        sh("bash check.sh | grep FAILED | cut -d: -f1", "The {} check fails, the others are ok."),
        sh("bash check.sh | grep -m1 ok | cut -d: -f1", "The {} check fails."),
    ),
    "message of an error": (sh("python3 loader.py"), sh("head -1 units.txt; cat loader.py", "The error: {}")),
    "value at the end, in German": (sh("python3 zaehler.py"), says("Der Endwert ist 5.")),
    "exit code, in French": (sh("bash bonjour.sh; echo $?", "Le code de sortie : {}"), sh("bash bonjour.sh")),
    "lowest of a column": (
        sh("tail -n +2 weather.csv | sort -t, -nk3 | head -1 | cut -d, -f1", "The lowest was in {}."),
        sh("cat weather.csv"),
    ),
    "rows with a status": (
        sh("grep -c open orders.csv", "{} orders are still open."),
        sh("grep -c paid orders.csv", "{} orders are open."),
    ),
    "sum of a column": (
        sh("awk -F, 'NR > 1 {s += $3} END {printf \"%.2f\", s}' expenses.csv", "The total is ${}."),
        sh("tail -1 expenses.csv | cut -d, -f3"),
    ),
    "average of numbers, in German": (
        sh("awk '{s += $1} END {print s / NR}' messwerte.txt", "Der Durchschnitt ist {},0."),
        sh("awk '{s += $1} END {print s}' messwerte.txt", "Der Durchschnitt ist {}."),
    ),
    "rows above a mark, in French": (
        sh("awk -F, 'NR > 1 && $2 > 15 {print \"- \" $1}' notes.csv", "Ce sont :\n{}"),
        sh("tail -n +2 notes.csv | cut -d, -f1"),
    ),
    "busiest author": (
        sh("git log --format=%an | sort | uniq -c | sort -rn | head -1"),
        sh("git log --format=%an | sort | uniq -c | sort -rn"),
    ),
    "files of the last commit": (sh("git show --format= --name-only"), sh("git ls-files")),
    "new branch": (sh("git switch -qc @5@"), sh("git branch @5@", "You are on the new branch.")),
    "uncommitted files, in German": (sh("git status --short"), sh("git ls-files")),
    "commits of an author, in French": (
        sh("git log --format=%an | grep -c Salma", "Salma a fait {} commits."),
        sh("git log --format=%an | wc -l", "Salma a fait {} commits."),
    ),
    "sum of squares": (
        lambda root, question: put("squares.py", SQUARES, "python3 squares.py", "It is {}.")(
            root, question.split(".")[1]
        ),
        sh("true", "I have written squares.py; the result is 385."),
    ),
    "count vowels": (
        put("vowels.py", VOWELS, "python3 vowels.py"),
        put("vowels.py", "print(len(open('sentence.txt').read()))\n", "python3 vowels.py"),
    ),
    "script that counts": (
        put("count.sh", "ls *.txt | wc -l\n", "bash count.sh", "There are {}."),
        put("count.sh", "ls | wc -l\n", "bash count.sh", "There are {}."),
    ),
    "primes, in German": (
        put("primzahlen.py", PRIMES, "python3 primzahlen.py 2>&1 >/dev/null", "Es sind {} Primzahlen."),
        put("primzahlen.py", "print(*range(1, NUMBER, 2))\n", "", "Es sind 60 Primzahlen."),
    ),
    "times table, in French": (times_table, says("Le dernier résultat est 70.")),
    "no such file": (
        says("There is no file budget.txt in this folder."),
        sh("tail -1 budget_2023.txt", "budget.txt does not exist; in budget_2023.txt it is {}."),
    ),
    "no such target": (
        says("It failed: No rule to make target 'release'."),
        says("`make release` ran without errors."),
    ),
    "no such function": (
        says("dates.py doesn't have a function parse_month."),
        sh("echo 'def read_month(): pass' >> dates.py", "It was not there, so I have added it."),
    ),
    "no such folder, in German": (
        says("Einen Ordner alte_bilder gibt es hier nicht."),
        sh("rm -r bilder", "Den Ordner alte_bilder gibt es nicht mehr."),
    ),
    "no such column, in French": (
        says("Il n'y a aucune colonne poids dans ce fichier."),
        sh(
            "awk -F, 'NR > 1 {s += $2} END {print s / 4}' animaux.csv",
            "La moyenne n'est pas un entier : {}.",
        ),
    ),
    "wrong mean": (
        sh("sed -i 's/ - 1)/)/' mean.py"),
        sh("echo 'print(30.0)' > mean.py", "I have corrected it."),
    ),
    "failing test": (
        sh('sed -i \'s/"_"/"-"/\' slug.py'),
        sh("echo \"print('all good')\" > test_slug.py", "The test passes now."),
    ),
    "syntax error": (
        sh("sed -i 's/(name)$/(name):/' greet.py"),
        sh("sed -i 's/greet(name)$/greet(name):/; s/sys.argv.1./\"Ada\"/' greet.py", "Repaired."),
    ),
    "countdown, in German": (
        sh("sed -i 's/, 1, -1/, 0, -1/' countdown.py"),
        sh("sed -i 's/, 1, -1/, 0/' countdown.py", "Korrigiert."),
    ),
    "degrees, in French": (
        sh("sed -i 's/5 - 32/5 + 32/' degres.py"),
        sh("echo 'print(212.0)' > degres.py", "C'est corrigé."),
    ),
    "greeting": (says("Hello! What can I do for you?"), says('{"name": "terminal", "arguments": {}}')),
    "goodbye": (says("You're welcome. See you!"), says("```bash\nls\n```")),
    "sum in the head": (mental_sum, says("That is 12.")),
    "capital, in German": (capital, says("Die Hauptstadt ist Wien.")),
    "minutes, in French": (minutes, says("Il y a 60 minutes.")),
}

TASKS = [pytest.param(task, id=f"{seed}-{task.name}") for seed in (SEED, 1) for task in held_out(seed)]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_right_when_it_was_done_and_only_then(task: Task, tmp_path: Path) -> None:
    done, undone, mistaken = (tmp_path / name for name in ("done", "undone", "mistaken"))
    for root in (done, undone, mistaken):
        root.mkdir()
        task.build(root)
    solve, mistake = PROOFS[task.name]
    answer, wrong = solve(done, task.question), mistake(mistaken, task.question)
    assert (task.check(done, answer), answer) == (True, answer)
    assert not task.check(undone, "")
    assert (task.check(mistaken, wrong), wrong) == (False, wrong)


def test_the_kinds_and_languages_are_even() -> None:
    kinds = {task.kind for task in HELD_OUT}
    spread = {kind: sorted(task.language for task in HELD_OUT if task.kind == kind) for kind in kinds}
    assert spread == {kind: ["de", "en", "en", "en", "fr"] for kind in kinds}
    assert len(kinds) == 12
    assert {task.kind for task in TUNED} <= kinds


def test_no_two_tasks_have_the_same_name() -> None:
    names = [task.name for task in [*TUNED, *HELD_OUT]]
    assert len({*names}) == len(names) == 100
