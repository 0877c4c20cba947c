"""May this happen? One pure function: an action, the policy and what was granted give a verdict."""

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase as fnmatch
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.findings import Reading, read_command
from hermes.safety.commands.paths import Map, Place, is_env_file, is_secret, is_within, place_of, runs_later
from hermes.safety.commands.rules import Finding, table
from hermes.safety.grants import Grants, covering, offered, parse
from hermes.types.action import Action, Command, Decider, FileAccess, Permit, ToolUse
from hermes.types.question import Scope


class Policy(Struct, frozen=True, kw_only=True):
    """What the user has set, and where things are; paths are absolute with links resolved.

    `sandbox`: what stands around commands. `off`: nothing. `read-only` and `workspace`: the kernel lets them
    write nowhere, or in the workspace alone. `full`: it hides secrets, our own files and other processes.
    `container`: a machine that is thrown away, but for the folders of `binds`. `network`: confined commands
    may use the network without a question, all of it or these hosts. `mode` off and `yolo` let everything
    through but what nothing lets through. `allowlist`: patterns of earlier grants for good.
    """

    workspace: str
    home: str
    hermes_home: str
    temp: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108  # the machine's folders for temporary files
    sandbox: Literal["off", "read-only", "workspace", "full", "container"] = "off"
    network: bool | tuple[str, ...] = False
    binds: tuple[str, ...] = ()
    mode: Literal["manual", "smart", "off"] = "manual"
    yolo: bool = False
    allowlist: tuple[str, ...] = ()

    @property
    def folders(self) -> Map:
        """The folders that paths are judged by."""
        return Map(workspace=self.workspace, home=self.home, hermes_home=self.hermes_home, temp=self.temp)


