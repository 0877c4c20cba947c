"""Held-out tasks about programs, and talk that needs no tools: run, program, fix, talk."""

import re
from pathlib import Path
from random import Random

from held_out_reading import WORDS, asked, prose
from task_checks import Cases, chats, exactly, gives, keeps, matches, picks, tells
from task_parts import Check, Task, all_of, output, prints, tree


def _arguments(rng: Random) -> Task:
    given, factor = rng.sample(range(3, 40), 3), rng.randint(3, 9)
    text = "import sys\n\nscore = 0\nfor word in sys.argv[1:]:\n"
    text += f"    score = score * {factor} + int(word)\nprint(score)\n"
    score = (given[0] * factor + given[1]) * factor + given[2]
    asks = " ".join(map(str, given))
    question = f"Run score.py with the arguments {asks} and tell me what comes out."
    return asked("run", "program with arguments", question, {"score.py": text}, tells(score))


def _failed_check(rng: Random) -> Task:
    parts = rng.sample(["disk", "network", "memory", "clock", "printer"], 4)
    bad = rng.choice(parts)
    text = "".join(f"echo '{part}: {'FAILED' if part == bad else 'ok'}'\n" for part in parts)
    said = rf"{bad}\W+(?:\w+\W+){{0,4}}fail|fail\w*\W+(?:\w+\W+){{0,5}}{bad}"
    wrong = [rf"{part}\W+(?:check\W+)?(?:has |is )?fail" for part in parts if part != bad]
    question = "execute check.sh with bash and tell me which of its checks fails"
    return asked("run", "failing check", question, {"check.sh": text}, matches(said, *wrong))


def _why(rng: Random) -> Task:
    units = rng.sample(["furlong", "bushel", "fathom", "pint", "cubit"], 4)
    known = "{" + ", ".join(f'"{unit}": {rng.randint(2, 60)}' for unit in units[1:]) + "}"
    text = f'KNOWN = {known}\n\nfor line in open("units.txt"):\n    unit = line.strip()\n'
    text += '    if unit not in KNOWN:\n        raise ValueError(f"unknown unit: {unit}")\nprint("loaded")\n'
    listed = rng.sample(units, 4)
    contents = {"loader.py": text, "units.txt": "\n".join(listed) + "\n"}
    question = "loader.py used to work, now it stops with an error. Run it: what is the error message?"
    return asked("run", "message of an error", question, contents, picks(units[0], units[1:]))


def _last_value(rng: Random) -> Task:
    start, factor = rng.randint(5, 60), rng.randint(3, 9)
    value = start
    for _ in range(5):
        value = value * factor % 1009 + 1010
    text = f"wert = {start}\nfor schritt in range(1, 6):\n    wert = wert * {factor} % 1009 + 1010\n"
    text += '    print("Schritt", schritt)\nprint("Endwert:", wert)\n'
    question = "Führe zaehler.py aus. Welchen Endwert gibt das Skript aus?"
    contents = {"zaehler.py": text}
    return asked("run", "value at the end, in German", question, contents, tells(value), language="de")


def _exit_code(rng: Random) -> Task:
    code = rng.randint(20, 90)
    text = f"echo 'Bonjour tout le monde'\nexit $(({code - 7} + 7))\n"
    question = "Exécute bonjour.sh avec bash. Quel est son code de sortie ?"
    contents = {"bonjour.sh": text}
    return asked("run", "exit code, in French", question, contents, tells(code), language="fr")


def written(name: str, question: str, contents: dict[str, str], *checks: Check, language: str = "en") -> Task:
    """A task to write a program, run it and tell what it gives."""
    check = all_of(*checks, keeps(contents))
    return Task(name, question, tree(contents), check, kind="program", language=language)


def _squares(rng: Random) -> Task:
    last = rng.randint(21, 60)
    total = sum(number**2 for number in range(1, last + 1))
    question = (
        f"Write a Python program squares.py that prints the sum of the squares of the numbers from 1 to"
        f" {last}. Run it and tell me the result."
    )
    return written("sum of squares", question, {}, prints("squares.py", str(total)), tells(total))


