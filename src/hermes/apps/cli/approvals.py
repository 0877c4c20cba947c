"""`hermes approvals`: what would happen to a command, the rules it is held against, and grants for good."""

import datetime as dt
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.capabilities import CapabilitySettings, configured
from hermes.agent.remote_environment import open_remote
from hermes.agent.tool_environment import open_local, options_from
from hermes.agent.undo import as_named, checkpoints_of
from hermes.apps.cli import tables
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import Here, here, to_change
from hermes.apps.cli.explanation import explained, meaning
from hermes.apps.settings import edit
from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.environments.settings import TerminalSettings
from hermes.lib.files import real_paths
from hermes.lib.hosts import entry
from hermes.lib.nearest import nearest
from hermes.lib.visible import visible
from hermes.safety.always import asked_always
from hermes.safety.commands.paths import is_disposable
from hermes.safety.commands.rule_catalog import CatalogEntry, entries
from hermes.safety.commands.rules import table
from hermes.safety.decide import Policy, Verdict, decide
from hermes.safety.grants import Grants, parse, write
from hermes.safety.renamed import renamed
from hermes.safety.settings import CheckpointSettings
from hermes.safety.undo import saved_first, to_save
from hermes.types.action import Command
from hermes.types.error import ConfigError
from hermes.types.needs import Needs
from hermes.types.question import Answer, Deny, Question, Scope

KEY: Final = "command_allowlist"
CODES: Final = {"allow": 0, "contain": 0, "ask": 3, "deny": 4}


@click.group()
def approvals() -> None:
    """What may happen without a question, and why not."""


def as_judged(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a command would be called."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--sandbox",
            type=click.Choice(["off", "read-only", "workspace"]),
            default=None,
            help="Judge as without, or as with the sandbox.  [default: as it is here]",
        ),
        click.option("--network", is_flag=True, help="As if it declared that it needs all of the network."),
        click.option("--host", "hosts", multiple=True, help="As if it declared that it needs this host."),
        click.option("--path", "paths", multiple=True, help="As if it declared that it must write there."),
        click.option(
            "--unconfined", is_flag=True, help="As if it declared that it must run without the sandbox."
        ),
    ):
        command = option(command)
    return command


class Judged(Struct, frozen=True):
    """A command, the policy it was held against, and the verdict that a session here would come to."""

    action: Command
    policy: Policy
    verdict: Verdict


@approvals.command("test", context_settings={"allow_interspersed_args": False})
@as_judged
@click.argument("command", nargs=-1, required=True)
@click.pass_obj
def test_command(choices: Choices, /, command: tuple[str, ...], *, as_json: bool, **given: Any) -> None:
    """Say what would happen to a command here; nothing runs.

    COMMAND is a command line as one argument, or its words. Exit code 0 when it would run without a question,
    3 when it would ask, 4 when it is never allowed.
    """
    place = here(choices)
    found = _judged(place, choices, command, **given)
    action, verdict, judged = found.action, found.verdict, found.policy
    settings = list(_deciding(action, verdict, judged, place))
    if as_json or choices.as_json:
        click.echo(_as_json(found, settings=settings))
    else:
        click.echo("\n".join([meaning(verdict), *_told(verdict, judged, settings)]))
    sys.exit(CODES[verdict.decision])


def _judged(
    place: Here,
    choices: Choices,
    command: tuple[str, ...],
    *,
    sandbox: Literal["off", "read-only", "workspace"] | None,
    **needs: Any,
) -> Judged:
    policy = _policy(place, "off" if sandbox else place.settings[TerminalSettings].sandbox, yolo=choices.yolo)
    policy = policy if sandbox is None else replace(policy, sandbox=sandbox)
    for host in needs["hosts"]:
        _checked(host)
    needs["paths"] = tuple(os.path.abspath(place.cwd / path) for path in needs["paths"])  # noqa: PTH100
    action = Command(
        command=command[0] if len(command) == 1 else shlex.join(command),
        cwd=str(place.cwd),
        needs=Needs(**needs),
    )
    verdict = asked_always(action, renamed(decide(action, policy), policy, real_paths), policy, Grants())
    told = verdict if policy.ask == "always" else _with_checkpoint(place, action, verdict, policy)
    return Judged(action, policy, told)


def _with_checkpoint(place: Here, action: Command, verdict: Verdict, policy: Policy) -> Verdict:
    """The verdict as it is where what a command could lose can be saved first."""
    settings = place.settings[CheckpointSettings]
    paths = to_save(action, verdict, policy) if settings.max_megabytes else ()
    named = as_named(paths, policy.workspace)
    kept = checkpoints_of(place.home.root, settings, place.user_home)
    if not paths or not kept.fits(named, policy.workspace, disposable=is_disposable):
        return verdict
    told = saved_first(verdict, named, policy.workspace)
    return replace(told, decision="allow", by="checkpoint", session=None, always=None)


