"""Commands on sessions and turns: new, resume, continue, title, history, steer, queue, stop, quit."""

from hermes.agent.hook_points import began_anew
from hermes.commands.context import CommandContext, idle, opened
from hermes.types.error import ConfigError, HermesError


async def new(talk: CommandContext, argument: str) -> None:
    """A fresh session with the plugins that are enabled now, and a title if one is given."""
    idle(talk)
    before = talk.session
    await _take_plugins(talk)
    await talk.open()
    if before is not None and talk.session is not None and talk.session is not before:
        await began_anew(before, talk.session)
    if argument and talk.session is not None:
        await talk.session.rename(argument)


async def _take_plugins(talk: CommandContext) -> None:
    """Have the plugins that are enabled now; a fault of the settings leaves those that there were."""
    try:
        for told in await talk.runtime.take_plugins():
            talk.notice(told)
    except ConfigError as error:
        talk.warn(str(error))


async def resume(talk: CommandContext, argument: str) -> None:
    """An earlier session, named or chosen from a list."""
    idle(talk)
    if argument:
        await talk.open(resume=argument)
    else:
        await talk.pick()


async def continue_(talk: CommandContext, _argument: str) -> None:
    """Go on with the turn that was cut off."""
    idle(talk)
    if not opened(talk).is_cut:
        raise HermesError("The last turn was not cut off; there is nothing to go on with.")
    talk.continue_turn()


async def title(talk: CommandContext, argument: str) -> None:
    """Show the session's name, or change it."""
    session = opened(talk)
    if argument:
        await session.rename(argument)
    talk.tell(
        f"This session is called “{session.title}”."
        if session.title
        else "This session has no name; /title NAME gives it one."
    )


async def history(talk: CommandContext, argument: str) -> None:
    """Show the last turns again, ten unless told."""
    if argument and not argument.isdecimal():
        raise HermesError(f"{argument!r} is not a number of turns; /history 3 shows three.")
    await talk.replay(int(argument or 10))


async def steer(talk: CommandContext, argument: str) -> None:
    """Add a message to the running turn; sent as a turn of its own when none runs."""
    text = _words(argument, "/steer")
    if talk.session is None or not talk.session.steer(text):
        talk.send(text)


async def queue(talk: CommandContext, argument: str) -> None:
    """Send a message after the running turn."""
    talk.queue(_words(argument, "/queue"))


async def stop(talk: CommandContext, _argument: str) -> None:
    """Stop the turn, every background process and every child in the background."""
    session = opened(talk)
    busy = session.busy
    session.interrupt()
    running = [process for process in session.workspace.processes.list() if process.code is None]
    for process in running:
        await session.workspace.processes.kill(process.id)
    children = [one for one in session.children.living if one.background and one.report is None]
    for child in children:
        child.cancel()
    if running:
        talk.tell(f"Stopped {len(running)} background {'process' if len(running) == 1 else 'processes'}.")
    if children:
        talk.tell(f"Cancelled {len(children)} {'child' if len(children) == 1 else 'children'}.")
    if not (busy or running or children):
        talk.tell("Nothing is running.")


async def leave(talk: CommandContext, _argument: str) -> None:
    """End the app."""
    talk.leave()


def _words(argument: str, name: str) -> str:
    if not argument:
        raise HermesError(f"{name} needs a message: {name} MESSAGE.")
    return argument
