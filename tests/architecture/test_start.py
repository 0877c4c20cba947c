import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


# With it set, what was edited since the last start would be compiled at every one.
ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, *arguments]
    return subprocess.run(words, cwd=ROOT, env=ENVIRON, capture_output=True, text=True, check=True)


def imported(statement: str) -> set[str]:
    code = f"import sys; {statement}; import json; print(json.dumps(sorted(sys.modules)))"
    return set(json.loads(run("-c", code).stdout))


def cpu(*arguments: str) -> float:
    """Processor seconds of one interpreter run: other work on the machine sways them less than wall time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_starts_in_150_ms() -> None:
    run("-m", "hermes", "--help")
    pairs = [(cpu("-m", "hermes", "--help"), cpu("-c", "import click")) for _ in range(7)]
    floor = min(floor for _, floor in pairs)  # on a machine that is slow just now it is more than 50 ms
    assert min(ours for ours, _ in pairs) <= max(0.15, 3 * floor)


def test_help_imports_no_http_client_and_no_event_loop() -> None:
    assert {"httpx2", "anyio", "asyncio", "rich", "prompt_toolkit", "sqlite3"} & imported(
        "import hermes.apps.cli.main"
    ) == set()


def test_the_core_imports_without_what_most_sessions_never_need() -> None:
    heavy = {
        "rich",
        "prompt_toolkit",
        "openai",
        "anthropic",
        "boto3",
        "botocore",
        "keyring",
        "PIL",
        "jsonschema",
        "tree_sitter",
        "xllamacpp",
        "ruamel.yaml",
        "filelock",
        "platformdirs",
        "dotenv",
        "html",
        "hermes.models.auth.resolver",
        "hermes.models.errors.classify",
        "hermes.agent.delegation.child_run",
    }
    assert heavy & imported("import hermes.runtime") == set()


def test_the_runtime_imports_in_at_most_twice_the_time_of_its_libraries() -> None:
    libraries = "import httpx2, anyio, asyncio, msgspec, sqlite3, click"  # anyio imports its event loop late
    pairs = [(cpu("-c", "import hermes.runtime"), cpu("-c", libraries)) for _ in range(9)]
    assert min(ours for ours, _ in pairs) <= 2 * min(floor for _, floor in pairs)


def test_a_server_of_ones_own_needs_no_table_of_providers_models_and_families() -> None:
    read = run(
        "-c",
        "from hermes.config.sections import Settings\n"
        "from hermes.models.catalog import catalogue\n"
        "from hermes.models.catalog.endpoint import resolve\n"
        "resolve(Settings(), {}, base_url='http://127.0.0.1:1/v1')\n"
        "tables = (catalogue.providers, catalogue.models, catalogue.families)\n"
        "print([table.cache_info().currsize for table in tables])",
    )
    assert read.stdout == "[0, 0, 0]\n"
