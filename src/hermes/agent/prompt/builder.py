"""The sections of the system prompt, in order."""

from dataclasses import dataclass
from importlib.resources import files

SMALL_WINDOW = 16_384
"""Up to this many tokens a model gets the small prompt and few tools: they must stay under a quarter of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session works: directory, operating system, git branch (empty when none), and how commands are confined."""

    cwd: str
    platform: str
    branch: str = ""
    confinement: str = ""
    date: str = ""


def build(place: Place) -> str:
    """The whole prompt; the date is a day, so that the prompt's bytes hold for a session and its resumption."""
    identity = (files("hermes") / "data" / "prompts" / "identity.md").read_text(encoding="utf-8").strip()
    return f"{identity}\n\n{surroundings(place)}"


def surroundings(place: Place) -> str:
    """What is true of the machine."""
    lines = [
        f"Working directory: {place.cwd}" + (f" (git branch {place.branch})" if place.branch else ""),
        f"System: {place.platform}",
        place.confinement,
        f"Session started: {place.date}" if place.date else "",
    ]
    return "\n".join(line for line in lines if line)
