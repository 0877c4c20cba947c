"""May this happen? One pure function: an action, the policy and what was granted give a verdict."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hermes.safety.inspect import inspect
from hermes.safety.paths import Map, is_env_file, is_secret, place_of, runs_later
from hermes.safety.rules import Finding, table
from hermes.safety.wrappers import see_through
from hermes.types.action import Action, Command, FileAccess, Permit


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the user has set, and where things are; paths are absolute with links resolved.

    `sandbox`: the kernel sandbox works here. `network`: confined commands may use the network without a question.
    `mode` off and `yolo` let everything through but what nothing lets through. `allowlist`: patterns of earlier grants for good.
    """

    workspace: str
    home: str
    hermes_home: str
    temp: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108 -- the machine's folders for temporary files
    sandbox: bool = False
    network: bool = False
    mode: Literal["manual", "off"] = "manual"
    yolo: bool = False
    allowlist: tuple[str, ...] = ()

    @property
    def folders(self) -> Map:
        """The folders that paths are judged by."""
        return Map(workspace=self.workspace, home=self.home, hermes_home=self.hermes_home, temp=self.temp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """What a person has said yes to in this session: patterns as verdicts offer them."""

    session: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`: run. `contain`: run in the sandbox without a question. `ask`: only with a yes. `deny`: never.

    `network` and `confined` say how it runs once it may. The patterns name exactly what a wider yes would cover; empty: none is offered.
    """

    decision: Literal["allow", "contain", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    rule: str = ""
    effects: tuple[str, ...] = ()
    session_pattern: str = ""
    always_pattern: str = ""
    network: bool = False
    confined: bool = False
    by: Literal["rule", "sandbox", "person", "session", "allowlist", "yolo"] = field(default="rule")

    def permit(self, by: Literal["rule", "sandbox", "person", "session", "allowlist", "yolo"] | None = None) -> Permit:
        """The yes to the action; `by` says who gave it when the verdict was to ask."""
        return Permit(confined=self.confined, network=self.network, by=by or self.by)


def decide(action: Action, policy: Policy, grants: Grants | None = None) -> Verdict:
    """The verdict on an action; the same for everybody who asks. What is not understood is not allowed."""
    if isinstance(action, FileAccess):
        return _file(action, policy)
    return _command(action, policy, grants or Grants())


def is_concealed(path: str, policy: Policy) -> bool:
    """Whether a search must not look into a path: credentials, and files of secret variables."""
    return is_secret(path, policy.folders) or is_env_file(path)


def _command(action: Command, policy: Policy, grants: Grants) -> Verdict:
    effects = table().effects
    found = inspect(action.command, cwd=action.cwd, folders=policy.folders)
    hard = [one for one in found if effects[one.effect].hard]
    if hard:
        return _verdict("deny", hard)
    counted, way = _counted(found, policy)
    if not counted:
        return (
            Verdict(decision="contain", confined=True, network=policy.network, by="sandbox")
            if policy.sandbox
            else Verdict(decision="allow")
        )
    covering = set(_covering(action, counted))
    if covering & grants.session:
        return _verdict("allow", counted, way, by="session")
    if covering & set(policy.allowlist):
        return _verdict("allow", counted, way, by="allowlist")
    if policy.yolo or policy.mode == "off":
        return _verdict("allow", counted, way, by="yolo")
    return _verdict("ask", counted, way, patterns=_offered(action, counted))


@dataclass(frozen=True, slots=True)
class _Way:
    """How something that was found runs once it may."""

    confined: bool = False
    network: bool = False

    @classmethod
    def of(cls, found: Sequence[Finding], policy: Policy) -> "_Way":
        effects = [table().effects[one.effect] for one in found]
        return cls(
            policy.sandbox and not any(effect.open for effect in effects), policy.network or any(effect.network for effect in effects)
        )


def _counted(found: Sequence[Finding], policy: Policy) -> tuple[list[Finding], _Way]:
    """The findings that need a decision, and how the command runs after a yes."""
    counted = [one for one in found if _counts(one, policy)]
    way = _Way.of(counted, policy)
    if counted and policy.sandbox and (way.network or not way.confined):
        counted = list(found)  # a yes opens the sandbox, so what only the sandbox would have stopped must be said, too
    return counted, way


def _counts(finding: Finding, policy: Policy) -> bool:
    """Whether a finding needs a decision: not what the sandbox stops by itself, and what needs the network only where that is cut off."""
    effect = table().effects[finding.effect]
    if policy.sandbox:
        return not (effect.contained or (effect.sandbox_only and policy.network and not effect.open))
    return not effect.sandbox_only


def _verdict(
    decision: Literal["allow", "ask", "deny"],
    found: Sequence[Finding],
    way: _Way | None = None,
    *,
    by: Literal["rule", "session", "allowlist", "yolo"] = "rule",
    patterns: tuple[str, str] = ("", ""),
) -> Verdict:
    way = way or _Way()
    return Verdict(
        decision=decision,
        reasons=tuple(dict.fromkeys(one.reason for one in found)),
        rule=found[0].rule,
        effects=tuple(dict.fromkeys(one.effect for one in found)),
        session_pattern=patterns[0],
        always_pattern=patterns[1],
        network=way.network,
        confined=way.confined,
        by=by,
    )


def _exact(action: Command) -> str:
    return f"{action.cwd}$ {action.command.strip()}"


def _wider(action: Command, found: Sequence[Finding]) -> str:
    """The pattern for the same program and subcommand in this directory, with the same findings; "" if it is not one plain command."""
    commands = see_through(action.command, cwd=action.cwd, variables={}).commands
    if len(commands) != 1 or len(commands[0].argv) < 2 or commands[0].writes or commands[0].assignments:
        return ""
    program, subcommand = commands[0].argv[:2]
    if not subcommand.isalnum() or program != commands[0].program or any(not _may_repeat(one) for one in found):
        return ""
    return f"{action.cwd}$ {program} {subcommand} … ({', '.join(sorted({one.rule for one in found}))})"


def _may_repeat(finding: Finding) -> bool:
    """Effects that another command of the same kind has in the same way; what is deleted or unreadable differs each time."""
    return finding.effect in {"network", "daemon", "publish", "service", "remote", "package"}


def _covering(action: Command, found: Sequence[Finding]) -> tuple[str, ...]:
    """The patterns that a grant for this action may have."""
    return (_exact(action), action.command.strip(), *filter(None, (_wider(action, found),)))


def _offered(action: Command, found: Sequence[Finding]) -> tuple[str, str]:
    """What a yes for the session and one for good would cover; nothing for good when what runs is not in the words."""
    exact = _exact(action)
    unreadable = any(one.effect in {"opaque", "download"} for one in found)
    return _wider(action, found) or exact, "" if unreadable else exact


def _file(action: FileAccess, policy: Policy) -> Verdict:
    path = posixpath.normpath(action.path)
    place = place_of(path, "/", policy.folders)
    if place == "secret" or is_secret(path, policy.folders):
        return _judged("deny", "credentials", "secret", f"{path} holds credentials")
    if action.operation == "read":
        return _reading(path, place, policy)
    if place == "own":
        return _judged("deny", "own-files", "own", f"{path} belongs to this agent; use its own tools or commands")
    if place in {"system", "root", "device"}:
        return _judged("deny", "system-files", "outside", f"{path} belongs to the system")
    if place in {"outside", "start", "home", "unknown"}:
        return _asked("write-outside", "outside", f"{path} is outside the workspace", path, policy)
    if runs_later(path):
        return _asked("start-file", "persistence", f"{path} makes something run later", path, policy)
    if is_env_file(path):
        return _asked("variables-file", "variables", f"{path} is a file of secret variables", path, policy)
    return Verdict(decision="allow")


def _reading(path: str, place: str, policy: Policy) -> Verdict:
    if place == "device":
        return _judged("deny", "device", "outside", f"{path} is a device, not a file")
    if is_env_file(path):
        return _asked("variables-file", "variables", f"{path} is a file of secret variables", path, policy)
    return Verdict(decision="allow")


def _judged(decision: Literal["deny"], rule: str, effect: str, reason: str) -> Verdict:
    return Verdict(decision=decision, reasons=(reason,), rule=rule, effects=(effect,))


def _asked(rule: str, effect: str, reason: str, path: str, policy: Policy) -> Verdict:
    """Ask, unless the user has switched questions off; file tools are not in the sandbox, so it cannot stand in."""
    if policy.yolo or policy.mode == "off":
        return Verdict(decision="allow", reasons=(reason,), rule=rule, effects=(effect,), by="yolo")
    return Verdict(decision="ask", reasons=(reason,), rule=rule, effects=(effect,), session_pattern=f"write {path}")
