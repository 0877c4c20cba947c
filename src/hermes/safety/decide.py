"""May this happen? One pure function: an action, the policy and what was granted give a verdict."""

import posixpath
import re
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.lib.repository import steers_git
from hermes.safety.bounds import beyond, network_within
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.findings import Reading, read_command
from hermes.safety.commands.paths import (
    Map,
    Place,
    is_env_file,
    is_secret,
    is_within,
    place_of,
    runs_later,
    start_words,
)
from hermes.safety.commands.rules import Finding, table
from hermes.safety.commands.script import Simple
from hermes.safety.grants import EDIT, Grants, contested, covering, offered, parse, unbound
from hermes.safety.needs import Access, access, declared
from hermes.safety.outside_folders import OutsideFolder
from hermes.types.action import Action, Command, Decider, FileAccess, Permit, ToolUse
from hermes.types.capabilities import ALL, Capabilities
from hermes.types.question import Scope


class Policy(Struct, frozen=True, kw_only=True):
    """What the user has set, and where things are; paths are absolute with links resolved.

    `sandbox`: what stands around commands. `off`: nothing. `read-only` and `workspace`: the kernel lets them
    write nowhere, or in the workspace alone. `full`: it hides secrets, our own files and other processes.
    `container`: a machine that is thrown away, but for the folders of `binds`. `network`: confined commands
    may use the network without a question, all of it or these hosts. `mode` off and `yolo` let everything
    through but what nothing lets through. `allowlist`: patterns of earlier grants for good. `bounds`: what
    the session may do at most. `strict`: the workspace's files are from outside, too. `outside_folders`
    are those at home that are there, whose files others wrote: a confined command enters those that it names.
    `scope` says what wider answers are offered: to what was meant, or to all that the same rules find.
    `ask` always: what is dangerous asks also where the sandbox would hold it (`safety.always`), or a
    checkpoint bring it back. `edits` ask: so does each edit of the workspace by a file tool.
    """

    workspace: str
    home: str
    hermes_home: str
    temp: tuple[str, ...] = ("/tmp", "/var/tmp")  # noqa: S108  # the machine's folders for temporary files
    sandbox: Literal["off", "read-only", "workspace", "full", "container"] = "off"
    network: bool | tuple[str, ...] = False
    binds: tuple[str, ...] = ()
    mode: Literal["manual", "smart", "off"] = "manual"
    ask: Literal["needed", "always"] = "needed"
    edits: Literal["free", "ask"] = "free"
    scope: Literal["meant", "pattern"] = "meant"
    yolo: bool = False
    allowlist: tuple[str, ...] = ()
    bounds: Capabilities = ALL
    strict: bool = False
    outside_folders: tuple[OutsideFolder, ...] = ()

    @property
    def folders(self) -> Map:
        """The folders that paths are judged by."""
        return Map(workspace=self.workspace, home=self.home, hermes_home=self.hermes_home, temp=self.temp)


class Verdict(Struct, frozen=True, kw_only=True):
    """`allow`: run. `contain`: run in the sandbox without a question. `ask`: only with a yes. `deny`: never.

    `access` says how it runs once it may. `commands` are those it was read as, `findings` all that was found
    in them, `effects` those that needed a decision. `session` and `always` are what a wider yes would cover
    (None: it is not offered), `covered` the earlier one that covers this. `outside` names the sources of
    outside text that no yes was given in view of, where that is why it asks.
    """

    decision: Literal["allow", "contain", "ask", "deny"]
    reasons: tuple[str, ...] = ()
    rule: str = ""
    effects: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    commands: tuple[Simple, ...] = ()
    session: Scope | None = None
    always: Scope | None = None
    covered: Scope | None = None
    outside: tuple[str, ...] = ()
    access: Access = Access()
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
            confined=self.access.confined,
            network=self.access.network,
            writable=self.access.writable,
            paths=self.access.paths,
            protected=self.access.protected,
            by=by or self.by,
        )


