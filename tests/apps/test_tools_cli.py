"""`hermes tools` and doctor, as programs: which tools are offered, and why one is not."""

import re
from pathlib import Path

from tests.apps.conftest import Run

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
            for line in program("tools", "list", **more).stdout.splitlines()
            if line.startswith("probe")
        ]
        return listed[0], [line for line in program("doctor", **more).stdout.splitlines() if " probe" in line]

    assert told() == (
        ["probe", "probes", "ready;", "PROBE_KEY", "not", "set", "Probes."],
        ["! tool probe: it names PROBE_KEY, which is not set"],
    )
    assert told(PROBE_KEY="x") == (["probe", "probes", "ready", "Probes."], [])
    (tools.parent / ".env").write_text("PROBE_KEY=x\n")
    assert told() == (["probe", "probes", "ready", "Probes."], [])


def test_the_tools_that_find_others_are_ready_only_where_they_are_offered(
    program: Run, environ: dict[str, str]
) -> None:
    home = Path(environ["HERMES_HOME"])

    def state() -> set[str]:
        lines = [line for line in program("tools", "list").stdout.splitlines() if "  tool_search  " in line]
        assert [line.split()[0] for line in lines] == ["tool_call", "tool_describe", "tool_search"]
        return {re.split(r"\s{2,}", line)[2] for line in lines}

    assert state() == {"not offered"}
    (home / "tools").mkdir(parents=True)
    (home / "tools" / "probe.py").write_text(TOOL)
    assert state() == {"offered if your tools are many"}
    for enabled, expected in (("on", "ready"), ("off", "not offered")):
        (home / "config.yaml").write_text(f"tools: {{tool_search: {{enabled: {enabled}}}}}\n")
        assert state() == {expected}
