"""Tools of Hermes as tools of the server; they work in one session of it, in which nobody can be asked."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from hermes.agent.session import Session
from hermes.apps.serve.offer import OfferedResult, Report, reported
from hermes.tools.registry import tool_error
from hermes.types.error import HermesError
from hermes.types.message import ToolCall


class ToolsetTools:
    """The tools of a session, called one after the other: what one leaves, such as a directory, the next one
    finds.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._one_call = anyio.Lock()  # invariant: a session runs one batch at a time

    @property
    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """What a model of the session would be told."""
        return [one["function"] for one in self._session.tools.definitions]

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> OfferedResult:
        """Run one of them as any call of a model: what needs a yes is refused."""
        session = self._session
        wanted = ToolCall(id=session.services.ports.token(), name=name, arguments=dict(arguments))
        try:
            async with self._one_call:
                (result,) = await reported(session, partial(session.run_calls, wanted), report)
        except HermesError as error:
            return OfferedResult(tool_error(str(error)), failed=True)
        return OfferedResult(result.content, failed=result.failed)