def decide(action: Action, policy: Policy, grants: Grants | None = None) -> Verdict:
    """The verdict on an action; the same for everybody who asks. What is not understood is not allowed."""
    reasons = tuple(beyond(action, policy.bounds, policy.sandbox, policy.folders))
    if reasons:
        return Verdict(decision="deny", reasons=reasons, rule="capability", effects=("reserved",))
    if isinstance(action, ToolUse):
        return _tool(action, policy, grants or Grants())
    if isinstance(action, FileAccess):
        return _file(action, policy, grants or Grants())
    return _command(action, policy, grants or Grants())


def is_concealed(path: str, policy: Policy) -> bool:
    """Whether a search must not look into a path: credentials, and files of secret variables."""
    return is_secret(path, policy.folders) or is_env_file(path) or not policy.bounds.reads(path)


def _command(action: Command, policy: Policy, grants: Grants) -> Verdict:
    reading = read_command(action.command, cwd=action.cwd, folders=policy.folders, before=action.carried)
    usual = _usual_access(policy)
    chosen = policy.sandbox in {"read-only", "workspace", "full"}  # elsewhere nothing opens for one command
    asked = tuple(declared(action.needs, usual, policy.folders, reading.commands)) if chosen else ()
    given = access(action.needs, usual, policy.workspace) if chosen else usual
    reading = Reading(reading.commands, (*asked, *reading.found))
    verdict = _judged_command(action, reading, given, policy, grants)
    return replace(verdict, findings=reading.found, commands=reading.commands)


def _usual_access(policy: Policy) -> Access:
    """What a command gets that declares nothing."""
    if policy.sandbox == "off":
        return Access()
    return Access(
        confined=True,
        network=network_within(policy.network, policy.bounds),
        writable=policy.sandbox != "read-only" and policy.bounds.writes(policy.workspace),
    )


def _judged_command(
    action: Command, reading: Reading, given: Access, policy: Policy, grants: Grants
) -> Verdict:
    hard = [one for one in reading.found if table().effects[one.effect].hard]
    if hard:
        return _verdict("deny", hard)
    counted = [one for one in reading.found if _counts(one, given, policy)]
    if not counted:
        return Verdict(decision="contain", access=given, by="sandbox") if given.confined else _ALLOWED
    judged = Reading(reading.commands, tuple(counted))
    if scope := covering(grants.session, action, judged, grants.now):
        return replace(_verdict("allow", counted, given, by="session"), covered=scope)
    if scope := covering(map(parse, policy.allowlist), action, judged, grants.now):
        return replace(_verdict("allow", counted, given, by="allowlist"), covered=scope)
    session, always = offered(action, judged, policy.folders, policy.scope)
    free = policy.yolo or policy.mode == "off"
    verdict = _verdict("allow", counted, given, by="yolo") if free else _verdict("ask", counted, given)
    if program := unbound(action, judged, policy.folders):
        verdict = replace(verdict, reasons=(*verdict.reasons, _UNBOUND.format(program)))
    elif contested(action, judged):
        verdict = replace(verdict, reasons=(*verdict.reasons, _CONTESTED))
    return replace(verdict, session=session, always=always)


_UNBOUND: Final = (
    "{} may run files that this yes is not bound to, so it is for once: what they hold then is run"
)
_CONTESTED: Final = (
    "a process that this session started still runs and may change the files that this runs, so no earlier"
    " yes counts and this one is for once"
)
_ALLOWED: Final = Verdict(decision="allow")
_SERVED: Final = re.compile(r"/(?:srv|opt)/[^/]+/.")
"""Files of a user's own in folders that belong to no package."""


def _counts(finding: Finding, given: Access, policy: Policy) -> bool:
    """Whether a finding needs a decision where the command would run: what the kernel stops there does
    not.
    """
    mode = policy.sandbox if given.confined else "off"
    mode = "workspace" if mode == "read-only" and given.writable else mode
    free = table().effects[finding.effect].free
    if mode not in free and (f"{mode}-network" not in free or given.reaches(finding.hosts)):
        return True
    if mode == "container":
        return finding.effect != "change" and _is_bound(finding.path, policy)
    kept = finding.effect == "persistence" and _is_kept(finding.path, given, policy)
    return mode == "workspace" and kept and not steers_git(finding.path)  # which is read-only there


