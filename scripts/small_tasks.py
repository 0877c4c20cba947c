"""Forty small tasks that prompts and examples were tuned on, each with a workspace and an objective check."""

import json
from pathlib import Path

from task_parts import Task, all_of, files, git, lacks, number, numbered, only, prints, reads, says, tree


def repository(root: Path) -> None:
    """Three commits to parser.py on main."""
    git(root, "init", "-q", "-b", "main")
    for step, subject in enumerate(("Start the parser", "Read numbers", "Report errors with a line"), 1):
        (root / "parser.py").write_text(f"VERSION = {step}\n", encoding="utf-8")
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", subject)


def _sized(root: Path) -> None:
    for name, size in (("alpha.dat", 900), ("beta.dat", 70_000), ("gamma.dat", 12_000)):
        (root / name).write_bytes(b"x" * size)


_PROJECT = {
    "README.md": "# Shop\n\nA small shop.\n",
    "setup.cfg": "[metadata]\nname = shop\n",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "".join(f"def item_{number}():\n    return {number}\n\n\n" for number in range(9)),
    "src/shop/checkout.py": "".join(
        f"def pay_{number}():\n    return {number}\n\n\n" for number in range(23)
    ),
    "src/shop/stock.py": "".join(f"def stock_{number}():\n    return {number}\n\n\n" for number in range(14)),
    ".venv/lib/python3/site-packages/vendor.py": "x = 1\n" * 4000,
    "tests/test_cart.py": "def test_cart():\n    assert True\n",
    "tests/test_stock.py": "def test_stock():\n    assert True\n\n\ndef test_more():\n    assert True\n",
}
_SALES = "product,price,units\nlamp,35,12\nchair,80,4\ndesk,240,3\nshelf,110,9\n"
_PACKAGE = json.dumps(
    {"name": "boat", "version": "4.17.2", "license": "MIT", "scripts": {"test": "jest"}}, indent=2
)
_TODOS = {
    "a.py": "x = 1  # TODO name it\n# TODO test\n",
    "pkg/b.py": "# TODO move\n\n\ndef b():\n    return 1  # TODO speed\n",
    "pkg/c.py": "y = 2\n",
    "notes.txt": "# TODO not code\n",
}

_TOOLS = (
    "def cut():\n    pass\n\n\ndef join():\n    pass\n\n\nclass Glue:\n    def stick(self):\n       "
    " pass\n\n\ndef paint():\n    pass\n"
)

