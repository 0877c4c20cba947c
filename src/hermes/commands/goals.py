"""The command on the goal of a session: set it, see it, pause it, go on with it, let it go."""

from hermes.agent import goals
from hermes.commands.context import CommandContext, opened
from hermes.present.goals import goal_words
from hermes.types.error import HermesError
from hermes.types.goal import Goal


async def goal(talk: CommandContext, argument: str) -> None:
    """Set a goal and begin with it, or what is to be done with the one there is."""
    match argument.strip():
        case "" | "status":
            talk.tell(_described(opened(talk).goal))
        case "pause":
            _there(talk)
            await goals.pause(opened(talk), goals.PAUSED)
        case "resume":
            words = await goals.go_on(opened(talk))
            if not opened(talk).busy:  # else the end of the turn is judged
                talk.queue(words)
        case "clear":
            _there(talk)
            await goals.change(opened(talk), None)
        case text:
            talk.queue(await goals.begin(opened(talk), text))


def _there(talk: CommandContext) -> None:
    if opened(talk).goal is None:
        raise HermesError(goals.NONE)


def _described(found: Goal | None) -> str:
    if found is None:
        return goals.NONE
    rows = {
        "goal": goal_words(found),
        **{name.replace("_", " "): text for name, text in found.contract.items()},
    }
    return "\n".join(f"- {name}: {text}" for name, text in rows.items())
