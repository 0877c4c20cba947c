"""What some models, apps and tools make it worth saying."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from hermes.agent.prompt.builder import PromptContext, PromptSpan
from hermes.lib.data_files import data_table


class PlatformHint(Struct, frozen=True):
    """How words reach the reader."""

    name: str = "platform"
    order: int = 100

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """That of the app."""
        return _said(row for row in _table()["app"] if context.app in row["names"])


class ModelGuidance(Struct, frozen=True):
    """What a family of models has to be told."""

    name: str = "model"
    order: int = 300

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """All that is for the family."""
        return _said(row for row in _table()["family"] if context.family in row["names"])


class RecordGuidance(Struct, frozen=True):
    """What holds beside a record of older messages."""

    name: str = "record"
    order: int = 390

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """That, for every session: any may become long."""
        del context
        return _said([_table()["record"]])


class ToolGuidance(Struct, frozen=True):
    """When to use tools whose schema cannot say it."""

    name: str = "behaviour"
    order: int = 400

    async def spans(self, context: PromptContext) -> Sequence[PromptSpan]:
        """Those of the tools on offer."""
        return _said(row for row in _table()["tool"] if row["name"] in context.tools)


def _said(rows: Any) -> list[PromptSpan]:
    text = "\n\n".join(row["text"].strip() for row in rows)
    return [PromptSpan("built in", text)] if text else []


@cache
def _table() -> Mapping[str, Any]:
    return data_table("prompts/guidance.toml")
