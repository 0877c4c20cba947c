"""`hermes prompt`: what a model is told before the first message, where it comes from and what it costs."""

import json

import anyio
import click

from hermes.agent.compaction.sizes import written
from hermes.agent.prompt.builder import PromptSpan
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.lib.text import strip_escapes, tokens
from hermes.runtime import open_runtime
from hermes.types.tool import ToolSnapshot

Spans = list[tuple[str, PromptSpan]]


@click.group()
def prompt() -> None:
    """What a model is told before the first message."""


@prompt.command()
@click.option("--text", "whole", is_flag=True, help="The prompt itself.")
@click.option("--json", "as_json", is_flag=True, help="One object with the words of each part.")
@click.pass_obj
def show(choices: Choices, *, whole: bool, as_json: bool) -> None:
    """The parts of the prompt of a session that begins here, with their source and tokens (estimated)."""
    spans, tools = anyio.run(_spans, choices)
    if as_json:
        rows = [_row(name, span) | {"text": span.text} for name, span in spans]
        click.echo(json.dumps({"parts": rows, "tools": _tools(tools)}, ensure_ascii=False))
    elif whole:
        click.echo("\n\n".join(strip_escapes(span.text) for _, span in spans))
    else:
        lines = [(name, f"{tokens(span.text):,}", span.source) for name, span in spans]
        cost = sum(_tools(tools).values())
        total = cost + sum(tokens(span.text) for _, span in spans)
        lines += [("tools", f"{cost:,}", _told(tools)), ("all", f"{total:,}", "")]
        tables.show(lines, head=("PART", "TOKENS", "FROM"))


async def _spans(choices: Choices) -> tuple[Spans, ToolSnapshot]:
    home_with_skills(choices)
    async with open_runtime(profile=choices.profile, flags=choices.flags) as runtime:
        return await runtime.prompt_spans(session_options(choices, attended=True))


def _told(tools: ToolSnapshot) -> str:
    found = f", {len(tools.deferred)} more found by tool_search" if tools.deferred else ""
    return f"{len(tools.definitions)} definitions{found}"


def _row(name: str, span: PromptSpan) -> dict[str, object]:
    return {"part": name, "source": span.source, "tokens": tokens(span.text)}


def _tools(tools: ToolSnapshot) -> dict[str, int]:
    return {one["function"]["name"]: tokens(written(one)) for one in tools.definitions}
