"""Read a command line into the simple commands that it would run, without running anything."""

import re
from collections.abc import Mapping
from typing import Final

from hermes.safety.commands.expansion import VariableScope
from hermes.safety.commands.grammar import other_readings, parse, straight
from hermes.safety.commands.script import ShellScript
from hermes.safety.commands.walk import Walk

LONGEST: Final = 128_000
_ITSELF: Final = r"\$\{?0\}?[\"']?"
_RUNS_ITSELF: Final = re.compile(
    rf"{_ITSELF}\s*[|&]\s*[\"']?\$\{{?0\b|\b(?:while|until)\b[^\n]*{_ITSELF}\s*&"
)


def carried(text: str, *, cwd: str, variables: Mapping[str, str]) -> VariableScope:
    """What a shell knows after `text`, which defines aliases and functions."""
    walk = Walk(ShellScript(), VariableScope(cwd=cwd, variables={"PWD": cwd, **variables}))
    if text.strip() and len(text) <= LONGEST:
        walk.visit(parse(text), 0)
    return walk.scope


def read(
    source: str, *, cwd: str, variables: Mapping[str, str], scope: VariableScope | None = None
) -> ShellScript:
    """What a command line would run, started in `cwd`; `scope` continues an outer script."""
    script = ShellScript()
    if len(source) > LONGEST:
        script.faults.append("it is longer than can be checked")
        return script
    texts = [straight(source)]
    for text in texts:
        root = parse(text)
        if _RUNS_ITSELF.search(text):
            script.bombs.append("$0")
        if root.has_error:
            script.faults.append("its syntax cannot be read")
        texts += [other for other in other_readings(text, root) if other not in texts]
        start = scope.copy() if scope else VariableScope(cwd=cwd, variables={"PWD": cwd, **variables})
        Walk(script, start).visit(root, 0)
    script.faults = list(dict.fromkeys(script.faults))
    return script
