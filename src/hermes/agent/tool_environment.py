"""Where a session's tools work: the workspace, the gate in front of it, and the sandbox around its
commands.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent.code_execution.settings import CodeExecutionSettings
from hermes.agent.gate import ApprovalGate
from hermes.agent.heard import said_since
from hermes.agent.outside import sources_of
from hermes.agent.provenance import tell
from hermes.agent.touched import touched
from hermes.agent.turn_files import TurnFiles
from hermes.agent.undo import SaveFirst, checkpoints_of
from hermes.config.sections import Settings
from hermes.environments.base import Limits
from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.mounts import Scratch
from hermes.environments.sandbox.prewarm import Spawn
from hermes.environments.sandbox.probe import why_none
from hermes.environments.sandbox.sandbox import Sandbox, SandboxOptions
from hermes.environments.script_workspace import ScriptWorkspace
from hermes.environments.settings import TerminalSettings
from hermes.environments.workspace import WorkspaceOptions
from hermes.lib.files import real_paths
from hermes.lib.secretvalues import SecretValues
from hermes.models.side_calls import SideQuestion
from hermes.safety.bound_files import named_paths
from hermes.safety.decide import Policy, is_concealed
from hermes.safety.grants import lent
from hermes.safety.outside_folders import NAMES, OutsideFolder
from hermes.safety.redact import redact
from hermes.safety.settings import AllowlistSettings, ApprovalSettings, CheckpointSettings
from hermes.tools.settings import ToolOutputSettings
from hermes.types.capabilities import ALL, Capabilities, is_below
from hermes.types.error import EnvironmentUnavailable
from hermes.types.message import ToolResult
from hermes.types.ports import Ports
from hermes.types.question import Answer, Approve, Question

if TYPE_CHECKING:
    from hermes.agent.session import Session

Confinement = Literal["off", "read-only", "workspace", "full", "container"]
_UNCONFINED = "Commands run with all rights of the user; hermes sandbox status says what helps."
_PATHS = "bubblewrap works, but not with the paths of this workspace"
Ask = Callable[[Question], Awaitable[Answer]]


class ToolEnvironmentOptions(Struct, frozen=True, kw_only=True):
    """What a tool environment is made from.

    `scratch` is the session's own folder, `user_home` the person's, `save` keeps an 'always', `spawn` runs
    jobs beside the session, `allowed` gives the allowlist when it was changed.
    """

    cwd: Path
    user_home: Path
    hermes_home: Path
    scratch: Path
    environ: Mapping[str, str]
    terminal: TerminalSettings
    approvals: ApprovalSettings
    output: ToolOutputSettings
    allowlist: tuple[str, ...]
    save: Callable[[str], None]
    ports: Ports
    known: SecretValues = field(default_factory=SecretValues)
    yolo: bool = False
    holder: str = ""
    bounds: Capabilities = ALL
    spent: Callable[[str, str], None] = lambda _old, _new: None
    allowed: Callable[[], tuple[str, ...] | None] = lambda: None
    spawn: Spawn | None = None
    checkpoints: CheckpointSettings = CheckpointSettings()
    code: CodeExecutionSettings = CodeExecutionSettings()


class ToolEnvironment(Struct, frozen=True, kw_only=True):
    """A workspace and the gate that every effect in it passes; without `turn_files` no turn's are saved."""

    workspace: ScriptWorkspace
    gate: ApprovalGate
    trusting: bool = False
    turn_files: TurnFiles | None = None

    async def begin_turn(self) -> None:
        """Have what children of earlier turns change from here on belong to the turn that begins."""
        if self.turn_files is not None:
            await self.turn_files.begin_turn()

    async def end_turn(self) -> None:
        """Save what a turn has left of the files."""
        if self.turn_files is not None:
            await self.turn_files.save_after()

    def attach(self, session: "Session") -> None:
        """Let the gate ask a model, tell of what no person answered, know what was read from outside, and
        hold what a person has allowed the session above it.

        A user who trusts everything that is read has it forgotten.
        """
        gate, home = self.gate, session.home
        if self.turn_files is not None:
            self.turn_files.attach(session)

        async def advise(question: SideQuestion) -> str | None:
            return await home.run(partial(session.ask_aside, "approval", question))

        gate.attended, gate.planning = session.spec.attended, lambda: session.is_planning
        gate.asks_edits, gate.accept_edits = lambda: session.asks_edits, session.accept_edits
        # One that is resumed may have, and one that works for another shares its files
        gate.wrote = bool(session.spec.parent) or any(isinstance(one, ToolResult) for one in session.log)
        if session.above is not None and session.above.opened is not None:
            gate.grants = lent(session.above.opened.gate.grants)
        gate.advise, gate.record = advise, partial(home.call, session.questions.record)
        gate.settle = partial(home.call, session.questions.settle)
        if not self.trusting:
            gate.read, gate.said = partial(sources_of, session), partial(said_since, session)
            gate.changed = {one.name for one in session.spec.outside}  # of one that is resumed, anything