def _vowels(rng: Random) -> Task:
    text = prose(rng, rng.randint(12, 24))
    count = sum(letter in "aeiou" for letter in text)
    question = (
        "write vowels.py, a script that counts the vowels (a e i o u) in sentence.txt, run it,"
        " how many are there?"
    )
    contents = {"sentence.txt": text}
    return written("count vowels", question, contents, prints("vowels.py", str(count)), tells(count))


def _count_script(rng: Random) -> Task:
    count = rng.randint(14, 26)
    contents = {f"page{number}.txt": "x\n" for number in range(count)} | {"a.md": "x\n", "b.md": "x\n"}

    def counts(root: Path, _answer: str) -> bool:
        printed = output(root, "count.sh", program="bash")
        return printed is not None and str(count) in re.findall(r"\d+", printed)

    question = (
        "I need a bash script called count.sh that prints how many .txt files there are in this folder."
        " Please write it, run it, and tell me the number."
    )
    return written("script that counts", question, contents, counts, tells(count))


def _primes(rng: Random) -> Task:
    end = rng.randint(60, 190)
    primes = {str(n) for n in range(2, end) if all(n % divisor for divisor in range(2, n))}

    def shows(root: Path, _answer: str) -> bool:
        return primes <= {*re.findall(r"\d+", output(root, "primzahlen.py") or "")}

    question = (
        f"Schreib ein Python-Programm primzahlen.py, das alle Primzahlen kleiner als {end} ausgibt."
        " Führ es aus und sag mir, wie viele es sind."
    )
    return written("primes, in German", question, {}, shows, tells(len(primes)), language="de")


def _times_table(rng: Random) -> Task:
    base = rng.randint(13, 29)
    question = (
        f"Écris un script Python table.py qui affiche la table de multiplication de {base} (de 1 à 10),"
        " exécute-le et donne-moi le dernier résultat."
    )
    shows = prints("table.py", str(base * 7), str(base * 10))
    return written("times table, in French", question, {}, shows, tells(base * 10), language="fr")


def mended(name: str, question: str, contents: dict[str, str], *checks: Check, language: str = "en") -> Task:
    """A task to mend a program; the checks run it, with other input too."""
    return Task(name, question, tree(contents), all_of(*checks), kind="fix", language=language)


def _mean(rng: Random) -> Task:
    a, b = rng.randint(2, 20), rng.randint(21, 40)
    given = (str(a), str(b), str(90 - a - b))
    text = "import sys\n\nvalues = [float(word) for word in sys.argv[1:]]\n"
    text += "print(sum(values) / (len(values) - 1))\n"
    question = (
        f"`python3 mean.py {' '.join(given)}` should print the mean, 30.0, but prints 45.0."
        " Find the mistake and correct it."
    )
    check = gives("mean.py", {given: "30.0", ("10", "20"): "15.0", ("1", "2", "3", "6"): "3.0"})
    return mended("wrong mean", question, {"mean.py": text}, check)


def _slug(rng: Random) -> Task:
    one, other = rng.sample(WORDS, 2)
    text = 'def slug(title):\n    return title.strip().lower().replace(" ", "_")\n'
    test = f'from slug import slug\n\nassert slug(" {one.title()} {other.title()} ") == "{one}-{other}"\n'
    test += 'print("all good")\n'
    contents = {"slug.py": text, "test_slug.py": test}
    hidden = 'from slug import slug; print(slug("One More Title "))'
    check = all_of(
        gives("test_slug.py", {(): "all good"}),
        keeps({"test_slug.py": test}),
        lambda root, _answer: (output(root, "-c", hidden) or "").strip() == "one-more-title",
    )
    question = "python3 test_slug.py fails. The test is right, so please fix slug.py."
    return mended("failing test", question, contents, check)


