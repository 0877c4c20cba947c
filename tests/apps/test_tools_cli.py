"""`hermes tools` and doctor, as programs: which tools are offered, and why one is not."""

import re
from pathlib import Path

import pytest

from tests.apps.conftest import Run

LARGE = ("-m", "large", "--base-url", "http://127.0.0.1:9/v1")
"""A model that is no small one; nothing is sent."""
OWN = (*LARGE, "--toolsets", "hermes-cli,probes")

TOOL = """
from hermes.tools.registry import registry
registry.register("probe", "probes", {"name": "probe", "parameters": {"type": "object"}}, lambda args, **keywords: keywords["ctx"].secret("PROBE_KEY"),
                  requires_env=["PROBE_KEY"], description="Probes.")
"""


def test_a_tool_whose_secret_is_missing_is_told_with_the_reason(
    program: Run, environ: dict[str, str]
) -> None:
    tools = Path(environ["HERMES_HOME"]) / "tools"
    tools.mkdir(parents=True)
    (tools / "probe.py").write_text(TOOL)

    def told(**more: str) -> tuple[list[str], list[str]]:
        listed = [
            line.split()
            for line in program(*OWN, "tools", "list", **more).stdout.splitlines()
            if line.startswith("probe")
        ]
        return listed[0], [line for line in program("doctor", **more).stdout.splitlines() if " probe" in line]

    assert told() == (
        ["probe", "probes", "ready;", "PROBE_KEY", "not", "set", "Probes."],
        ["! tool probe: it names PROBE_KEY, which is not set; hermes config set PROBE_KEY VALUE does"],
    )
    assert told(PROBE_KEY="x") == (["probe", "probes", "ready", "Probes."], [])
    (tools.parent / ".env").write_text("PROBE_KEY=x\n")
    assert told() == (["probe", "probes", "ready", "Probes."], [])


def test_the_tools_that_find_others_are_ready_only_where_they_are_offered(
    program: Run, environ: dict[str, str]
) -> None:
    home = Path(environ["HERMES_HOME"])

    def state() -> set[str]:
        lines = [
            line for line in program(*OWN, "tools", "list").stdout.splitlines() if "  tool_search  " in line
        ]
        assert [line.split()[0] for line in lines] == ["tool_call", "tool_describe", "tool_search"]
        return {re.split(r"\s{2,}", line)[2] for line in lines}

    (home / "tools").mkdir(parents=True)
    (home / "tools" / "probe.py").write_text(TOOL)
    told = states(program(*LARGE, "tools", "list").stdout)
    assert (told["probe"], told["tool_search"]) == (
        "not offered: probes is not in toolsets",
        "not offered: nothing to find",
    )
    assert state() == {"offered if your tools are many"}
    for enabled, expected in (("on", "ready"), ("off", "not offered: nothing to find")):
        (home / "config.yaml").write_text(f"tools: {{tool_search: {{enabled: {enabled}}}}}\n")
        assert state() == {expected}


def states(listed: str) -> dict[str, str]:
    rows = (re.split(r"\s{2,}", line) for line in listed.splitlines())
    return {row[0]: row[2] for row in rows if len(row) > 2}


SMALL = {"terminal", "read_file", "write_file", "patch"}


@pytest.mark.parametrize("choice", [(), ("--toolsets", "terminal,file")], ids=["all", "some"])
def test_a_small_model_is_told_as_offered_what_it_is_offered(program: Run, choice: tuple[str, ...]) -> None:
    done = program(*choice, "tools", "list")
    told = states(done.stdout)
    ready = {name for name, state in told.items() if state == "ready"}
    assert ready == (SMALL if choice else SMALL | {"execute_code"})
    assert told["search_files"] == "not offered: small model"
    assert told["todo"] == ("not offered: todo is not in toolsets" if choice else "not offered: small model")
    assert "agent.prompt full gives it all" in done.stderr
    program("config", "set", "agent.prompt", "full")
    assert states(program(*choice, "tools", "list").stdout)["search_files"] == "ready"


def test_a_tool_of_a_toolset_that_is_off_is_told_so(program: Run) -> None:
    program("config", "set", "agent.disabled_toolsets", "[memory]")
    told = states(program(*LARGE, "tools", "list").stdout)
    assert (told["memory"], told["todo"]) == ("not offered: memory is in agent.disabled_toolsets", "ready")
