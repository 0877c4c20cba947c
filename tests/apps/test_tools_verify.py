"""`hermes tools verify`: tools that keep what they promise, and each broken one for its own reason."""

import json
import shutil
from pathlib import Path

import pytest

from tests.apps.conftest import Run

BROKEN = Path(__file__).parent.parent / "broken_tools"
FIRST = {
    "bad_schema": ["schema"],
    "deaf": ["cancellation"],
    "gives_dict": ["result"],
    "gives_prose": ["result"],
    "gives_traceback": ["error"],
    "leaves_process": ["leftovers"],
    "leaves_thread": ["leftovers"],
    "over_cap": ["size"],
    "raises": ["error"],
    "writes_secretly": ["read-only"],
}
"""Written before the checks were."""

SECOND = {
    "check_hangs": ["availability"],
    "check_raises": ["availability"],
    "error_object": ["error"],
    "kills_program": ["program"],
    "leaves_task": ["leftovers"],
    "never_ends": ["cancellation"],
    "no_description": ["schema"],
    "shares_state": ["parallel"],
    "strict_keywords": ["arguments"],
    "writes_home": ["read-only"],
}
"""Written after the checks were."""


def found(program: Run, environ: dict[str, str], folder: str, *names: str) -> dict[str, list[str]]:
    """The checks that each of the tools of a folder fails."""
    shutil.copytree(BROKEN / folder, Path(environ["HERMES_HOME"]) / "tools")
    done = program("tools", "verify", "--seconds", "2", "--json", *names)
    assert done.returncode == 1, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["tool"]: [fault["check"] for fault in one["faults"]] for one in reports}


def test_tools_that_were_broken_before_the_checks_were_written_are_caught_each_for_its_reason(
    program: Run, environ: dict[str, str]
) -> None:
    assert found(program, environ, "first", *FIRST) == FIRST


def test_tools_that_were_broken_after_the_checks_were_written_are_caught_each_for_its_reason(
    program: Run, environ: dict[str, str]
) -> None:
    assert found(program, environ, "second", *SECOND) == SECOND


def test_the_built_in_tools_keep_their_promises(program: Run) -> None:
    done = program("tools", "verify", "--json")
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["tool"], one["faults"], one["uncalled"]) for one in reports] == [
        (one["tool"], [], "") for one in reports
    ]
    assert (done.returncode, len(reports) > 15, min(one["calls"] for one in reports) > 1) == (0, True, True)


GOOD = """
import hermes

@hermes.tool(read_only=True)
def dice(sides: int = 6) -> int:
    '''Throw a die.'''
    return sides
"""


def test_a_file_is_tried_wherever_it_lies_and_told_in_a_table(program: Run, work: Path) -> None:
    (work / "dice.py").write_text(GOOD)
    done = program("tools", "verify", "--file", "dice.py")
    assert (done.returncode, done.stdout.split()) == (0, ["dice", "45", "keeps", "its", "promises"])
    assert [one.name for one in work.iterdir()] == ["dice.py"]


ONCE = """
from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest
import json
used = set()
def once(args, **keywords):
    known = args["word"] in used
    used.add(args["word"])
    return json.dumps({"error": "It is used up."} if known else {"word": args["word"]})
registry.register("once", "x", {"name": "once", "description": "Once.", "parameters": {"type": "object", "properties":
    {"word": {"type": "string"}}, "required": ["word"]}}, once, manifest=ToolManifest(effects=()))
"""


def test_a_tool_that_changes_nothing_works_as_well_when_it_is_called_again(program: Run, work: Path) -> None:
    (work / "once.py").write_text(ONCE)
    done = program("tools", "verify", "--file", "once.py")
    why = 'once: repeat: {"word":"word"} worked, and made again it gave {"error": "It is used up."}.'
    assert (done.returncode, done.stdout.splitlines()[1]) == (1, why)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "import hermes\n@hermes.tool\ndef x(a):\n    return a\n",
            "file: it cannot be loaded: TypeError: @tool x: annotate a",
        ),
        ("registry.register(", "file: it cannot be loaded: SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_told_with_the_reason(
    program: Run, work: Path, source: str, why: str
) -> None:
    (work / "odd.py").write_text(source)
    done = program("tools", "verify", "--file", "odd.py")
    assert (done.returncode, done.stdout.splitlines()[1].startswith(f"odd.py: {why}")) == (1, True)


def test_a_tool_that_is_not_there_is_told_with_the_nearest(program: Run) -> None:
    done = program("tools", "verify", "read_fil")
    assert (done.returncode, "There is no tool 'read_fil'; did you mean read_file?" in done.stderr) == (
        2,
        True,
    )


def test_no_tool_sees_the_keys_of_the_user(program: Run, work: Path) -> None:
    (work / "nosy.py").write_text(
        "import hermes, os\n\n@hermes.tool\ndef nosy() -> str:\n    '''Look.'''\n"
        "    raise ValueError(' '.join(sorted(os.environ)))\n"
    )
    done = program("tools", "verify", "--file", "nosy.py", OPENAI_API_KEY="sk-123")
    assert "made it raise ValueError: HERMES_HOME HOME" in done.stdout
    assert "OPENAI" not in done.stdout


def test_a_file_without_a_tool_and_a_tool_that_cannot_be_tried_are_told_in_a_sentence(
    program: Run, tmp_path: Path
) -> None:
    (tmp_path / "none.py").write_text("import json\n")
    empty = program("tools", "verify", "--file", str(tmp_path / "none.py"))
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "Error: none.py registers no tool." in empty.stderr
    other = program("tools", "verify", "mcp__files__read")
    told = "Tools of plugins and of MCP servers are not tried: they need what you let them use."
    assert (other.returncode, told in other.stderr) == (2, True)
