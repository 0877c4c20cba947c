"""The goal that a session pursues from turn to turn, until it is reached."""

from typing import Literal

from msgspec import Struct

GoalState = Literal["active", "paused", "blocked", "done"]
"""`active`: the next turn is sent by itself. `paused` and `blocked`: a person has to say how it goes on;
`blocked` because the judge found that the agent cannot. `done`: reached.
"""


class Goal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be reached, and how far that is.

    `outcome` is the goal in the user's words. The rest of its contract may be empty: `verification` is what
    shows that it is reached, `constraints` what holds meanwhile, `boundaries` what is not to be touched,
    `stop_when` when to give it up. `turns` were judged so far, of `limit` at most; `reason` is one sentence
    on why it stands as it does.
    """

    outcome: str
    verification: str = ""
    constraints: str = ""
    boundaries: str = ""
    stop_when: str = ""
    state: GoalState = "active"
    turns: int = 0
    limit: int = 20
    reason: str = ""

    @property
    def contract(self) -> dict[str, str]:
        """The parts that say something, by name."""
        parts = ("outcome", "verification", "constraints", "boundaries", "stop_when")
        return {name: text for name in parts if (text := getattr(self, name))}