def _is_kept(path: str, given: Access, policy: Policy) -> bool:
    """Whether what a sandbox lets a command write at a path is still there afterwards."""
    return any(is_within(path, top) for top in (policy.workspace, *given.paths))


def _is_bound(path: str, policy: Policy) -> bool:
    """Whether what happens at a path of a container may happen to a folder of the machine around it."""
    return bool(path and policy.binds) and (
        UNKNOWN in path or any(is_within(path, bind) or is_within(bind, path) for bind in policy.binds)
    )


def _verdict(
    decision: Literal["allow", "ask", "deny"],
    found: Sequence[Finding],
    given: Access = Access(),  # noqa: B008  # a value
    *,
    by: Decider = "rule",
) -> Verdict:
    return Verdict(
        decision=decision,
        reasons=tuple(dict.fromkeys(one.reason for one in found)),
        rule=found[0].rule,
        effects=tuple(dict.fromkeys(one.effect for one in found)),
        findings=tuple(found),
        access=given,
        by=by,
    )


def _tool(action: ToolUse, policy: Policy, grants: Grants) -> Verdict:
    """What a tool does to the machine is decided action by action; what it does elsewhere, here."""
    if not action.manifest.asks:
        return Verdict(decision="allow")
    return _asked(action, Finding("foreign-tool", "tool", action.manifest.asks), policy, grants)


def _file(action: FileAccess, policy: Policy, grants: Grants) -> Verdict:
    path = posixpath.normpath(action.path)
    place = place_of(path, "/", policy.folders)
    if place == "secret" or is_secret(path, policy.folders):
        return _refused("credentials", "secret", f"{path} holds credentials")
    if action.operation == "read":
        return _reading(action, path, place, policy, grants)
    verdict = _changing(action, path, place, policy, grants)
    if policy.edits == "ask" and place != "temp" and verdict.decision != "deny" and not verdict.rule:
        reason = "it changes a file of the workspace, and edits ask"
        return _asked(action, Finding(EDIT, "change", reason, path, path), policy, grants)
    return verdict


def _changing(action: FileAccess, path: str, place: Place, policy: Policy, grants: Grants) -> Verdict:
    if policy.sandbox == "container" and place != "own" and not _is_bound(path, policy):
        return Verdict(decision="contain", access=_usual_access(policy), by="sandbox")
    return _writing(action, path, place, policy, grants)


def _writing(action: FileAccess, path: str, place: Place, policy: Policy, grants: Grants) -> Verdict:
    if place == "own":
        return _refused("own-files", "own", f"{path} belongs to this agent; use its own tools or commands")
    if place in {"system", "root", "device"} and not _SERVED.match(path):
        return _refused("system-files", "outside", f"{path} belongs to the system")
    if place == "start":
        reason = start_words(path, path, policy.folders)
        return _asked(action, Finding("start-file", "outside", reason, path, path), policy, grants)
    if place in {"outside", "home", "unknown", "system"}:
        return _asked(
            action,
            Finding("write-outside", "outside", f"{path} is outside the workspace", path, path),
            policy,
            grants,
        )
    if runs_later(path) or runs_later(action.in_git):
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


def _asked(action: FileAccess | ToolUse, finding: Finding, policy: Policy, grants: Grants) -> Verdict:
    """Ask, unless the user has said yes before; neither is in the sandbox, so it cannot stand in."""
    reading = Reading((), (finding,))
    if scope := covering(grants.session, action, reading, grants.now):
        return replace(_verdict("allow", [finding], by="session"), covered=scope)
    if scope := covering(map(parse, policy.allowlist), action, reading, grants.now):
        return replace(_verdict("allow", [finding], by="allowlist"), covered=scope)
    session, always = offered(action, reading, policy.folders)
    free = policy.yolo or policy.mode == "off"
    verdict = _verdict("allow", [finding], by="yolo") if free else _verdict("ask", [finding])
    return replace(verdict, session=session, always=always)