def _as_json(found: Judged, **more: Any) -> bytes:
    told = {"v": 1, "command": found.action.command, "cwd": found.action.cwd, "sandbox": found.policy.sandbox}
    return msgspec.json.encode({**told, **_plain(found.verdict), **more})


def _checked(host: str) -> None:
    try:
        entry(host)
    except ValueError as error:
        raise click.UsageError(f"--host: {error}.") from error


@approvals.command("list")
@tables.lists
@click.pass_obj
def list_grants(choices: Choices) -> None:
    """What was allowed for good, as command_allowlist of config.yaml holds it."""
    held = edit.list_items(locate(environment(), choices.profile).config_file, KEY)
    if not held:
        click.echo(
            "Nothing is allowed for good; the answer 'always' to a question adds to this list.", err=True
        )
        return
    rows = [(number, *_entry(one)) for number, one in enumerate(held, 1)]
    tables.show(rows, head=("NUMBER", "COVERS", "WHAT", "LEFT", "UNTIL"))


@approvals.command()
@click.argument("text")
@click.pass_obj
def revoke(choices: Choices, text: str) -> None:
    """Take back what was allowed for good: its number in the list, all of its words, or a part that only one
    entry has.
    """
    file = to_change(choices).config_file
    item = _only(text, edit.list_items(file, KEY))
    edit.remove_from_list(file, KEY, item)
    click.echo(f"{item} is taken out of {KEY} in {file}.")


@approvals.command(context_settings={"allow_interspersed_args": False})
@as_judged
@click.argument("what", nargs=-1, metavar="[RULE|COMMAND]")
@click.pass_obj
def explain(choices: Choices, /, what: tuple[str, ...], *, as_json: bool, **given: Any) -> None:
    """What a rule is about, or why a command gets its verdict; without either all rules.

    Of a command: what would happen to it here, what made it so, and what would change it, a line each.
    """
    known = entries()
    if not what:
        tables.show([(one.id, one.effect, one.reason) for one in known], head=("RULE", "EFFECT", "BECAUSE"))
        return
    found = [one for one in known if what == (one.id,)]
    if found:
        click.echo("\n\n".join("\n".join(_explained(one)) for one in found))
        return
    near = nearest(what[0], (one.id for one in known), most=3)
    if len(what) == 1 and near and re.fullmatch(r"[a-z]+(-[a-z]+)+", what[0]):
        raise ConfigError(
            f"There is no rule {what[0]}. Did you mean {' or '.join(near)}? hermes approvals explain lists"
            " them all."
        )
    judged = _judged(here(choices), choices, what, **given)
    lines = explained(judged.verdict, judged.policy)
    click.echo(_as_json(judged, explained=lines) if as_json or choices.as_json else "\n".join(lines))


def _deciding(action: Command, verdict: Verdict, judged: Policy, place: Here) -> Iterator[str]:
    """The settings without which the verdict would be another one."""
    values = place.loaded.values
    if verdict.by == "allowlist":
        yield f"{KEY} holds it ({values[KEY].origin})"
    if verdict.by == "yolo":
        yield (
            f"approvals.mode is off ({values['approvals.mode'].origin})"
            if judged.mode == "off"
            else "--yolo is given"
        )
    if (
        verdict.by != "checkpoint"
        and judged.network
        and decide(action, replace(judged, network=False)).decision != verdict.decision
    ):
        yield f"terminal.network is true ({values['terminal.network'].origin})"


def _plain(verdict: Verdict) -> dict[str, object]:
    """The verdict's own fields by name, and everything that was found, whether it needs a decision here or
    not.
    """
    names = ("decision", "rule", "classes", "effects", "reasons", "by")
    found = [
        {
            "class": table().effects[one.effect].kind,
            "effect": one.effect,
            "rule": one.rule,
            "reason": one.reason,
            "words": one.words,
        }
        for one in verdict.findings
    ]
    patterns = {"session_pattern": _covered(verdict.session), "always_pattern": _covered(verdict.always)}
    given = msgspec.to_builtins(verdict.access)
    return {**{name: getattr(verdict, name) for name in names}, **given, "findings": found, **patterns}


def _covered(scope: Scope | None) -> str:
    return write(scope) if scope else ""