def options_from(settings: Settings, environ: Mapping[str, str], **rest: Any) -> ToolEnvironmentOptions:
    """The options that settings and the user's environment say; `rest` are the other fields."""
    return ToolEnvironmentOptions(
        user_home=Path(environ.get("HOME") or Path.home()),
        environ=environ,
        terminal=settings[TerminalSettings],
        approvals=settings[ApprovalSettings],
        output=settings[ToolOutputSettings],
        code=settings[CodeExecutionSettings],
        checkpoints=settings[CheckpointSettings],
        allowlist=tuple(settings[AllowlistSettings].command_allowlist),
        **rest,
    )


def sandbox_options(terminal: TerminalSettings) -> SandboxOptions:
    """What the settings say of the sandbox."""
    return SandboxOptions(
        mode=terminal.sandbox_mode,
        tracing=terminal.sandbox_debuggers,
        processes=terminal.sandbox_processes,
        file_gigabytes=terminal.sandbox_file_gigabytes,
    )


def outside_folders(home: Path, workspace: Path, approvals: ApprovalSettings) -> tuple[OutsideFolder, ...]:
    """The folders at home whose files others wrote, unless they lead to all of the home or the workspace, or
    the user trusts all that is read.
    """
    if approvals.untrusted == "trust":
        return ()
    places = (os.path.realpath(home), os.path.realpath(workspace))
    folders = [OutsideFolder(str(home / name), os.path.realpath(home / name)) for name in NAMES]
    return tuple(
        one
        for one in folders
        if os.path.exists(one.real)  # noqa: PTH110  # a word
        and (one.path == one.real or not any(is_below(one.real, top) for top in places))
    )


def network_of(terminal: TerminalSettings) -> bool | tuple[str, ...]:
    """What sandboxed commands may reach without a question."""
    return terminal.network if isinstance(terminal.network, bool) else tuple(terminal.network)


def open_local(options: ToolEnvironmentOptions, ask: Ask) -> ToolEnvironment:
    """A tool environment on this machine; EnvironmentUnavailable when settings demand a sandbox that it does
    not give.
    """
    sandbox = _sandbox(options)
    lacking = (
        ""
        if sandbox or options.terminal.sandbox == "off"
        else f"There is no sandbox here: {why_none(options.environ, options.cwd) or _PATHS}"
    )
    policy = replace(
        policy_of(options, sandbox.options.mode if sandbox else "off"),
        outside_folders=outside_folders(options.user_home, options.cwd, options.approvals),
    )
    gate = gate_of(options, policy, partial(_asked, ask, lacking) if lacking else ask)
    gate.locate, gate.touched = real_paths, touched
    if options.checkpoints.max_megabytes:
        kept = checkpoints_of(options.hermes_home, options.checkpoints, options.user_home)
        gate.save_first = SaveFirst(kept, options.ports, options.scratch.name)
        if options.checkpoints.turns:
            gate.turn_files = TurnFiles(kept, options.ports, options.cwd, _temp(options, sandbox))
    workspace = LocalWorkspace(
        options.cwd,
        authorize=gate.authorize,
        environ=options.environ,
        scratch=options.scratch,
        sandbox=sandbox,
        options=replace(
            workspace_options(options, gate), note=f"{lacking}. {_UNCONFINED}" if lacking else ""
        ),
    )
    return ToolEnvironment(
        workspace=workspace,
        gate=gate,
        trusting=options.approvals.untrusted == "trust",
        turn_files=gate.turn_files,
    )


