"""The words in which a model is told why an action was refused, and what it may do instead."""

from typing import Final

from hermes.safety.decide import Verdict
from hermes.types.question import Answer, Deny, Reply

_INSTEAD: Final = {
    "outside": "work inside the workspace or in the session's own /tmp",
    "needs-path": "work inside the workspace or in the session's own /tmp",
    "unconfined": "do what can be done inside the sandbox",
    "delete": "delete build output or single files, or move what is in the way",
    "needs-network": "use what is already on this machine",
    "secret": "leave credentials alone",
    "opaque": "write the command plainly, without parts that are only known when it runs",
    "history": "commit or stash first, and leave history as it is",
    "publish": "prepare everything and let the user publish it",
    "privilege": "do it without more rights",
    "own": "ask the user to change the settings",
    "tool": "ask the user to let it: hermes mcp allow SERVER --trust read-only or full",
    "policy": "tell the user which setting to change and how; only they can",
}


def denied(answer: Answer, verdict: Verdict, *, attended: bool) -> str:
    """A no, or what was said instead of a yes; nobody said it where nobody is there."""
    if not attended:
        return f"Nobody can be asked here, so this did not run: {listed(verdict)}.{instead(verdict)}"
    said = answer.reason if isinstance(answer, Deny) else answer.text if isinstance(answer, Reply) else ""
    why = f" They said: {_ended(said)}" if said else ""
    return f"The user did not allow this ({listed(verdict)}).{why}{instead(verdict)}"


def listed(verdict: Verdict) -> str:
    """Why it was refused."""
    return "; ".join(verdict.reasons) or verdict.rule


def instead(verdict: Verdict) -> str:
    """What the model may do instead, in a sentence of its own."""
    ways = dict.fromkeys(_INSTEAD[effect] for effect in verdict.effects if effect in _INSTEAD)
    return f" Instead: {'; or '.join(ways)}." if ways else ""


def _ended(sentence: str) -> str:
    """Words with an end."""
    return sentence if sentence.rstrip()[-1:] in {".", "!", "?", "…"} else f"{sentence.rstrip()}."
