"""What a person is told of a session that was just opened."""

from typing import Final

from hermes.agent.losses import losses
from hermes.agent.settings import AgentSettings
from hermes.commands.context import CommandContext, opened
from hermes.config.sections import Settings
from hermes.environments.settings import TerminalSettings

CUT: Final = "The last turn was cut off before its end; /continue goes on with it, a new message ends it."
GOES_ON: Final = "The last turn was cut off before its end; it goes on now (agent.auto_continue)."


def greet(talk: CommandContext, settings: Settings) -> None:
    """Say what it has lost, what waits in it, that its last turn had been cut off and how to go on; where the
    settings want it, the turn goes on.
    """
    for loss in losses(opened(talk), settings[TerminalSettings]):
        talk.notice(loss)
    goes_on = settings[AgentSettings].auto_continue
    if opened(talk).is_cut:
        talk.notice(GOES_ON if goes_on else CUT)
        if goes_on:
            talk.continue_turn()
