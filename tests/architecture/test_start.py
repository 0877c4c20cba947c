import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


def imported(statement: str) -> set[str]:
    code = f"import sys; {statement}; import json; print(json.dumps(sorted(sys.modules)))"
    return set(json.loads(run("-c", code).stdout))


def test_help_starts_in_150_ms() -> None:
    def once() -> float:
        started = perf_counter()
        run("-m", "hermes", "--help")
        return perf_counter() - started

    once()
    assert median(once() for _ in range(5)) <= 0.15


def test_help_imports_no_http_client_and_no_event_loop() -> None:
    assert {"httpx2", "anyio", "asyncio", "rich", "prompt_toolkit", "sqlite3", "msgspec"} & imported("import hermes.apps.cli.main") == set()


def test_the_core_imports_without_screens_and_vendors() -> None:
    heavy = {"rich", "prompt_toolkit", "openai", "anthropic", "boto3", "jsonschema", "tree_sitter", "xllamacpp", "ruamel.yaml"}
    assert heavy & imported("import hermes.runtime") == set()


def test_the_runtime_imports_in_a_quarter_of_a_second() -> None:
    times = []
    for _ in range(5):
        report = run("-X", "importtime", "-c", "import hermes.runtime").stderr
        times.append(max(int(number) for number in re.findall(r"\|\s+(\d+) \|\s+hermes\.runtime$", report, re.MULTILINE)))
    assert median(times) <= 250_000
