"""The command on background processes: list them, stop one."""

from hermes.commands.context import CommandContext, opened
from hermes.lib.text import duration
from hermes.lib.visible import visible
from hermes.types.error import HermesError
from hermes.types.workspace import ProcessState

HOW = "`/ps stop ID` stops one, `/stop` stops them all."


async def ps(talk: CommandContext, argument: str) -> None:
    """The background processes, or what is to be done with one of them."""
    session, (word, _, name) = opened(talk), argument.partition(" ")
    processes = session.opened.workspace.processes if session.opened is not None else None
    known = {one.id: one for one in processes.list()} if processes is not None else {}
    now = session.services.ports.now()
    if processes is None or not known:
        talk.tell("No process was started in the background.")
    elif not word:
        rows = [_row(one, now) for one in known.values()]
        talk.tell("\n".join([*rows, "", HOW]))
    elif word == "stop" and name.strip() in known:
        talk.tell(f"Stopped:\n{_row(await processes.kill(name.strip()), now)}")
    else:
        raise HermesError(f"/ps takes nothing, or stop ID; processes are {', '.join(known)}.")


def _row(one: ProcessState, now: float) -> str:
    ended = f"exit {one.code}" if one.code is not None else f"runs for {duration(now - one.started)}"
    return f"- **{one.id}** {ended} in `{visible(one.cwd)}`: `` {visible(' '.join(one.command.split()))} ``"
