"""What has to be saved so that a command can be undone, and whether saving is enough."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.file_findings import emptied
from hermes.safety.commands.paths import is_within
from hermes.safety.commands.rules import Finding, file_uses
from hermes.safety.commands.script import Simple
from hermes.safety.decide import Policy, Verdict
from hermes.types.action import Action, Command, FileAccess, ToolUse

_LOSES: Final = frozenset({"delete", "history"})
_KEPT_INSIDE: Final = frozenset({"read-only", "workspace"})
_ENDS: Final = re.compile(r"&&|[;\n]")
_PLAIN: Final = re.compile(r"(?!(?:.*/)?\.\.(?:/|$))[\w./+@%,:=-]+(?:\*[\w.-]*)?|[\w.-]*\*[\w.-]*")
"""A word without anything that a shell reads, but for a star in its last part, and without a step up."""

_READERS: Final = frozenset(
    """
    [ basename cat cd cksum cmp cut df diff dirname du echo egrep false fgrep grep head id ls md5sum nl nproc
    od ps pwd readlink realpath seq sha1sum sha256sum sha512sum sleep stat strings tac tail test tr true type
    uname wc which whoami
    """.split()  # noqa: SIM905  # shorter than a list of them
)
"""Programs that write to their output alone, whatever their options."""
_FORMS: Final = {
    "date": re.compile(
        r"\+.*|-[uR]+|-I\w*|-[dr].*|--(?:utc|universal|iso-8601(?:=\w+)?|rfc-3339=\w+|rfc-email)"
        r"|--(?:date|reference)(?:=.*)?",
        re.DOTALL,
    ),
    "hostname": re.compile(r"-[AIdfisy]+|--(?:short|fqdn|long|domain|ip-address|all-ip-addresses|all-fqdns)"),
    "jobs": re.compile(r"-[lnprs]+|%\S*"),
    "printf": re.compile(r"(?!-v).*", re.DOTALL),
    "wait": re.compile(r"-[fn]+|%\S*|\d+"),
}
"""What each word of a program may be that can also change something, so that it does not."""
_VALUED: Final = frozenset({"-d", "--date", "-r", "--reference"})


def to_save(action: Action, verdict: Verdict, policy: Policy) -> tuple[str, ...]:
    """The absolute paths to save before a command runs that asks only because it loses something; nothing
    where saving them is no answer to the question.

    The sandbox keeps the command to the workspace, so that nothing else can be lost. All of the workspace is
    meant by everything but a line that begins with an `rm` of plain names and loses nothing after it: what a
    line does before, and what its shell makes of words, may lead a name to another place.
    """
    asks = verdict.decision == "ask" and verdict.by == "rule" and not verdict.outside
    confined = verdict.access.confined and policy.sandbox in _KEPT_INSIDE
    if not (asks and confined and _LOSES.issuperset(verdict.effects)):
        return ()
    found = [one for one in verdict.findings if one.effect in verdict.effects]
    if not (isinstance(action, Command) and _is_plain_removal(action.command, verdict, found)):
        return (policy.workspace,)
    return _outermost(sorted({_lost(one, policy.workspace) for one in found}))


def may_change(action: Action, verdict: Verdict) -> bool:
    """Whether an action may change files: all but what is known only to read."""
    match action:
        case FileAccess():
            return action.operation != "read"
        case Command():
            return not verdict.commands or not all(map(_only_reads, verdict.commands))
        case ToolUse():
            return "files" in action.manifest.effects and not action.manifest.workspace


def may_redirect(action: Action, verdict: Verdict) -> bool:
    """Whether an action may change what the words of a later command do; not one that a person allowed in its
    own words.
    """
    match action:
        case FileAccess():
            return action.operation != "read"
        case Command():
            return verdict.covered is None and not only_reads(verdict)
        case ToolUse():
            return not {"network"}.issuperset(action.manifest.effects)


def only_reads(verdict: Verdict) -> bool:
    """Whether a command is known only to read, and leaves its shell in its folder."""
    commands = verdict.commands
    return bool(commands) and all(_only_reads(one) and one.program != "cd" for one in commands)


def _only_reads(command: Simple) -> bool:
    own = command.program in command.scope.aliases or command.program in command.scope.functions
    plain = command.argv[:1] == (command.program,) and not own
    does_more = command.writes or command.assignments or command.through
    return plain and not does_more and (command.program in _READERS or _has_reading_form(command))


def _has_reading_form(command: Simple) -> bool:
    words, form = command.argv[1:], _FORMS.get(command.program)
    return form is not None and all(
        form.fullmatch(word) or before in _VALUED for word, before in zip(words, ("", *words), strict=False)
    )


def saved_first(verdict: Verdict, paths: Sequence[str], workspace: str) -> Verdict:
    """The verdict on a command that loses nothing any more, for these paths are saved before it."""
    names = ", ".join(_below(path, workspace) for path in paths)
    return replace(verdict, reasons=(f"it could lose {names}, which is saved first",))


def _below(path: str, workspace: str) -> str:
    return path[len(workspace) :].lstrip("/") if path != workspace else "files of the workspace"


def _is_plain_removal(line: str, verdict: Verdict, found: Sequence[Finding]) -> bool:
    """Whether all that a line may lose is lost by its first command, an `rm` whose words mean to every shell
    what they say.
    """
    words = tuple(_ENDS.split(line, maxsplit=1)[0].rstrip(" ").split(" "))
    if words[0] != "rm" or not all(map(_PLAIN.fullmatch, words)) or not verdict.commands:
        return False
    first, *others = verdict.commands
    defined = "rm" in first.scope.aliases or "rm" in first.scope.functions
    alone = not any(map(_deletes, others)) and all(one.words == first.line for one in found)
    return first.argv == words and alone and not defined


def _deletes(command: Simple) -> bool:
    return any(does == "delete" for does, _ in file_uses(command)) or bool(emptied(command))


def _lost(finding: Finding, workspace: str) -> str:
    """The folder or file that a finding may lose; all of the workspace where that is not known, or where it
    is history, which is in git's folder and in the files.
    """
    folder, _, name = finding.path.rpartition("/")
    path = folder if "*" in name else finding.path
    inside = is_within(path, workspace) and finding.effect == "delete" and UNKNOWN not in path
    return path if inside else workspace


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """The paths that lie in no other one."""

    def above(path: str) -> Iterator[str]:
        return (one for one in paths if one != path and is_within(path, one))

    return tuple(path for path in paths if not any(above(path)))
