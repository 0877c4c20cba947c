"""The declared effects of tools that need a yes of their own once text from outside was read."""

from collections.abc import Iterator
from typing import Final

from hermes.types.action import ToolUse

_FAR_EFFECTS: Final = {
    "send": "sends words to people",
    "settings": "changes settings",
    "memory": "changes what later sessions are told",
}


def guarded_effects(use: ToolUse) -> Iterator[str]:
    """The declared effects of a tool by which an order from outside would reach beyond the workspace.

    What a tool does through its workspace is judged there.
    """
    for effect in use.manifest.effects if not use.manifest.workspace else ():
        if effect in _FAR_EFFECTS:
            yield f"the tool {use.tool} {_FAR_EFFECTS[effect]}"
