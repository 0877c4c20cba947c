"""`hermes tools` and doctor, as programs: which tools are offered, and why one is not."""

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
