"""What takes credentials out of that which commands show of earlier sessions."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from hermes.agent.services import Redactor
from hermes.apps.cli.choices import Choices
from hermes.commands.variables import known_secrets
from hermes.config.environ import environment, with_dotenv
from hermes.config.home import locate
from hermes.store.protocol import Hit, SessionRow
from hermes.store.search import snippet, text_of
from hermes.types.message import Assistant, Compaction, Message, ToolResult, User


def redactor_for(choices: Choices, cwd: Path) -> Redactor:
    """Knows the credentials of the chosen home, of the process and of that workspace."""
    environ = environment()
    home = locate(environ, choices.profile)
    return Redactor(known_secrets(home, with_dotenv(environ, home.env_file), cwd))


def clean_rows(choices: Choices, rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Sessions whose titles hold no credentials."""
    redact_in = _redactors(choices)
    return [_clean_row(row, redact_in(row.cwd)) for row in rows]


def clean_hits(choices: Choices, hits: Iterable[Hit], words: str) -> list[Hit]:
    """What a search for these words found, without credentials; they are hidden before anything is cut."""
    redact_in = _redactors(choices)
    return [_clean_hit(hit, words, redact_in(hit.session.cwd)) for hit in hits]


def _redactors(choices: Choices) -> Callable[[str], Callable[[str], str]]:
    """What takes out the credentials of each workspace, made once."""
    return cache(lambda cwd: redactor_for(choices, Path(cwd)).redact)


def _clean_row(row: SessionRow, redact: Callable[[str], str]) -> SessionRow:
    return replace(row, title=redact(row.title), first_text=redact(row.first_text))


def _clean_hit(hit: Hit, words: str, redact: Callable[[str], str]) -> Hit:
    return replace(
        hit,
        session=_clean_row(hit.session, redact),
        message=_clean(hit.message, redact),
        snippet=snippet(redact(text_of(hit.message)), words),
        before=tuple(_clean(one, redact) for one in hit.before),
        after=tuple(_clean(one, redact) for one in hit.after),
    )


def _clean(message: Message, redact: Callable[[str], str]) -> Message:
    """A message with its words alone, without credentials."""
    text = redact(text_of(message))
    match message:
        case User():
            return replace(message, text=text)
        case Assistant():
            return replace(message, text=text, calls=())
        case ToolResult():
            return replace(message, content=text)
        case Compaction():
            return replace(message, summary=text)
