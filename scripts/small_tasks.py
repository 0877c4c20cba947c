"""Small tasks, each with a made workspace and an objective check: twenty and ten that prompts were tuned on,
and ten that none was.
"""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Build = Callable[[Path], None]
Check = Callable[[Path, str], bool]


@dataclass(frozen=True, slots=True)
class Task:
    """A request, the workspace it is asked in, and whether the answer and the files are right."""

    name: str
    question: str
    build: Build
    check: Check
    tools_needed: bool = True


def _files(**contents: str) -> Build:
    return _tree({name.replace("__", "."): text for name, text in contents.items()})


def _tree(contents: dict[str, str]) -> Build:
    def build(root: Path) -> None:
        for name, text in contents.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return build


def _git(root: Path, *arguments: str) -> None:
    author = [
        "-c",
        "user.name=Ada Lovelace",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run(["git", *author, *arguments], cwd=root, check=True, capture_output=True)  # noqa: S607


def _repository(root: Path) -> None:
    _git(root, "init", "-q", "-b", "main")
    for number, subject in enumerate(("Start the parser", "Read numbers", "Report errors with a line"), 1):
        (root / "parser.py").write_text(f"VERSION = {number}\n", encoding="utf-8")
        _git(root, "add", ".")
        _git(root, "commit", "-q", "-m", subject)


def _sized(root: Path) -> None:
    for name, size in (("alpha.dat", 900), ("beta.dat", 70_000), ("gamma.dat", 12_000)):
        (root / name).write_bytes(b"x" * size)


def _says(*words: str) -> Check:
    """The answer has each word; a word between slashes is a regular expression."""

    def check(_root: Path, answer: str) -> bool:
        flat = re.sub(r"(?<=\d)[, _](?=\d{3})", "", answer.lower())
        return all(
            re.search(word[1:-1], flat) if word.startswith("/") else word.lower() in flat for word in words
        )

    return check


def _lacks(word: str) -> Check:
    return lambda _root, answer: word not in answer


def _number(value: int) -> str:
    small = (
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    )
    word = f"|{small[value]}" if value < len(small) else ""
    return rf"/\b({value}{word})\b/"


def _holds(name: str, *texts: str) -> Check:
    return lambda root, _answer: (
        (root / name).is_file() and all(text in (root / name).read_text(encoding="utf-8") for text in texts)
    )


def _is(name: str, text: str) -> Check:
    return lambda root, _answer: (
        (root / name).is_file() and (root / name).read_text(encoding="utf-8").strip() == text
    )


def _only(*names: str) -> Check:
    return lambda root, _answer: (
        sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == sorted(names)
    )


def _prints(name: str, *words: str) -> Check:
    def check(root: Path, _answer: str) -> bool:
        done = subprocess.run(
            ["python3", name],  # noqa: S607
            cwd=root,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return done.returncode == 0 and all(word in done.stdout for word in words)

    return check


def _all(*checks: Check) -> Check:
    return lambda root, answer: all(check(root, answer) for check in checks)


def _numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


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

TASKS = (
    Task(
        "count Python files, name the longest",
        "How many Python files are in this project, and which one is the longest?",
        _tree(_PROJECT),
        _says(_number(6), "checkout.py"),
    ),
    Task("largest file", "Which file in this folder is the largest?", _sized, _says("beta.dat")),
    Task(
        "count lines",
        "How many lines are in notes.txt?",
        _files(notes__txt=_numbered(37)),
        _says(_number(37)),
    ),
    Task(
        "run a script",
        "Run greet.py and tell me what it prints.",
        _files(greet__py='print("good " + "day, " + "captain")\n'),
        _says("good day, captain"),
    ),
    Task(
        "create a file",
        "Create a file called hello.txt that contains the text: Hello from Hermes",
        _files(readme__md="x\n"),
        _is("hello.txt", "Hello from Hermes"),
    ),
    Task(
        "append a line",
        "Append the line 'buy milk' to todo.txt.",
        _files(todo__txt="call Bob\nwater plants\n"),
        _is("todo.txt", "call Bob\nwater plants\nbuy milk"),
    ),
    Task("rename a file", "Rename draft.md to final.md.", _files(draft__md="text\n"), _only("final.md")),
    Task(
        "edit a setting",
        "In config.ini, change the port from 8080 to 9090.",
        _files(config__ini="[server]\nhost = localhost\nport = 8080\n\n[log]\nlevel = info\n"),
        _is("config.ini", "[server]\nhost = localhost\nport = 9090\n\n[log]\nlevel = info"),
    ),
    Task(
        "JSON field", "What version does package.json say?", _files(package__json=_PACKAGE), _says("4.17.2")
    ),
    Task(
        "search for a word",
        "Which file mentions the word 'lighthouse'?",
        _tree(
            {
                "a/one.txt": "boats\n",
                "a/two.txt": "the Lighthouse: lighthouse keeper\n",
                "b/three.txt": "harbour\n",
            }
        ),
        _says("two.txt"),
    ),
    Task(
        "last commit",
        "Who made the last commit here and what is its message?",
        _repository,
        _says("ada", "report errors with a line"),
    ),
    Task("count commits", "How many commits does this git repository have?", _repository, _says(_number(3))),
    Task(
        "error in a script",
        "Run broken.py. What kind of error does it stop with, and on which line?",
        _files(broken__py="values = [3, 4]\ntotal = sum(values)\n\nprint(total / (len(values) - 2))\n"),
        _says("/zero ?division|division by zero/", _number(4)),
    ),
    Task("multiply", "What is 123456789 * 987654?", _files(), _says("121932591483006")),
    Task(
        "list folders",
        "Which folders are there in this directory?",
        _tree({"docs/a.md": "a", "images/b.svg": "b", "source/c.c": "c", "d.txt": "d"}),
        _all(_says("docs", "images", "source"), _lacks("d.txt")),
    ),
    Task(
        "write and run a script",
        "Write a Python script fib.py that prints the first 10 Fibonacci numbers, one per line, run it, and"
        " tell me the last number.",
        _files(),
        _all(_prints("fib.py", "13", "21", "34"), _says("/\\b(34|55)\\b/")),
    ),
    Task(
        "count TODO comments",
        "How many TODO comments are in the Python files here?",
        _tree(_TODOS),
        _says(_number(4)),
    ),
    Task(
        "delete by pattern",
        "Delete all .tmp files in this folder and keep everything else.",
        _tree({"a.tmp": "1", "b.tmp": "2", "keep.txt": "3", "c.tmpl": "4"}),
        _only("keep.txt", "c.tmpl"),
    ),
    Task(
        "sum a file of numbers",
        "numbers.txt has one number per line. What is their sum?",
        _files(numbers__txt="12\n7\n31\n105\n46\n"),
        _says(_number(201)),
    ),
    Task(
        "small talk",
        "Hello! How are you?",
        _files(a__txt="a\n"),
        lambda _root, answer: len(answer) > 5,
        tools_needed=False,
    ),
)

SECOND = (
    Task(
        "highest price",
        "Which product in sales.csv has the highest price?",
        _files(sales__csv=_SALES),
        _says("desk"),
    ),
    Task(
        "count Markdown files",
        "How many .md files are in here, counting subfolders?",
        _tree({"a.md": "", "b/c.md": "", "b/d/e.md": "", "b/x.txt": "", "f.mdx": ""}),
        _says(_number(3)),
    ),
    Task(
        "make a folder with a file",
        "Make a folder named build and put a file version.txt with the text 1.2.3 in it.",
        _files(),
        _is("build/version.txt", "1.2.3"),
    ),
    Task(
        "copy a file",
        "Copy settings.toml to backup/settings.toml.",
        _files(settings__toml="a = 1\n"),
        _all(_is("settings.toml", "a = 1"), _is("backup/settings.toml", "a = 1")),
    ),
    Task(
        "fix a bug",
        "area.py should print 12 but it does not. Fix it.",
        _files(area__py="def area(width, height):\n    return width + height\n\n\nprint(area(3, 4))\n"),
        _prints("area.py", "12"),
    ),
    Task(
        "what a function does",
        "What does the function in mystery.py return for the word level?",
        _files(mystery__py="def mystery(word):\n    return word == word[::-1]\n"),
        _says("true"),
    ),
    Task("default branch", "Which git branch am I on?", _repository, _says("main")),
    Task(
        "replace a word",
        "Replace the word colour with color everywhere in text.txt.",
        _files(text__txt="The colour of the sea.\nNo colour, no sea.\n"),
        _is("text.txt", "The color of the sea.\nNo color, no sea."),
    ),
    Task(
        "first line",
        "What is the first line of poem.txt?",
        _files(poem__txt="Over the hills\nand far away\n"),
        _says("over the hills"),
    ),
    Task(
        "thanks",
        "Thank you, that was helpful.",
        _files(a__txt="a\n"),
        lambda _root, answer: len(answer) > 3,
        tools_needed=False,
    ),
)

_TOOLS = (
    "def cut():\n    pass\n\n\ndef join():\n    pass\n\n\nclass Glue:\n    def stick(self):\n       "
    " pass\n\n\ndef paint():\n    pass\n"
)

HELD_OUT = (
    Task(
        "count functions",
        "How many functions and methods are defined in tools.py?",
        _files(tools__py=_TOOLS),
        _says(_number(4)),
    ),
    Task(
        "log with an error",
        "Which file in the folder logs has the word ERROR in it?",
        _tree({"logs/mon.log": "ok\n", "logs/tue.log": "ok\nERROR disk\n", "logs/wed.log": "ok\n"}),
        _all(_says("tue.log"), _lacks("mon.log")),
    ),
    Task(
        "archive logs",
        "Make a folder named archive and move all .log files into it.",
        _tree({"a.log": "1", "b.log": "2", "c.txt": "3"}),
        _only("archive/a.log", "archive/b.log", "c.txt"),
    ),
    Task(
        "sort a file",
        "Sort the lines of names.txt alphabetically and save the result as sorted.txt.",
        _files(names__txt="Zoe\nAda\nMia\n"),
        _is("sorted.txt", "Ada\nMia\nZoe"),
    ),
    Task("size in bytes", "How many bytes does gamma.dat have?", _sized, _says(_number(12_000))),
    Task(
        "insert at the top",
        "Put the line '# Title' at the top of page.md.",
        _files(page__md="Text.\nMore text.\n"),
        lambda root, _answer: (
            (root / "page.md").read_text(encoding="utf-8").split() == ["#", "Title", "Text.", "More", "text."]
        ),
    ),
    Task(
        "name in a config",
        "Who is the author according to setup.cfg?",
        _files(setup__cfg="[metadata]\nname = boat\nauthor = Grace Hopper\nlicense = MIT\n"),
        _says("Grace Hopper"),
    ),
    Task(
        "average of a column",
        "What is the average temperature in temps.csv?",
        _files(temps__csv="day,temperature\nMon,18\nTue,20\nWed,25\n"),
        _says(_number(21)),
    ),
    Task(
        "make executable",
        "Make run.sh executable.",
        _files(run__sh="echo hi\n"),
        lambda root, _answer: (root / "run.sh").stat().st_mode & 0o100 != 0,
    ),
    Task(
        "missing file",
        "Is there a file called secret.txt in this folder?",
        _files(a__txt="a\n"),
        _says("/\\b(no|not|n't)\\b/"),
    ),
)
