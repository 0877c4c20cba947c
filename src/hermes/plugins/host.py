"""What of a runtime a plugin may add to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hermes.agent.context_engines import ContextEngines
from hermes.agent.extensions import Extensions
from hermes.agent.memory_provider import MemoryProviders
from hermes.agent.prompt.folder_trust import FolderTrust
from hermes.agent.routes import Routes
from hermes.agent.services import NoSessions, RuntimeServices, SessionSource
from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.hooks import Hooks
from hermes.lib.aio import HomeLoop
from hermes.lib.lazy import import_object
from hermes.skills.library import SkillLibrary
from hermes.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from hermes.plugins.llm import ModelRoad


class PluginHost(Struct, frozen=True, kw_only=True):
    """The places that the additions of plugins go to, and the loop that they live on; `environ` has the
    user's variables, `settings` those of the runtime.
    """

    registry: ToolRegistry
    hooks: Hooks
    skills: SkillLibrary
    engines: ContextEngines
    memory: MemoryProviders
    environ: Mapping[str, str]
    trust: FolderTrust
    home: Home
    settings: Settings
    extensions: Extensions = field(default_factory=Extensions)
    loop: HomeLoop = field(default_factory=HomeLoop)
    sessions: SessionSource = NoSessions()
    models: "ModelRoad | None" = None


def host_of(services: RuntimeServices, home: Home, routes: Routes) -> PluginHost:
    """What of a runtime with these services plugins may add to; call it on its loop."""
    loop = HomeLoop()
    loop.enter()
    return PluginHost(
        registry=services.dispatcher.registry,
        hooks=services.dispatcher.hooks,
        skills=services.skills,
        engines=services.engines,
        memory=services.recall.providers,
        environ=services.environ,
        trust=services.trust,
        home=home,
        settings=routes.settings,
        extensions=services.extensions,
        loop=loop,
        sessions=services.sessions,
        models=import_object("hermes.plugins.llm:ModelRoad")(
            executor=services.executor, routes=routes, ledger=services.ledger
        ),
    )
