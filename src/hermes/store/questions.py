"""The questions of sessions to people, as a table of the store's file."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.lib import codec
from hermes.store.database import Database
from hermes.store.protocol import Ended, StoredQuestion
from hermes.types.error import StoreError
from hermes.types.question import Answer, Approve, Clarify, Deny, Grant, Question, Reply

_QUESTIONS: codec.Union[Question] = codec.Union(Approve, Clarify)
_ANSWERS: codec.Union[Answer] = codec.Union(Grant, Deny, Reply)
UNREADABLE = "The answer that was kept cannot be read, so it is no; ask again."
_SELECT = """
SELECT questions.id, sessions.id, addressee, asked, expires, call_id, question, state, answer, answered_by
FROM questions JOIN sessions ON sessions.key = questions.session
"""


def checked(answer: object) -> Answer:
    """The answer as a store gives it back; TypeError when it is none, ValueError when a field of it is
    wrong.
    """
    if not isinstance(answer, Answer):
        raise TypeError(
            f"An answer is a Grant, a Deny or a Reply, not {type(answer).__name__}; make one of these."
        )
    try:
        return _ANSWERS.decode(_ANSWERS.encode(answer))
    except (msgspec.MsgspecError, TypeError, OverflowError, KeyError) as error:
        raise ValueError(
            f"The {type(answer).__name__} cannot be taken as an answer ({error}); mend that field."
        ) from error


def suited(answer: object, question: Question) -> Answer:
    """The same; TypeError where it answers another kind of question, too: a yes is no answer to one that
    wants words.
    """
    given = checked(answer)
    kinds, about = _EXPECTED[type(question)]
    if not isinstance(given, kinds):
        names = " or ".join(f"a {kind.__name__}" for kind in kinds)
        raise TypeError(f"{about} is answered with {names}, not with a {type(given).__name__}.")
    return given


_EXPECTED: Final[Mapping[type, tuple[tuple[type[Answer], ...], str]]] = {
    Approve: ((Grant, Deny), "An approval"),
    Clarify: ((Reply, Deny), "A question of the model"),
}


class QuestionTable:
    """The table of one file; its writes belong in a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    def ask(self, session_id: str, asked: StoredQuestion) -> None:
        """Write a question of a session; StoreError when that is not in the store."""
        done = self._rows.execute(
            "INSERT INTO questions (id, session, addressee, asked, expires, call_id, question)"
            " SELECT ?, key, ?, ?, ?, ?, ? FROM sessions WHERE id = ?",
            (
                asked.id, asked.to, asked.asked, asked.expires, asked.call_id,
                _QUESTIONS.encode(asked.question), session_id,
            ),
        )  # fmt: skip
        if not done.rowcount:
            raise StoreError(f"There is no session {session_id}; hermes sessions list shows them.")

    def answer(self, question_id: str, answer: Answer, by: str, at: float) -> bool:
        """Answer an open question; whether it was open, and `by` is who it is addressed to."""
        done = self._rows.execute(
            "UPDATE questions SET state = 'answered', answer = ?, answered_by = ?"
            " WHERE id = ? AND state = 'open' AND addressee = ? AND (expires = 0 OR expires > ?)",
            (_ANSWERS.encode(answer), by, question_id, by, at),
        )
        return bool(done.rowcount)

    def end(self, question_id: str, state: Ended) -> bool:
        """End a question, one that was answered as used; whether it was not over."""
        done = self._rows.execute(
            "UPDATE questions SET state = CASE state WHEN 'answered' THEN 'used' ELSE ? END"
            " WHERE id = ? AND state IN ('open', 'answered')",
            (state, question_id),
        )
        return bool(done.rowcount)

    def find(self, question_id: str) -> StoredQuestion | None:
        """A question by its id."""
        return next(iter(self._read("WHERE questions.id = ?", question_id)[0]), None)

    def unended(self, session_id: str) -> tuple[list[StoredQuestion], list[str]]:
        """The questions of a session, or of all, that are open or whose answer nobody has used, and the ids
        of those that cannot be read.
        """
        return self._read(
            "WHERE state IN ('open', 'answered') AND (? = '' OR sessions.id = ?) ORDER BY asked",
            session_id,
            session_id,
        )

    def _read(self, clause: str, *values: object) -> tuple[list[StoredQuestion], list[str]]:
        found, unreadable = [], []
        with self._database.faults():
            for row in self._rows.execute(f"{_SELECT} {clause}", values):
                try:
                    found.append(_asked(row))
                except msgspec.DecodeError:
                    unreadable.append(row[0])
        return found, unreadable


def _asked(row: tuple[Any, ...]) -> StoredQuestion:
    return StoredQuestion(
        id=row[0],
        session=row[1],
        to=row[2],
        asked=row[3],
        expires=row[4],
        call_id=row[5],
        question=_QUESTIONS.decode(row[6]),
        state=row[7],
        answer=None if row[8] is None else _given(row[8]),
        by=row[9],
    )


def _given(answer: bytes) -> Answer:
    """The answer of a row; one that cannot be read is no consent."""
    try:
        return _ANSWERS.decode(answer)
    except msgspec.DecodeError:
        return Deny(reason=UNREADABLE)
