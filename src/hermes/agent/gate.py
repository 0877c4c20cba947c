"""From an action to a permit: `safety.decide` decides, a person is asked where it says so, a grant is kept as
wide as it was given.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent.advice import advised, is_low_risk
from hermes.agent.advice import question as side_question
from hermes.agent.call_order import let_reads_go
from hermes.agent.provenance import allow_edit, asking, begins, is_allowed_edit, is_of_model, tell, tell_first
from hermes.agent.refusals import denied, instead, listed
from hermes.agent.turn_files import TurnFiles
from hermes.agent.undo import SaveFirst
from hermes.models.side_calls import SideQuestion
from hermes.safety.always import asked_always
from hermes.safety.bounds import closed_needs
from hermes.safety.decide import Policy, Verdict, decide
from hermes.safety.grants import EDIT, EVERY_EDIT, Grants, spend, write
from hermes.safety.origins import Locate, Provenance, as_named, came_from, provenance
from hermes.safety.plan import RULE as PLAN
from hermes.safety.plan import planned
from hermes.safety.renamed import renamed
from hermes.safety.sources import Source
from hermes.safety.taint import Said, held, nothing_known
from hermes.safety.undo import may_change, may_redirect, only_reads, saved_first, to_save
from hermes.safety.unreviewed import unreviewed, writes
from hermes.store.checkpoints import Checkpoint
from hermes.types.action import WORDS, Action, Command, FileAccess, Permit, ToolUse, digest_of
from hermes.types.error import BeyondReading, Refused
from hermes.types.event import NEVER, PLANNED
from hermes.types.ports import Ports
from hermes.types.question import Answer, Approve, Deny, Grant, Question, Scope, Touched

_UNREADABLE = "This could not be judged ({}), so the answer is no. Write it as a plain command."
_READ = Verdict(decision="allow")
_NOT_SHOWN = "the change is not shown: it is no text, or too long"
_NOT_SAVED = "it could not be saved first, being larger than checkpoints.max_megabytes"


def _nothing_saved(_old: str, _new: str) -> None:
    return None


def _nothing_new() -> None:
    return None


async def _nothing_accepted() -> None:
    return None


def _nobody_waits(_digest: str, _answer: Answer) -> bool:
    return False


class _Awaited(Struct, eq=False):
    """An action about which a person is asked; `covered` is the verdict once another answer covers it."""

    action: Action
    question: Approve
    covered: Verdict | None = None


class ApprovalGate(Struct):
    """The one door to effects of a session. `save` writes an 'always' to the user's allowlist, `spent`
    replaces one that was used.

    `holder` names the session and who calls in it; an answer counts for nobody else. `advise` asks a model
    where the settings let it, `save_first` saves what a command could lose, `turn_files` the workspace before
    a turn first changes it. `record` tells of an answer that no person gave, `allowed` gives the user's
    allowlist when it was changed, `read` what the session has read from outside, `said` in which words,
    `locate` where a path of a command really lies, `planning` whether nothing may change now, `asks_edits`
    whether edits ask (None: as the policy says), which `accept_edits` ends, `touched` what an action would
    delete or write over, `settle` answers the open question about an action. `changed` are the sources after
    which something was changed here. Unless somebody answers (`attended`), what the session itself `wrote`
    does not run unconfined.
    """

    policy: Policy
    ask: Callable[[Question], Awaitable[Answer]]
    save: Callable[[str], None]
    ports: Ports
    grants: Grants = field(default_factory=Grants)
    refused: list[str] = field(default_factory=list)
    holder: str = ""
    attended: bool = True
    wrote: bool = False
    spent: Callable[[str, str], None] = _nothing_saved
    allowed: Callable[[], tuple[str, ...] | None] = _nothing_new
    save_first: SaveFirst | None = None
    turn_files: TurnFiles | None = None
    advise: Callable[[SideQuestion], Awaitable[str | None]] | None = None
    record: Callable[[Question, Answer, str], object] | None = None
    judge: Callable[[Action, Policy, Grants], Verdict] = decide
    read: Callable[[], tuple[Source, ...]] = field(default=lambda: ())
    said: Said = nothing_known
    locate: Locate = as_named
    planning: Callable[[], bool] = field(default=lambda: False)
    asks_edits: Callable[[], bool] | None = None
    accept_edits: Callable[[], Awaitable[None]] = _nothing_accepted
    changed: set[str] = field(default_factory=set)
    touched: Callable[[Action, Verdict, Policy], Awaitable[tuple[Touched, ...]]] | None = None
    settle: Callable[[str, Answer], bool] = _nobody_waits
    _awaited: list[_Awaited] = field(default_factory=list)

    async def authorize(self, action: Action) -> Permit:
        """The permit for this one action; Refused, with words for the model, when the answer is no."""
        read = tuple(one.name for one in self.read())
        verdict = self._judged(action)
        permit = await self._permit(action, verdict)
        if may_redirect(action, verdict):
            self.changed.update(read)
        await self._save_turn(action, verdict)
        if isinstance(action, Command) and only_reads(verdict):
            let_reads_go(action.command)
        found = self._provenance(action, verdict)
        source = found.source
        known = await tell_first(source)
        self._refuse_planned(action, verdict)  # last: nothing is waited for from here on
        if may_change(action, verdict):
            begins()
        self.wrote = self.wrote or writes(action, verdict)
        if verdict.covered is not None:
            self.grants = self.grants.learned(verdict.covered, [source])
        if permit.by in WORDS:
            self.grants = self.grants.noted(action)
        return replace(
            permit,
            closed=self._closed_needs(),
            outside=source,
            read=(*read, known),
            covered=found.covered if permit.confined else (),
        )

    def is_outdated(self, permit: Permit) -> bool:
        """Whether text from outside was read since a permit was given that protects nothing from it, by no
        word of a person's.
        """
        if permit.protected or permit.by in WORDS:
            return False
        return any(one.name not in permit.read for one in self.read())

    def _closed_needs(self) -> tuple[str, ...]:
        """What no command of this session can have beyond the sandbox, for nobody could say yes to it."""
        policy = self.policy
        if self.attended or policy.yolo or policy.mode != "manual" or policy.allowlist:
            return closed_needs(policy.bounds, policy.workspace)
        return ("network", "paths", "instructions", "unconfined")

    def found(self, paths: Iterable[str]) -> None:
        """Note whose files a search gave lines of."""
        for path in paths:
            source = came_from(FileAccess(operation="read", path=path), _READ, self.policy)
            if source:
                tell(source)
                return

    def _provenance(self, action: Action, verdict: Verdict) -> Provenance:
        return provenance(action, verdict, self.policy, self.locate)

    async def _permit(self, action: Action, verdict: Verdict) -> Permit:
        match verdict.decision:
            case "allow" | "contain":
                self._spend(verdict)
                return verdict.permit(action, serial=self.ports.token())
            case "deny" if verdict.rule == PLAN:
                raise self._refusal(action, listed(verdict), PLANNED)
            case "deny":
                never = f"This is never allowed: {listed(verdict)}.{instead(verdict)}"
                raise self._refusal(action, never, NEVER)
            case "ask" if (
                isinstance(action, FileAccess) and verdict.rule == EDIT and is_allowed_edit(action.diff)
            ):
                return verdict.permit(action, "person", self.ports.token())
            case "ask" if self.policy.ask == "always":
                permit = await self._asked(action, verdict)
                await self._saved(action, verdict)
                return permit
            case "ask" if await self._is_saved(action, verdict):
                return verdict.permit(action, "checkpoint", self.ports.token())
            case "ask":
                return await self._asked(action, verdict)

    def child(self) -> "ApprovalGate":
        """The door for what a session starts beside itself: the same rules, and nobody to ask, so that a
        question is a no at once.
        """
        return ApprovalGate(
            policy=self.policy,
            ask=_nobody,
            save=lambda _: None,
            holder=f"{self.holder} child",
            attended=False,
            wrote=self.wrote,
            judge=self.judge,
            ports=self.ports,
            read=self.read,
            locate=self.locate,
            planning=self.planning,
            asks_edits=self.asks_edits,
            save_first=self.save_first,
            turn_files=self.turn_files,
            grants=Grants(),
        )

    def _judged(self, action: Action) -> Verdict:
        if (entries := self.allowed()) is not None:
            self.policy = replace(self.policy, allowlist=entries)
        try:
            grants = replace(self.grants, now=self.ports.now())
            verdict = self.judge(action, self._policy_now(), grants)
            if not self.attended:
                verdict = unreviewed(action, verdict, self.policy, wrote=self.wrote)
            verdict = renamed(verdict, self.policy, self.locate)
            of_model = isinstance(action, Command) and is_of_model(action.command)
            said = self._said_unchanged if of_model else nothing_known
            verdict = held(action, verdict, self.policy, self.read(), self.grants, said)
            verdict = asked_always(action, verdict, self.policy, grants)
            return planned(action, verdict) if self.planning() else verdict
        except BeyondReading as fault:
            raise self._refusal(action, str(fault)) from fault
        except (
            Exception
        ) as fault:  # what a fault of ours has kept from being judged is not allowed, whatever the fault is
            raise self._refusal(action, _UNREADABLE.format(type(fault).__name__)) from fault

    def _said_unchanged(self, known: Collection[str]) -> tuple[str, ...] | None:
        """What was said since something else than `known` was read; None where anything was changed here
        since, for then the same command may do something else.
        """
        new = {one.name for one in self.read()}.difference(known)
        return self.said(known) if new.isdisjoint(self.changed) else None

    def _policy_now(self) -> Policy:
        """The policy, with what the session says of edits."""
        if self.asks_edits is None:
            return self.policy
        return replace(self.policy, edits="ask" if self.asks_edits() else "free")

    async def _is_saved(self, action: Action, verdict: Verdict) -> bool:
        """Whether all that a command could lose was saved, or is not there, so that nobody need be asked."""
        saved = await self._saved(action, verdict)
        if saved is not None and saved.paths and self.record is not None:
            told = saved_first(verdict, saved.paths, self.policy.workspace)
            self.record(self._question(action, told), Grant(), f"checkpoint {saved.id}")
        return saved is not None

    async def _saved(self, action: Action, verdict: Verdict) -> Checkpoint | None:
        """What was saved before a command that could lose it."""
        paths = to_save(action, verdict, self.policy)
        if not paths or self.save_first is None or not isinstance(action, Command):
            return None
        await self._save_turn(action, verdict)
        return await self.save_first(action, paths, self.policy.workspace)

    async def _save_turn(self, action: Action, verdict: Verdict) -> None:
        if self.turn_files is not None and may_change(action, verdict):
            await self.turn_files.save_before(action)

    async def _asked(self, action: Action, verdict: Verdict) -> Permit:
        unsaved = self.save_first is not None and self.policy.ask == "needed"
        if unsaved and to_save(action, verdict, self.policy):
            verdict = replace(verdict, reasons=(*verdict.reasons, _NOT_SAVED))
        if isinstance(action, FileAccess) and not action.diff and action.operation != "read":
            verdict = replace(verdict, reasons=(*verdict.reasons, _NOT_SHOWN))
        question = self._question(action, verdict)
        if await self._is_approved_by_model(action, verdict, question):
            return verdict.permit(action, "model", self.ports.token())
        if self.touched is not None and self.attended and not question.diff:  # which shows it itself
            question = replace(question, touches=await self.touched(action, verdict, self.policy))
        answer, covered = await self._answered(_Awaited(action, question))
        if not isinstance(answer, Grant):
            raise self._refusal(action, denied(answer, verdict, attended=self.attended))
        self._refuse_planned(action, verdict)
        if covered is not None:
            return covered.permit(action, serial=self.ports.token())
        await self._keep(answer, verdict, self._provenance(action, verdict).source)
        if isinstance(action, FileAccess) and verdict.rule == EDIT:
            allow_edit(action.diff)
        return verdict.permit(action, "person", self.ports.token())

    async def _answered(self, awaited: _Awaited) -> tuple[Answer, Verdict | None]:
        """The answer to a question, and the verdict where it was one to another question."""
        self._awaited.append(awaited)
        try:
            with asking():
                return await self.ask(awaited.question), awaited.covered
        finally:
            self._awaited.remove(awaited)

    def settle_covered(self) -> None:
        """Answer the open questions about what needs no answer any more, now that a wider one was given."""
        for one in [*self._awaited]:
            verdict = self._judged(one.action)
            if verdict.decision in {"allow", "contain"} and self.settle(
                one.question.digest, Grant(scope="session")
            ):
                one.covered = verdict
                self._spend(verdict)

    async def _is_approved_by_model(self, action: Action, verdict: Verdict, question: Approve) -> bool:
        if (
            self.policy.mode != "smart"
            or self.advise is None
            or not isinstance(action, Command)
            or not is_low_risk(verdict)
        ):
            return False
        reason = advised(await self.advise(side_question(action, verdict)))
        if reason and self.record is not None:
            self.record(question, Grant(), f"model: {reason}")
        return bool(reason)

    async def _keep(self, answer: Grant, verdict: Verdict, source: str) -> None:
        """Remember a wider yes, as far as one was offered, and what was read when it was given; `source` is
        what it brings in itself.
        """
        offered = {"session": verdict.session, "always": verdict.always}.get(answer.scope)
        scope = replace(offered, uses=answer.uses, until=answer.until) if offered else None
        if scope is not None and scope.uses:
            scope = spend(scope)  # this is its first use
        if offered is not None:
            self.grants = self.grants.learned(offered, [*(one.name for one in self.read()), source])
        if scope is None:
            return
        if scope == EVERY_EDIT:
            await self.accept_edits()
        elif answer.scope == "session":
            self.grants = self.grants.granted(scope)
        else:
            self.policy = replace(self.policy, allowlist=(*self.policy.allowlist, write(scope)))
            self.save(write(scope))
        self.settle_covered()

    def _refuse_planned(self, action: Action, verdict: Verdict) -> None:
        """Refused where plan mode has begun since the verdict, while something was waited for."""
        if self.planning() and (late := planned(action, verdict)).rule == PLAN:
            raise self._refusal(action, listed(late), PLANNED)

    def _spend(self, verdict: Verdict) -> None:
        """Count a use of the grant that covers an action."""
        scope = verdict.covered
        if scope is None or not scope.uses:
            return
        left = spend(scope)
        if verdict.by == "session" or scope in self.grants.session:
            kept = (left if one == scope else one for one in self.grants.session)
            self.grants = replace(self.grants, session=tuple(filter(None, kept)))
        else:
            entries = (_written(left) if one == write(scope) else one for one in self.policy.allowlist)
            self.policy = replace(self.policy, allowlist=tuple(filter(None, entries)))
            self.spent(write(scope), _written(left))

    def take_refused(self) -> list[str]:
        """What was refused since the last time, as it was shown."""
        taken, self.refused = self.refused, []
        return taken

    def _refusal(self, action: Action, message: str, why: str = "") -> Refused:
        self.refused.append(f"{_shown(action)}{why}")
        return Refused(message)

    def _question(self, action: Action, verdict: Verdict) -> Approve:
        return Approve(
            command=_shown(action),
            cwd=action.cwd if isinstance(action, Command) else "",
            reasons=verdict.reasons,
            rule=verdict.rule,
            session_pattern=_written(verdict.session),
            always_pattern=_written(verdict.always),
            diff=action.diff if isinstance(action, FileAccess) else "",
            digest=digest_of(action, holder=self.holder),
        )


async def _nobody(question: Question) -> Answer:
    del question
    return Deny(reason="Nobody can be asked here, so the answer is no.")


def _written(scope: Scope | None) -> str:
    return write(scope) if scope else ""


def _shown(action: Action) -> str:
    match action:
        case Command():
            return action.command
        case FileAccess():
            return f"{action.operation} {action.path}"
        case ToolUse():
            return f"{action.tool} {action.arguments}".rstrip()
