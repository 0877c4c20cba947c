"""The command on children: list them as a tree, cancel a branch, pause new ones."""

from typing import TYPE_CHECKING

from hermes.commands.context import CommandContext, opened
from hermes.lib.text import duration
from hermes.present.words import tokens
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.delegation.child_run import ChildRun

HOW = "`/agents stop NUMBER` cancels one with all below it, `/agents pause` lets no new ones begin."


async def agents(talk: CommandContext, argument: str) -> None:
    """The living children, or what is to be done with them."""
    children, (word, _, number) = opened(talk).children, argument.partition(" ")
    match word:
        case "":
            rows = [_row(place, one) for place, one in children.tree()]
            paused = (
                "New children are paused; `/agents resume` lets them begin.\n\n" if children.paused else ""
            )
            talk.tell(paused + ("\n".join([*rows, "", HOW]) if rows else "No child is at work."))
        case "stop":
            _stop(talk, number.strip())
        case "pause":
            children.pause()
            talk.tell("New children are paused, and those that wait for a place.")
        case "resume":
            children.resume()
            talk.tell("New children may begin.")
        case _:
            raise HermesError("/agents takes nothing, stop NUMBER, stop all, pause or resume.")


def _stop(talk: CommandContext, number: str) -> None:
    tree = dict(opened(talk).children.tree())
    chosen = [one for place, one in tree.items() if number in {"all", place}]
    if not chosen:
        raise HermesError(f"There is no child {number!r}; /agents lists those at work.")
    for one in chosen:
        one.cancel()
    talk.tell(
        f"Cancelled: {chosen[0].task.goal}" if len(chosen) == 1 else f"Cancelled: {len(chosen)} children"
    )


def _row(place: str, run: "ChildRun") -> str:
    """A child as an item of a nested list."""
    told = run.standing
    doing = told.doing if told.state == "running" and told.doing else told.state
    facts = " · ".join([doing, duration(told.seconds), f"{tokens(told.tokens)} tokens", f"`{told.child}`"])
    return f"{'  ' * place.count('.')}- **{place}** {told.goal}: {facts}"