TUNED = [
    Task(
        "count Python files, name the longest",
        "How many Python files are in this project, and which one is the longest?",
        tree(_PROJECT),
        says(number(6), "checkout.py"),
        kind="measure",
    ),
    Task(
        "largest file", "Which file in this folder is the largest?", _sized, says("beta.dat"), kind="measure"
    ),
    Task(
        "count lines",
        "How many lines are in notes.txt?",
        files(notes__txt=numbered(37)),
        says(number(37)),
        kind="measure",
    ),
    Task(
        "run a script",
        "Run greet.py and tell me what it prints.",
        files(greet__py='print("good " + "day, " + "captain")\n'),
        says("good day, captain"),
        kind="run",
    ),
    Task(
        "create a file",
        "Create a file called hello.txt that contains the text: Hello from Hermes",
        files(readme__md="x\n"),
        reads("hello.txt", "Hello from Hermes"),
        kind="create",
    ),
    Task(
        "append a line",
        "Append the line 'buy milk' to todo.txt.",
        files(todo__txt="call Bob\nwater plants\n"),
        reads("todo.txt", "call Bob\nwater plants\nbuy milk"),
        kind="create",
    ),
    Task(
        "rename a file",
        "Rename draft.md to final.md.",
        files(draft__md="text\n"),
        only("final.md"),
        kind="organise",
    ),
    Task(
        "edit a setting",
        "In config.ini, change the port from 8080 to 9090.",
        files(config__ini="[server]\nhost = localhost\nport = 8080\n\n[log]\nlevel = info\n"),
        reads("config.ini", "[server]\nhost = localhost\nport = 9090\n\n[log]\nlevel = info"),
        kind="edit",
    ),
    Task(
        "JSON field",
        "What version does package.json say?",
        files(package__json=_PACKAGE),
        says("4.17.2"),
        kind="lookup",
    ),
    Task(
        "search for a word",
        "Which file mentions the word 'lighthouse'?",
        tree(
            {
                "a/one.txt": "boats\n",
                "a/two.txt": "the Lighthouse: lighthouse keeper\n",
                "b/three.txt": "harbour\n",
            }
        ),
        says("two.txt"),
        kind="lookup",
    ),
    Task(
        "last commit",
        "Who made the last commit here and what is its message?",
        repository,
        says("ada", "report errors with a line"),
        kind="git",
    ),
    Task(
        "count commits",
        "How many commits does this git repository have?",
        repository,
        says(number(3)),
        kind="git",
    ),
    Task(
        "error in a script",
        "Run broken.py. What kind of error does it stop with, and on which line?",
        files(broken__py="values = [3, 4]\ntotal = sum(values)\n\nprint(total / (len(values) - 2))\n"),
        says("/zero ?division|division by zero/", number(4)),
        kind="run",
    ),
    Task("multiply", "What is 123456789 * 987654?", files(), says("121932591483006"), kind="program"),
    Task(
        "list folders",
        "Which folders are there in this directory?",
        tree({"docs/a.md": "a", "images/b.svg": "b", "source/c.c": "c", "d.txt": "d"}),
        all_of(says("docs", "images", "source"), lacks("d.txt")),
        kind="measure",
    ),
    Task(
        "write and run a script",
        "Write a Python script fib.py that prints the first 10 Fibonacci numbers, one per line, run it, and"
        " tell me the last number.",
        files(),
        all_of(prints("fib.py", "13", "21", "34"), says("/\\b(34|55)\\b/")),
        kind="program",
    ),
    Task(
        "count TODO comments",
        "How many TODO comments are in the Python files here?",
        tree(_TODOS),
        says(number(4)),
        kind="measure",
    ),
    Task(
        "delete by pattern",
        "Delete all .tmp files in this folder and keep everything else.",
        tree({"a.tmp": "1", "b.tmp": "2", "keep.txt": "3", "c.tmpl": "4"}),
        only("keep.txt", "c.tmpl"),
        kind="organise",
    ),
    Task(
        "sum a file of numbers",
        "numbers.txt has one number per line. What is their sum?",
        files(numbers__txt="12\n7\n31\n105\n46\n"),
        says(number(201)),
        kind="table",
    ),
    Task(
        "small talk",
        "Hello! How are you?",
        files(a__txt="a\n"),
        lambda _root, answer: len(answer) > 5,
        tools_needed=False,
        kind="talk",
    ),
    Task(
        "highest price",
        "Which product in sales.csv has the highest price?",
        files(sales__csv=_SALES),
        says("desk"),
        kind="table",
    ),
    Task(
        "count Markdown files",
        "How many .md files are in here, counting subfolders?",
        tree({"a.md": "", "b/c.md": "", "b/d/e.md": "", "b/x.txt": "", "f.mdx": ""}),
        says(number(3)),
        kind="measure",
    ),
    Task(
        "make a folder with a file",
        "Make a folder named build and put a file version.txt with the text 1.2.3 in it.",
        files(),
        reads("build/version.txt", "1.2.3"),
        kind="create",
    ),
    Task(
        "copy a file",
        "Copy settings.toml to backup/settings.toml.",
        files(settings__toml="a = 1\n"),
        all_of(reads("settings.toml", "a = 1"), reads("backup/settings.toml", "a = 1")),
        kind="organise",
    ),
    Task(
        "fix a bug",
        "area.py should print 12 but it does not. Fix it.",
        files(area__py="def area(width, height):\n    return width + height\n\n\nprint(area(3, 4))\n"),
        prints("area.py", "12"),
        kind="fix",
    ),
    Task(
        "what a function does",
        "What does the function in mystery.py return for the word level?",
        files(mystery__py="def mystery(word):\n    return word == word[::-1]\n"),
        says("true"),
        kind="lookup",
    ),
    Task("default branch", "Which git branch am I on?", repository, says("main"), kind="git"),
    Task(
        "replace a word",
        "Replace the word colour with color everywhere in text.txt.",
        files(text__txt="The colour of the sea.\nNo colour, no sea.\n"),
        reads("text.txt", "The color of the sea.\nNo color, no sea."),
        kind="edit",
    ),
    Task(
        "first line",
        "What is the first line of poem.txt?",
        files(poem__txt="Over the hills\nand far away\n"),
        says("over the hills"),
        kind="lookup",
    ),
    Task(
        "thanks",
        "Thank you, that was helpful.",
        files(a__txt="a\n"),
        lambda _root, answer: len(answer) > 3,
        tools_needed=False,
        kind="talk",
    ),
    Task(
        "count functions",
        "How many functions and methods are defined in tools.py?",
        files(tools__py=_TOOLS),
        says(number(4)),
        kind="measure",
    ),
    Task(
        "log with an error",
        "Which file in the folder logs has the word ERROR in it?",
        tree({"logs/mon.log": "ok\n", "logs/tue.log": "ok\nERROR disk\n", "logs/wed.log": "ok\n"}),
        all_of(says("tue.log"), lacks("mon.log")),
        kind="lookup",
    ),
    Task(
        "archive logs",
        "Make a folder named archive and move all .log files into it.",
        tree({"a.log": "1", "b.log": "2", "c.txt": "3"}),
        only("archive/a.log", "archive/b.log", "c.txt"),
        kind="organise",
    ),
    Task(
        "sort a file",
        "Sort the lines of names.txt alphabetically and save the result as sorted.txt.",
        files(names__txt="Zoe\nAda\nMia\n"),
        reads("sorted.txt", "Ada\nMia\nZoe"),
        kind="create",
    ),
    Task(
        "size in bytes", "How many bytes does gamma.dat have?", _sized, says(number(12_000)), kind="measure"
    ),
    Task(
        "insert at the top",
        "Put the line '# Title' at the top of page.md.",
        files(page__md="Text.\nMore text.\n"),
        lambda root, _answer: (
            (root / "page.md").read_text(encoding="utf-8").split() == ["#", "Title", "Text.", "More", "text."]
        ),
        kind="edit",
    ),
    Task(
        "name in a config",
        "Who is the author according to setup.cfg?",
        files(setup__cfg="[metadata]\nname = boat\nauthor = Grace Hopper\nlicense = MIT\n"),
        says("Grace Hopper"),
        kind="lookup",
    ),
    Task(
        "average of a column",
        "What is the average temperature in temps.csv?",
        files(temps__csv="day,temperature\nMon,18\nTue,20\nWed,25\n"),
        says(number(21)),
        kind="table",
    ),
    Task(
        "make executable",
        "Make run.sh executable.",
        files(run__sh="echo hi\n"),
        lambda root, _answer: (root / "run.sh").stat().st_mode & 0o100 != 0,
        kind="organise",
    ),
    Task(
        "missing file",
        "Is there a file called secret.txt in this folder?",
        files(a__txt="a\n"),
        says("/\\b(no|not|n't)\\b/"),
        kind="missing",
    ),
]
