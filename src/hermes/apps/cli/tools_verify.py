"""`hermes tools verify`: whether tools keep what their schema and manifest promise."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import anyio
import click
import msgspec

from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import here
from hermes.apps.verify.report import ToolList, ToolTrialReport
from hermes.apps.verify.runs import VerifiedTools
from hermes.config.environ import environment
from hermes.lib.nearest import nearest
from hermes.lib.visible import visible
from hermes.tools.verify.faults import ToolFault

_NOT_TRIED: Final = "Tools of plugins and of MCP servers are not tried: they need what you let them use."


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="The tools of this file, wherever it lies.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1, max=600),
    default=10.0,
    metavar="N",
    help="How long one call may take (10).",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object a tool, a line each.")
@click.pass_obj
def verify(
    choices: Choices, /, names: tuple[str, ...], file: Path | None, seconds: float, *, as_json: bool
) -> None:
    """Try tools with arguments made from their schemas, in a home and a folder made for it.

    Without NAMES all tools: the built-in ones and those of ~/.hermes/tools. A tool file runs with none of
    your keys, but as what it is: a program on this machine. The exit code is 1 where a tool breaks a promise.
    """
    files = [file] if file else sorted(here(choices).home.tools.glob("[!.]*.py"))
    known = _of_files if file else _all
    reports = anyio.run(_verified, VerifiedTools(files, environment(), seconds), names, known)
    if file and not reports:
        raise click.UsageError(f"{visible(file.name)} registers no tool.")
    for one in reports:
        if as_json:
            click.echo(msgspec.json.encode(one))
    if not as_json:
        _show(reports)
    sys.exit(1 if any(one.faults for one in reports) else 0)


async def _verified(
    tools: VerifiedTools,
    names: tuple[str, ...],
    unnamed: Callable[[ToolList], Sequence[str]],
) -> list[ToolTrialReport]:
    found = await tools.listed()
    unknown = sorted(set(names) - set(found.tools))
    if unknown and not found.broken:
        near = nearest(unknown[0], found.tools)
        hint = f"; did you mean {near[0]}?" if near else f". {_NOT_TRIED}"
        raise click.UsageError(f"There is no tool {unknown[0]!r}{hint}")
    wanted = names or unnamed(found)
    tried = await tools.tried([name for name in wanted if name not in unknown])
    return [*tried, *_broken(found)]


def _all(found: ToolList) -> Sequence[str]:
    return found.tools


def _of_files(found: ToolList) -> Sequence[str]:
    return [name for name in found.tools if name not in found.built_in]


def _broken(found: ToolList) -> list[ToolTrialReport]:
    """The files that give no tools at all."""
    return [
        ToolTrialReport(tool=Path(path).name, faults=(ToolFault("file", f"it cannot be loaded: {why}"),))
        for path, why in found.broken.items()
    ]


def _show(reports: list[ToolTrialReport]) -> None:
    rows = [(one.tool, one.calls, _verdict(one)) for one in reports]
    tables.show(rows, head=("TOOL", "CALLS", "VERDICT"))
    for one in reports:
        for fault in one.faults:
            click.echo(visible(f"{one.tool}: {fault.check}: {fault.words}"))


def _verdict(report: ToolTrialReport) -> str:
    if report.faults:
        return f"breaks {', '.join(dict.fromkeys(fault.check for fault in report.faults))}"
    return f"not called: {report.uncalled}" if report.uncalled else "keeps its promises"