def gate_of(options: ToolEnvironmentOptions, policy: Policy, ask: Ask) -> ApprovalGate:
    """The gate in front of a workspace, wherever that is."""
    return ApprovalGate(
        policy=policy,
        ask=ask,
        save=options.save,
        ports=options.ports,
        holder=options.holder,
        spent=options.spent,
        allowed=options.allowed,
    )


def workspace_options(options: ToolEnvironmentOptions, gate: ApprovalGate | None = None) -> WorkspaceOptions:
    """What a workspace may do, apart from decisions; with a gate, searches leave out what its policy
    hides.
    """
    return WorkspaceOptions(
        limits=Limits(
            max_chars=options.output.max_bytes,
            max_lines=options.output.max_lines,
            max_line_length=options.output.max_line_length,
        ),
        error_limits=Limits(max_chars=options.code.max_stderr_chars),
        time_limit=options.terminal.timeout,
        passthrough=tuple(options.terminal.env_passthrough),
        is_secret=partial(holds_secret, known=options.known),
        known=options.known,
        concealed=lambda path: gate is not None and is_concealed(path, gate.policy),
        found=gate.found if gate else lambda _paths: None,
        named=lambda action: named_paths(action, gate.policy.folders) if gate else (),
        is_outdated=gate.is_outdated if gate else lambda _permit: False,
        heard=tell,
        spawn=options.spawn,
    )


def holds_secret(text: str, known: SecretValues) -> bool:
    """Whether there is a credential in a text: a known one in any form, or one that looks like it."""
    hidden = known.redact(text)
    return hidden != text or redact(text) != text


async def _asked(ask: Ask, lacking: str, question: Question) -> Answer:
    """The answer to a question that also says what a yes does without a sandbox."""
    return await ask(
        replace(question, reasons=(*question.reasons, lacking)) if isinstance(question, Approve) else question
    )


def _temp(options: ToolEnvironmentOptions, sandbox: Sandbox | None) -> Path:
    """What commands have as their /tmp."""
    is_own = sandbox is not None and sandbox.options.mode != "full"
    return Scratch(root=options.scratch).temp if is_own else Path("/tmp")  # noqa: S108  # nothing is made there


def _sandbox(options: ToolEnvironmentOptions) -> Sandbox | None:
    if options.terminal.sandbox == "off":
        return None
    found = open_sandbox(
        workspace=options.cwd,
        home=options.user_home,
        hermes_home=options.hermes_home,
        scratch=options.scratch,
        environ=options.environ,
        sandboxing=replace(sandbox_options(options.terminal), bounds=options.bounds),
    )
    if found is None and options.terminal.sandbox == "on":
        raise EnvironmentUnavailable(
            "terminal.sandbox is on, but bubblewrap does not work here; hermes doctor says why."
        )
    return found


def policy_of(options: ToolEnvironmentOptions, sandbox: Confinement) -> Policy:
    """What is set about decisions, and where things are on this machine."""
    return Policy(
        workspace=str(options.cwd),
        home=str(options.user_home),
        hermes_home=str(options.hermes_home),
        temp=("/tmp", "/var/tmp"),  # noqa: S108  # names to compare with, nothing is made there
        sandbox=sandbox,
        network=network_of(options.terminal),
        mode=options.approvals.mode,
        ask=options.approvals.ask,
        edits=options.approvals.edits,
        scope=options.approvals.scope,
        yolo=options.yolo,
        allowlist=options.allowlist,
        bounds=options.bounds,
        strict=options.approvals.untrusted == "strict",
    )
