"""May this happen? One pure function: an action, the policy and what was granted give a verdict."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hermes.safety.inspect import inspect
from hermes.safety.paths import Map, Place, is_env_file, is_secret, is_within, place_of, runs_later
from hermes.safety.rules import Finding, table
from hermes.safety.words import UNKNOWN
from hermes.safety.wrappers import see_through
from hermes.types.action import Action, Command, FileAccess, Permit


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the user has set, and where things are; paths are absolute with links resolved.

    `sandbox`: what stands around commands. `off`: nothing. `read-only` and `workspace`: the kernel lets them write nowhere, or in the
    workspace alone. `full`: it hides secrets, our own files and other processes. `container`: a machine that is thrown away, but for
    the folders of `binds`. `network`: confined commands may use the network without a question, all of it or these hosts.
    `mode` off and `yolo` let everything through but what nothing lets through. `allowlist`: patterns of earlier grants for good.
    """

    workspace: str
    home: str
    hermes_home: str
    temp: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108 -- the machine's folders for temporary files
    sandbox: Literal["off", "read-only", "workspace", "full", "container"] = "off"
    network: bool | tuple[str, ...] = False
    binds: tuple[str, ...] = ()
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

    `network`, `confined` and `writable` say how it runs once it may, as in `Permit`.
    The patterns name exactly what a wider yes would cover; empty: none is offered.
    """

    decision: Literal["allow", "contain", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    rule: str = ""
    effects: tuple[str, ...] = ()
    session_pattern: str = ""
    always_pattern: str = ""
    network: bool | tuple[str, ...] = False
    confined: bool = False
    writable: bool = False
    by: Literal["rule", "sandbox", "person", "session", "allowlist", "yolo"] = field(default="rule")

    def permit(self, by: Literal["rule", "sandbox", "person", "session", "allowlist", "yolo"] | None = None) -> Permit:
        """The yes to the action; `by` says who gave it when the verdict was to ask."""
        return Permit(confined=self.confined, network=self.network, writable=self.writable, by=by or self.by)


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
        return Verdict(decision="allow") if policy.sandbox == "off" else _contained(policy)
    covering = set(_covering(action, counted))
    if covering & grants.session:
        return _verdict("allow", counted, way, by="session")
    if covering & set(policy.allowlist):
        return _verdict("allow", counted, way, by="allowlist")
    if policy.yolo or policy.mode == "off":
        return _verdict("allow", counted, way, by="yolo")
    return _verdict("ask", counted, way, patterns=_offered(action, counted))


def _contained(policy: Policy) -> Verdict:
    return Verdict(decision="contain", confined=True, network=policy.network, by="sandbox")


@dataclass(frozen=True, slots=True)
class _Way:
    """How something that was found runs once it may."""

    confined: bool = False
    network: bool | tuple[str, ...] = False
    writable: bool = False

    @classmethod
    def of(cls, found: Sequence[Finding], policy: Policy) -> "_Way":
        effects = [table().effects[one.effect] for one in found]
        if policy.sandbox == "container":
            return cls(confined=True, network=policy.network)  # a yes does not change where it runs
        return cls(
            confined=policy.sandbox != "off" and not any(policy.sandbox in effect.opens for effect in effects),
            network=any(effect.network for effect in effects) or policy.network,
            writable=policy.sandbox == "read-only" and any(one.effect in {"change", "delete", "history"} for one in found),
        )


def _counted(found: Sequence[Finding], policy: Policy) -> tuple[list[Finding], _Way]:
    """The findings that need a decision, and how the command runs after a yes."""
    counted = [one for one in found if _counts(one, policy)]
    way = _Way.of(counted, policy)
    if counted and policy.sandbox not in {"off", "container"} and (way.network is True or not way.confined):
        # A yes opens the sandbox, so what only the sandbox would have stopped must be said, too.
        counted = [one for one in found if one.effect != "change" or one in counted]
    return counted, way


def _counts(finding: Finding, policy: Policy) -> bool:
    """Whether a finding needs a decision where the command would run."""
    online = f"{policy.sandbox}{'+' if policy.network else '-'}network"
    if not table().effects[finding.effect].free & {policy.sandbox, online}:
        return True
    return policy.sandbox == "container" and finding.effect != "change" and _is_bound(finding.path, policy)


def _is_bound(path: str, policy: Policy) -> bool:
    """Whether what happens at a path of a container may happen to a folder of the machine around it."""
    return bool(path and policy.binds) and (UNKNOWN in path or any(is_within(path, bind) or is_within(bind, path) for bind in policy.binds))


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
        writable=way.writable,
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
    if policy.sandbox == "container" and place != "own" and not _is_bound(path, policy):
        return _contained(policy)
    return _writing(path, place, policy)


def _writing(path: str, place: Place, policy: Policy) -> Verdict:
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
    if policy.sandbox == "read-only" and place != "temp":
        return _asked("change", "change", f"{path} would change, and the workspace is read-only", path, policy)
    return Verdict(decision="allow")


def _reading(path: str, place: Place, policy: Policy) -> Verdict:
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