def _syntax(rng: Random) -> Task:
    word = rng.choice(("Good evening", "Welcome back", "Nice to see you"))
    text = (
        f'import sys\n\n\ndef greet(name)\n    return f"{word}, {{name}}!"\n\n\nprint(greet(sys.argv[1]))\n'
    )
    check = gives("greet.py", {("Ada",): f"{word}, Ada!", ("Bo",): f"{word}, Bo!"})
    question = (
        f"greet.py has a syntax error, can you repair it? `python3 greet.py Ada` should print {word}, Ada!"
    )
    return mended("syntax error", question, {"greet.py": text}, check)


def _countdown(rng: Random) -> Task:
    start = rng.randint(4, 7)
    text = "import sys\n\nfor zahl in range(int(sys.argv[1]), 1, -1):\n    print(zahl)\n"
    cases: Cases = {(str(n),): "\n".join(map(str, range(n, 0, -1))) for n in (start, 3, 9)}
    question = (
        f"countdown.py soll von der angegebenen Zahl bis 1 herunterzählen. Mit {start} aufgerufen hört es"
        " aber schon bei 2 auf. Bitte korrigieren."
    )
    contents = {"countdown.py": text}
    return mended("countdown, in German", question, contents, gives("countdown.py", cases), language="de")


def _celsius(rng: Random) -> Task:
    degrees = rng.choice((20, 30, 40, 60, 100))
    text = "import sys\n\ncelsius = float(sys.argv[1])\nprint(celsius * 9 / 5 - 32)\n"
    cases: Cases = {(str(given),): f"{given * 9 // 5 + 32}.0" for given in (degrees, 10, 25)}
    question = (
        f"degres.py doit convertir des degrés Celsius en Fahrenheit, mais le résultat est faux : pour"
        f" {degrees} il devrait afficher {degrees * 9 // 5 + 32}.0. Corrige-le."
    )
    return mended(
        "degrees, in French", question, {"degres.py": text}, gives("degres.py", cases), language="fr"
    )


_FILES = {"notes.txt": "x\n", "plan.md": "y\n"}


def said(
    name: str, question: str, check: Check, *, tools_needed: bool | None = None, language: str = "en"
) -> Task:
    """A task of talk: nothing may change."""
    every = all_of(check, chats, exactly(_FILES))
    return Task(name, question, tree(_FILES), every, tools_needed, kind="talk", language=language)


def _hey(rng: Random) -> Task:
    question = rng.choice(("hey there :)", "Good morning!", "hi, are you there?"))
    return said("greeting", question, chats, tools_needed=False)


def _cheers(rng: Random) -> Task:
    question = rng.choice(("cheers, that's all for today", "Perfect, thanks a lot!", "great, thx. bye!"))
    return said("goodbye", question, chats, tools_needed=False)


def _plus(rng: Random) -> Task:
    one, other = rng.randint(21, 78), rng.randint(13, 19)
    return said("sum in the head", f"quick one: what's {one} plus {other}?", tells(one + other))


def _capital(rng: Random) -> Task:
    country, capital = rng.choice(
        (
            ("Portugal", r"lissabon|lisbo[na]+"),
            ("Norwegen", "oslo"),
            ("Japan", "tok[iy]o"),
            ("Ungarn", "budapest"),
        )
    )
    question = f"Wie heißt die Hauptstadt von {country}?"
    return said("capital, in German", question, matches(capital), language="de")


def _minutes(rng: Random) -> Task:
    hours = rng.randint(2, 5)
    word = ("deux", "trois", "quatre", "cinq")[hours - 2]
    question = f"Combien de minutes y a-t-il dans {word} heures ?"
    return said("minutes, in French", question, tells(hours * 60), language="fr")


RUN = (_arguments, _failed_check, _why, _last_value, _exit_code)
PROGRAM = (_squares, _vowels, _count_script, _primes, _times_table)
FIX = (_mean, _slug, _syntax, _countdown, _celsius)
TALK = (_hey, _cheers, _plus, _capital, _minutes)
