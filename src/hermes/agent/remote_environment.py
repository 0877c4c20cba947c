"""A tool environment on another machine: the same gate, with a policy about that machine."""

import hashlib

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.prompt.builder import Place
from hermes.agent.tool_environment import (
    Ask,
    ToolEnvironment,
    ToolEnvironmentOptions,
    gate_of,
    policy_of,
    workspace_options,
)
from hermes.environments.remote.choose import Choice, choose
from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.remote.transport import Origin
from hermes.environments.remote.workspace import Machine, RemoteWorkspace, probe


class RemoteChoice(Struct, frozen=True, kw_only=True):
    """The machine that settings name."""

    choice: Choice
    environment: RemoteEnvironment


class Reached(Struct, frozen=True, kw_only=True):
    """One that is ready, and was asked what it is."""

    place: RemoteChoice
    machine: Machine

    @property
    def start(self) -> str:
        """Where commands start."""
        return self.machine.start(self.place.choice.cwd)


def remote_choice(options: ToolEnvironmentOptions) -> RemoteChoice:
    """The machine that the settings name, not reached yet; EnvironmentUnavailable says what is missing for
    it.
    """
    seed = f"{options.scratch} {options.ports.token()}"
    mark = hashlib.blake2s(seed.encode(), digest_size=8).hexdigest()
    origin = Origin(cwd=options.cwd, hermes_home=options.hermes_home, environ=options.environ, mark=mark)
    choice = choose(options.terminal, origin)
    environment = RemoteEnvironment(
        choice.transport,
        mark=mark,
        outputs=options.scratch / "outputs",
        limits=workspace_options(options).limits,
        known=options.known,
        prelude=choice.prelude,
    )
    return RemoteChoice(choice=choice, environment=environment)


async def reach(options: ToolEnvironmentOptions) -> Reached:
    """The machine that the settings name, ready, with what it says of itself."""
    found = remote_choice(options)
    await found.environment.start()
    return Reached(place=found, machine=await probe(found.environment))


def described(reached: Reached) -> Place:
    """Where commands run, in words for a prompt."""
    machine, choice = reached.machine, reached.place.choice
    kind = (
        f"in a sandbox of their own ({reached.place.environment.name})"
        if choice.contained
        else "on another host, over ssh"
    )
    network = "" if choice.network else " It has no network."
    return Place(
        cwd=reached.start,
        platform=f"{machine.system}, {machine.name}" if machine.name else machine.system,
        confinement=(
            f"Commands and file tools work {kind}, as {machine.user} on {machine.host}, not on the user's own"
            f" machine.{network}"
        ),
        home=machine.home,
        remote=True,
    )


def open_remote(options: ToolEnvironmentOptions, ask: Ask, reached: Reached | None = None) -> ToolEnvironment:
    """A tool environment there; it is reached when the first tool needs it, if it was not before."""
    place = reached.place if reached else remote_choice(options)
    policy = replace(
        policy_of(options, "container" if place.choice.contained else "off"),
        network=place.choice.network,
        binds=place.choice.binds,
    )
    gate = gate_of(options, policy, ask)

    def met(machine: Machine) -> None:
        # A shell that starts at the top has the home as its workspace.
        start = machine.start(place.choice.cwd)
        workspace = machine.home if start == "/" else start
        gate.policy = replace(
            gate.policy, workspace=workspace, home=machine.home, hermes_home=f"{machine.home}/.hermes"
        )

    workspace = RemoteWorkspace(
        place.environment,
        cwd=place.choice.cwd,
        env=place.choice.env,
        met=met,
        authorize=gate.authorize,
        clock=options.ports.now,
        options=workspace_options(options, gate),
    )
    if reached is not None:
        workspace.settle(reached.machine)
    return ToolEnvironment(workspace=workspace, gate=gate, trusting=options.approvals.untrusted == "trust")
