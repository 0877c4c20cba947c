"""What a session is told of a child that went on after the call which started it."""

from typing import TYPE_CHECKING

from hermes.models.transports.base import fenced
from hermes.tools.registry import tool_result
from hermes.types.delegation import ChildReport
from hermes.types.message import ContextBlock

if TYPE_CHECKING:
    from hermes.agent.services import Redactor


def news_of(report: ChildReport, redactor: "Redactor") -> ContextBlock:
    """The report as words that ride on the next message; fenced where the child had read text from
    outside.
    """
    told = redactor.redact(tool_result(report.as_result(0)))
    outside = redactor.redact(report.outside)
    if outside:
        told = fenced(told, outside)
    return ContextBlock(
        kind="child",
        text=f"(A child that was started earlier has reported.)\n{told}",
        source=report.session,
        outside=outside,
    )
