"""What goes beyond the capabilities of a session: no answer and no setting lets it through."""

from collections.abc import Iterator
from typing import Final

from hermes.safety.commands.paths import Map, is_own_result, is_within
from hermes.types.action import Action, Command, FileAccess, ToolUse
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.tool import ToolManifest

_CONNECTING: Final = frozenset({"network", "send", "other"})
_PRIVATE_TEMP: Final = frozenset({"read-only", "workspace"})


def network_within(network: bool | tuple[str, ...], bounds: Capabilities) -> bool | tuple[str, ...]:  # noqa: FBT001  # the policy's own value
    """What of an open network is left within bounds."""
    if network is False or bounds.reaches("*"):
        return network
    asked = Capabilities(hosts=("*",) if network is True else network)
    return bounds.meet(asked).hosts or False


def beyond(action: Action, bounds: Capabilities, sandbox: str, folders: Map) -> Iterator[str]:
    """Why an action is more than the bounds allow; nothing where it is within them."""
    if bounds == ALL:
        return
    match action:
        case ToolUse():
            yield from _of_tool(action, bounds)
        case FileAccess():
            yield from _of_file(action, bounds, sandbox, folders)
        case Command():
            yield from _of_command(action, bounds, sandbox)


def _of_tool(action: ToolUse, bounds: Capabilities) -> Iterator[str]:
    if not bounds.uses(action.tool):
        yield f"this session may not use the tool {action.tool}"
    elif action.tool not in bounds.tools and not _keeps_within(action.manifest, bounds):
        yield f"the tool {action.tool} may do more than this session, and is not named in its tools"


def _keeps_within(manifest: ToolManifest, bounds: Capabilities) -> bool:
    """Whether what a tool declares is within bounds; what goes through the workspace is decided there."""
    if manifest.workspace or _is_open(bounds):
        return True
    if _CONNECTING.isdisjoint(manifest.effects) and not manifest.hosts:
        return not manifest.programs
    return (
        bool(manifest.hosts) and "other" not in manifest.effects and all(map(bounds.reaches, manifest.hosts))
    )


def _of_file(action: FileAccess, bounds: Capabilities, sandbox: str, folders: Map) -> Iterator[str]:
    if action.operation == "read":
        if not (bounds.reads(action.path) or is_own_result(action.path, folders)):
            yield f"{action.path} is outside of what this session may read"
    elif not bounds.writes(action.path) and not _is_temporary(action.path, sandbox, folders):
        yield f"{action.path} is outside of what this session may write"


def _is_temporary(path: str, sandbox: str, folders: Map) -> bool:
    """Whether it lies in the folder for temporary files that the sandbox's commands have for themselves."""
    inside = any(is_within(path, folder) for folder in folders.temp)
    return sandbox in _PRIVATE_TEMP and inside and not is_within(path, folders.workspace)


def _of_command(action: Command, bounds: Capabilities, sandbox: str) -> Iterator[str]:
    if sandbox in {"off", "container"} and not _is_open(bounds):
        yield "without the sandbox of this machine a command cannot be kept to what this session may do"
    needs = action.needs
    if needs.unconfined and not _is_open(bounds):
        yield "no command of this session may leave the sandbox"
    if needs.network and not bounds.reaches("*"):
        yield "this session may not use all of the network"
    yield from (f"this session may not reach {host}" for host in needs.hosts if not bounds.reaches(host))
    yield from (f"this session may not write in {path}" for path in needs.paths if not bounds.writes(path))


def closed_needs(bounds: Capabilities, workspace: str) -> tuple[str, ...]:
    """The needs of a command that bounds rule out, whatever is answered: network, paths, unconfined."""
    network = () if bounds.hosts else ("network",)
    paths = ("paths",) if all(is_within(folder, workspace) for folder in bounds.write) else ()
    return (*network, *paths, *(() if _is_open(bounds) else ("unconfined",)))


def _is_open(bounds: Capabilities) -> bool:
    """Whether nothing that a command could do is taken away."""
    taken = (bounds.read, bounds.write, bounds.hosts, bounds.unconfined)
    return taken == (ALL.read, ALL.write, ALL.hosts, ALL.unconfined)