class Verdict(Struct, frozen=True, kw_only=True):
    """`allow`: run. `contain`: run in the sandbox without a question. `ask`: only with a yes. `deny`: never.

    `network`, `confined` and `writable` say how it runs once it may, as in `Permit`.
    `findings` are all that was found, `effects` those that needed a decision. `session` and `always` are what
    a wider yes would cover (None: it is not offered), `covered` the earlier one that covers this.
    """

    decision: Literal["allow", "contain", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    rule: str = ""
    effects: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    session: Scope | None = None
    always: Scope | None = None
    covered: Scope | None = None
    network: bool | tuple[str, ...] = False
    confined: bool = False
    writable: bool = False
    by: Decider = "rule"

    @property
    def classes(self) -> tuple[str, ...]:
        """What kinds of things the action does; reading when nothing else was found."""
        return tuple(dict.fromkeys(table().effects[one.effect].kind for one in self.findings)) or ("read",)

    def permit(self, action: Action, by: Decider | None = None, serial: str = "") -> Permit:
        """The yes to the action; `by` says who gave it when the verdict was to ask."""
        return Permit.of(
            action,
            serial=serial,
            confined=self.confined,
            network=self.network,
            writable=self.writable,
            by=by or self.by,
        )


def decide(action: Action, policy: Policy, grants: Grants | None = None) -> Verdict:
    """The verdict on an action; the same for everybody who asks. What is not understood is not allowed."""
    if isinstance(action, ToolUse):
        return Verdict(decision="allow")  # what it does to the machine is decided action by action
    if isinstance(action, FileAccess):
        return _file(action, policy, grants or Grants())
    return _command(action, policy, grants or Grants())


def is_concealed(path: str, policy: Policy) -> bool:
    """Whether a search must not look into a path: credentials, and files of secret variables."""
    return is_secret(path, policy.folders) or is_env_file(path)


def _command(action: Command, policy: Policy, grants: Grants) -> Verdict:
    reading = read_command(action.command, cwd=action.cwd, folders=policy.folders, before=action.carried)
    return replace(_judged_command(action, reading, policy, grants), findings=reading.found)


def _judged_command(action: Command, reading: Reading, policy: Policy, grants: Grants) -> Verdict:
    hard = [one for one in reading.found if table().effects[one.effect].hard]
    if hard:
        return _verdict("deny", hard)
    counted, conditions = _counted(reading.found, policy)
    if not counted:
        return Verdict(decision="allow") if policy.sandbox == "off" else _contained(policy)
    judged = Reading(reading.commands, tuple(counted))
    if scope := covering(grants.session, action, judged, grants.now):
        return replace(_verdict("allow", counted, conditions, by="session"), covered=scope)
    if scope := covering(map(parse, policy.allowlist), action, judged, grants.now):
        return replace(_verdict("allow", counted, conditions, by="allowlist"), covered=scope)
    if policy.yolo or policy.mode == "off":
        return _verdict("allow", counted, conditions, by="yolo")
    session, always = offered(action, judged)
    return replace(_verdict("ask", counted, conditions), session=session, always=always)


def _contained(policy: Policy) -> Verdict:
    return Verdict(decision="contain", confined=True, network=policy.network, by="sandbox")


class _RunConditions(Struct, frozen=True):
    """How something that was found runs once it may."""

    confined: bool = False
    network: bool | tuple[str, ...] = False
    writable: bool = False

    @classmethod
    def of(cls, found: Sequence[Finding], policy: Policy) -> "_RunConditions":
        effects = [table().effects[one.effect] for one in found]
        if policy.sandbox == "container":
            return cls(confined=True, network=policy.network)  # a yes does not change where it runs
        return cls(
            confined=policy.sandbox != "off"
            and not any(policy.sandbox in effect.opens for effect in effects),
            network=any(effect.network for effect in effects) or policy.network,
            writable=policy.sandbox == "read-only"
            and any(one.effect in {"change", "delete", "history"} for one in found),
        )


def _counted(found: Sequence[Finding], policy: Policy) -> tuple[list[Finding], _RunConditions]:
    """The findings that need a decision, and how the command runs after a yes."""
    counted = [one for one in found if _counts(one, policy)]
    conditions = _RunConditions.of(counted, policy)
    if (
        counted
        and policy.sandbox not in {"off", "container"}
        and (conditions.network is True or not conditions.confined)
    ):
        # A yes opens the sandbox, so what only the sandbox would have stopped must be said, too.
        counted = [one for one in found if one.effect != "change" or one in counted]
    return counted, conditions


def _counts(finding: Finding, policy: Policy) -> bool:
    """Whether a finding needs a decision where the command would run."""
    online = f"{policy.sandbox}{'+' if _reaches(finding, policy.network) else '-'}network"
    if not table().effects[finding.effect].free & {policy.sandbox, online}:
        return True
    return policy.sandbox == "container" and finding.effect != "change" and _is_bound(finding.path, policy)


# The policy's own value
def _reaches(finding: Finding, network: bool | tuple[str, ...]) -> bool:  # noqa: FBT001
    """Whether the network is open for a finding; to hosts that are not named it is not."""
    if isinstance(network, bool):
        return network
    return bool(network) and all(any(fnmatch(host, pattern) for pattern in network) for host in finding.hosts)


def _is_bound(path: str, policy: Policy) -> bool:
    """Whether what happens at a path of a container may happen to a folder of the machine around it."""
    return bool(path and policy.binds) and (
        UNKNOWN in path or any(is_within(path, bind) or is_within(bind, path) for bind in policy.binds)
    )


def _verdict(
    decision: Literal["allow", "ask", "deny"],
    found: Sequence[Finding],
    conditions: _RunConditions | None = None,
    *,
    by: Decider = "rule",
) -> Verdict:
    conditions = conditions or _RunConditions()
    return Verdict(
        decision=decision,
        reasons=tuple(dict.fromkeys(one.reason for one in found)),
        rule=found[0].rule,
        effects=tuple(dict.fromkeys(one.effect for one in found)),
        findings=tuple(found),
        network=conditions.network,
        confined=conditions.confined,
        writable=conditions.writable,
        by=by,
    )


def _file(action: FileAccess, policy: Policy, grants: Grants) -> Verdict:
    path = posixpath.normpath(action.path)
    place = place_of(path, "/", policy.folders)
    if place == "secret" or is_secret(path, policy.folders):
        return _refused("credentials", "secret", f"{path} holds credentials")
    if action.operation == "read":
        return _reading(action, path, place, policy, grants)
    if policy.sandbox == "container" and place != "own" and not _is_bound(path, policy):
        return _contained(policy)
    return _writing(action, path, place, policy, grants)


def _writing(action: FileAccess, path: str, place: Place, policy: Policy, grants: Grants) -> Verdict:
    if place == "own":
        return _refused("own-files", "own", f"{path} belongs to this agent; use its own tools or commands")
    if place in {"system", "root", "device"}:
        return _refused("system-files", "outside", f"{path} belongs to the system")
    if place in {"outside", "start", "home", "unknown"}:
        return _asked(
            action,
            Finding("write-outside", "outside", f"{path} is outside the workspace", path, path),
            policy,
            grants,
        )
    if runs_later(path):
        return _asked(
            action,
            Finding("start-file", "persistence", f"{path} makes something run later", path, path),
            policy,
            grants,
        )
    if is_env_file(path):
        return _asked(
            action,
            Finding("variables-file", "variables", f"{path} is a file of secret variables", path, path),
            policy,
            grants,
        )
    if policy.sandbox == "read-only" and place != "temp":
        return _asked(
            action,
            Finding("change", "change", f"{path} would change, and the workspace is read-only", path, path),
            policy,
            grants,
        )
    return Verdict(decision="allow")


def _reading(action: FileAccess, path: str, place: Place, policy: Policy, grants: Grants) -> Verdict:
    if place == "device":
        return _refused("device", "outside", f"{path} is a device, not a file")
    if is_env_file(path):
        return _asked(
            action,
            Finding("variables-file", "variables", f"{path} is a file of secret variables", path, path),
            policy,
            grants,
        )
    return Verdict(decision="allow")


def _refused(rule: str, effect: str, reason: str) -> Verdict:
    return _verdict("deny", [Finding(rule, effect, reason)])


def _asked(action: FileAccess, finding: Finding, policy: Policy, grants: Grants) -> Verdict:
    """Ask, unless the user has said yes before; file tools are not in the sandbox, so it cannot stand in."""
    reading = Reading((), (finding,))
    if scope := covering(grants.session, action, reading, grants.now):
        return replace(_verdict("allow", [finding], by="session"), covered=scope)
    if scope := covering(map(parse, policy.allowlist), action, reading, grants.now):
        return replace(_verdict("allow", [finding], by="allowlist"), covered=scope)
    if policy.yolo or policy.mode == "off":
        return _verdict("allow", [finding], by="yolo")
    session, always = offered(action, reading)
    return replace(_verdict("ask", [finding]), session=session, always=always)
