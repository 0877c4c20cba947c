"""The screen's question about the notes of a folder, before the model is told of them."""

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from msgspec.structs import replace

from hermes.apps.tui.screen_question import ScreenQuestion
from hermes.apps.tui.state import TuiState
from hermes.present.consent import ALWAYS, NO, AnswerChoice
from hermes.types.error import ConfigError
from hermes.types.question import Answer, Approve, Deny, Grant

if TYPE_CHECKING:
    from hermes.agent.prompt.folder_trust import NotesInQuestion
    from hermes.agent.spec import SessionOptions
    from hermes.runtime import Runtime

TITLE: Final = "Are the notes in this folder for the model?"
WHY: Final = "what they say, the model takes for how you want it to work"
CHOICES: Final = (
    AnswerChoice(ALWAYS, "yes, in this folder from now on", Grant(scope="always")),
    AnswerChoice(NO, "no, leave them out (n)", Deny()),
)
_SHOWN: Final = 8


class FolderQuestion:
    """Asks once for a folder, and waits for the answer."""

    def __init__(self, desk: TuiState, questions: ScreenQuestion) -> None:
        self._desk, self._questions = desk, questions

    async def asked(self, runtime: "Runtime", options: "SessionOptions") -> "SessionOptions | None":
        """The options of a new session, without the notes of its folder unless they may count; None when the
        person leaves instead of answering.
        """
        try:
            found = await anyio.to_thread.run_sync(runtime.notes_in_question, options)
        except ConfigError:
            return options  # opening the session says the same
        if found is None:
            return options
        answer = await self._ask(found)
        if answer is None:
            return None
        runtime.trust.keep(found.folder, counts=isinstance(answer, Grant))
        return replace(options, notes=isinstance(answer, Grant))

    async def _ask(self, found: "NotesInQuestion") -> Answer | None:
        names = [str(one.relative_to(found.folder)) for one in found.files]
        more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
        question = Approve(
            command="\n".join([*names[:_SHOWN], *more]),
            cwd=self._desk.start.short(found.folder),
            reasons=(WHY,),
            rule="trust",
        )
        return await self._questions.ask(question, title=TITLE, offered=CHOICES)
