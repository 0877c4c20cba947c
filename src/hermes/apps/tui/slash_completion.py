"""What `/` offers: the commands, the skills of the session's home as they are now, what plugins add, and the
prompts of connected servers.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from hermes.apps.tui.menu import Item, command_items
from hermes.commands.catalogue import names
from hermes.commands.plugin_commands import plugin_commands
from hermes.commands.server_prompts import prompt_commands
from hermes.lib.visible import visible

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.runtime import Runtime
    from hermes.skills.skill_file import Skill


class SlashCompletion:
    """Knows the skills of a session; each search has them looked at again beside the screen, which hears of
    what has `changed`.
    """

    def __init__(
        self,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        session: "Callable[[], Session | None]",
        runtime: "Callable[[], Runtime | None]",
        changed: Callable[[], object],
    ) -> None:
        self._spawn, self._session, self._runtime, self._changed = spawn, session, runtime, changed
        self._commands, self._skills = command_items(), list[Item]()
        self._looking = False

    def items(self) -> list[Item]:
        """The rows of all commands, then those of the skills, plugins and servers."""
        if not self._looking and self._session() is not None:
            self._looking = True
            self._spawn(self._look)
        return [*self._commands, *self._skills]

    async def _look(self) -> None:
        session = self._session()
        found = await anyio.to_thread.run_sync(session.services.skills.skills) if session else []
        rows = [_item(skill) for skill in found if skill.name not in names()]
        rows += [
            Item(f"/{one.name} ", f"/{one.name}", visible(one.description))
            for one in plugin_commands(session).values()
        ]
        if (runtime := self._runtime()) is not None:
            rows += [
                Item(f"/{one.name}{' ' if one.arguments else ''}", visible(one.usage), visible(one.summary))
                for one in prompt_commands(runtime.mcp)
            ]
        has_changed, self._skills = rows != self._skills, rows
        self._looking = False
        if has_changed:
            self._changed()


def _item(skill: "Skill") -> Item:
    return Item(f"/{skill.name} ", f"/{skill.name}", visible(skill.description))