def _told(verdict: Verdict, judged: Policy, settings: Sequence[str]) -> Iterator[str]:
    yield from (f"  setting  {one}" for one in settings)
    yield from (f"  because  {one}" for one in verdict.reasons)
    yield from (f"  effect   {one}: {table().effects[one].text}" for one in verdict.effects)
    yield f"  class    {', '.join(verdict.classes)}"
    yield from (
        f"  words    {visible(one)}"
        for one in dict.fromkeys(one.words for one in verdict.findings if one.effect in verdict.effects)
    )
    if verdict.rule in {one.id for one in entries()}:
        yield f"  rule     {verdict.rule} (hermes approvals explain {verdict.rule})"
    if verdict.session and verdict.decision == "ask":
        yield f"  session  a yes for the session covers {write(verdict.session)}"
    if verdict.decision == "ask":
        always = verdict.always
        covers = f"a yes for good covers {write(always)}" if always else "not offered for this"
        yield f"  always   {covers}"
    if verdict.decision != "deny":
        yield f"  runs     {_runs(verdict, judged)}"


def _runs(verdict: Verdict, judged: Policy) -> str:
    given = verdict.access
    if given.confined:
        hosts = "" if isinstance(given.network, bool) else f" to {', '.join(given.network)}"
        network = f"with the network{hosts}" if given.network else "without the network"
        only = () if given.writable else ("where the workspace is read-only unless a path in it is declared",)
        places = (f"writing in {path}" for path in given.paths)
        return ", ".join(("in the sandbox", *only, network, *places))
    return "outside the sandbox" if judged.sandbox != "off" else "without a sandbox"


def _entry(text: str) -> tuple[str, str, str, str]:
    """An entry as a row: what kind of yes, what it is about, uses left, and until when."""
    scope = parse(text)
    kinds = {
        "exact": "this command",
        "program": "this program",
        "path": "this file",
        "host": "this host",
        "rules": "this danger",
        "tool": "this tool",
        "edits": "every edit",
    }
    until = (
        f"{dt.datetime.fromtimestamp(scope.until, tz=dt.UTC):%Y-%m-%d %H:%M} UTC"
        if scope.until
        else "for good"
    )
    return (
        kinds[scope.kind],
        visible(write(replace(scope, uses=0, until=0.0))),
        str(scope.uses or "any"),
        until,
    )


def _only(text: str, held: Sequence[str]) -> str:
    """The item meant: the whole of one, its number, or the only one that contains the text."""
    if text in held:
        return text
    if text.isdecimal() and 0 < int(text) <= len(held):
        return held[int(text) - 1]
    found = [one for one in held if text in one]
    if not found:
        raise ConfigError(f"Nothing in {KEY} contains {text!r}; hermes approvals list shows what it holds.")
    if len(found) > 1:
        raise ConfigError(
            f"{len(found)} entries of {KEY} contain {text!r}; give more of the one you mean:\n"
            + "\n".join(found)
        )
    return found[0]


def _explained(entry: CatalogEntry) -> Iterator[str]:
    effect = table().effects[entry.effect]
    yield f"{entry.id}: {entry.reason}"
    yield f"  class    {effect.kind}"
    yield f"  effect   {entry.effect}: it {effect.text}{', which is never allowed' if effect.hard else ''}"
    if effect.free:
        yield f"  free     needs no question where the sandbox is {', '.join(sorted(effect.free))}"
    yield from (f"  found    {one}" for one in entry.match)
    yield from (f"  passes   {one}" for one in entry.passes)


def _policy(place: Here, sandbox: Literal["auto", "on", "off"], *, yolo: bool) -> Policy:
    """What a session here would decide by. Unless `sandbox` is off it is tried, in a folder that is gone
    afterwards.

    A machine elsewhere is not reached for that: what it says of its folders is not known here.
    """
    terminal = msgspec.structs.replace(place.settings[TerminalSettings], sandbox=sandbox)
    with TemporaryDirectory(prefix="hermes-look-") as scratch:
        options = options_from(
            place.settings.replace(terminal),
            place.environ,
            cwd=place.cwd,
            hermes_home=place.home.root,
            scratch=Path(scratch),
            save=_forget,
            ports=SYSTEM_PORTS,
            yolo=yolo,
            bounds=configured(place.settings[CapabilitySettings], cwd=place.cwd, home=place.user_home),
        )
        here = terminal.backend == "local" or sandbox == "off"
        opened = open_local if here else open_remote
        return opened(options, _nobody).gate.policy


async def _nobody(question: Question) -> Answer:
    del question
    return Deny()


def _forget(pattern: str) -> None:
    del pattern
