"""Arguments of `hermes`, and the outermost frame: every failure becomes one sentence and an exit code."""

import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click
from click.exceptions import NoSuchCommand

from hermes import __version__
from hermes.apps.cli import values
from hermes.apps.cli.choices import Choices
from hermes.apps.cli.streams import abandon_stdout, prepare
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.lib.collector import keep_start
from hermes.lib.lazy import import_object
from hermes.types.error import ConfigError, EnvironmentUnavailable, HermesError, UnknownSession

SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    "approvals": (
        "hermes.apps.cli.approvals:approvals",
        "Try what would happen to a command; list and revoke grants for good.",
    ),
    "auth": ("hermes.apps.cli.auth:auth", "Keys and sign-ins of providers: add, list, test, remove."),
    "chat": ("hermes.apps.cli.chat:chat", "Ask one question (-q), or talk."),
    "checkpoints": (
        "hermes.apps.cli.checkpoints:checkpoints",
        "What was saved before commands that delete: list, show, restore.",
    ),
    "completion": ("hermes.apps.cli.manual:completion", "What makes bash, zsh or fish complete commands."),
    "config": ("hermes.apps.cli.config:config", "Show, explain and change settings."),
    "doctor": ("hermes.apps.cli.doctor:doctor", "Check this installation; changes nothing."),
    "import": (
        "hermes.apps.cli.imports:import_",
        "Take over what another agent has: settings, keys, sessions, skills, memory, MCP servers.",
    ),
    "lock": (
        "hermes.apps.cli.lock:lock",
        "What the agent of this folder is made of (agent.lock): write, check, show.",
    ),
    "hooks": ("hermes.apps.cli.hooks:hooks", "Commands at hook points: list, accept, test, revoke, doctor."),
    "man": ("hermes.apps.cli.manual:man", "The manual page."),
    "mcp": (
        "hermes.apps.cli.mcp:mcp",
        "MCP servers, whose tools sessions have: add, list, test, login. Hermes as one: serve.",
    ),
    "memory": ("hermes.apps.cli.memory:memory", "What later sessions are told: show it, forget it."),
    "model": ("hermes.apps.cli.model:model", "Show or choose the model for later sessions."),
    "models": ("hermes.apps.cli.models:models", "Providers and models: list, search, info, pull."),
    "plugins": (
        "hermes.apps.cli.plugins:plugins",
        "Third parties' code: list, install, enable, disable, remove.",
    ),
    "profiles": (
        "hermes.apps.cli.profiles:profiles",
        "Homes with settings, keys and sessions of their own: list, create, use.",
    ),
    "prompt": (
        "hermes.apps.cli.prompt:prompt",
        "What a model is told before a message, and its cost.",
    ),
    "sandbox": ("hermes.apps.cli.sandbox:sandbox", "What confines commands here, and running one confined."),
    "scan": ("hermes.apps.cli.scan:scan", "Show what in files is hidden from people, encoded or forged."),
    "sessions": (
        "hermes.apps.cli.sessions:sessions",
        "List, show, search, rename, export and delete sessions.",
    ),
    "skills": (
        "hermes.apps.cli.skills:skills",
        "Procedures as files: list, show; changes that sessions want: review, revert.",
    ),
    "store": ("hermes.apps.cli.store:store", "Check, back up, restore and repair what sessions are kept in."),
    "tools": ("hermes.apps.cli.tools:tools", "What the model can call, and what could not be loaded."),
    "usage": ("hermes.apps.cli.usage:usage", "Tokens and money, by day, model, session or task."),
    "worktrees": ("hermes.apps.cli.worktrees:worktrees", "Worktrees of sessions (-w): list, remove."),
}
"""Name, where the command is, and its line in the help: the modules are imported when they are used."""


class LateGroup(click.Group):
    """A group whose subcommands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        del ctx
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, ours or one of a plugin."""
        found = SUBCOMMANDS.get(cmd_name)
        if found is None and cmd_name.startswith("-"):
            return None
        command: click.Command | None
        command = import_object(found[0]) if found else _of_plugin(ctx, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; UsageError says which was meant, or how a question is asked."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            name = error.command_name
            near = NoSuchCommand(name, possibilities=SUBCOMMANDS, ctx=ctx)
            words = f"No such command {name!r}. hermes --help lists them; hermes -z asks a question."
            raise (near if near.possibilities else NoSuchCommand(name, words, ctx=ctx)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, without importing anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in sorted(SUBCOMMANDS.items())])


def _of_plugin(ctx: click.Context, name: str) -> click.Command | None:
    given = {key: ctx.params[key] for key in ("profile", "safe_mode") if key in ctx.params}
    command: click.Command | None
    command = import_object("hermes.apps.cli.plugin_programs:program_of")(name, Choices(**given))
    return command


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that starting a session has in common."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """A limit that limits: nothing is more than what is no number, or has no end."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("it is no number that can be spent.", context, option)
    return value


_OPTIONS = (
    click.option(
        "-m",
        "--model",
        default="",
        shell_complete=values.of("models"),
        metavar="PROVIDER/NAME",
        help="Model to use, such as openrouter/z-ai/glm-5 or local.",
    ),
    click.option("--base-url", default="", metavar="URL", help="Address of an OpenAI-compatible server."),
    click.option(
        "-t",
        "--toolsets",
        default=None,
        metavar="NAMES",
        help="Toolsets to offer, with commas; an empty text offers none.",
    ),
    click.option(
        "-r",
        "--resume",
        default=None,
        is_flag=False,
        flag_value="?",
        shell_complete=values.of("sessions"),
        metavar="SESSION",
        help="Go on with a session: id, start of an id, title, or latest; without a name, choose.",
    ),
    click.option(
        "-c",
        "--continue",
        "go_on",
        is_flag=True,
        help="Go on with the last session here; without a question, with its turn that was cut off.",
    ),
    click.option(
        "-p",
        "--profile",
        default="",
        shell_complete=values.of("profiles"),
        metavar="NAME",
        help="Profile to use instead of the default one.",
    ),
    click.option(
        "--yolo",
        is_flag=True,
        help="Ask before dangerous commands only once text from outside was read. The hard limits stay.",
    ),
    click.option(
        "--max-turns",
        type=click.IntRange(min=1),
        default=None,
        metavar="N",
        help="Model calls that one turn may make before it must sum up, which takes one or two more.",
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        callback=_finite,
        default=None,
        metavar="USD",
        help="US dollars that may be spent; a model without a known price counts as a dear one.",
    ),
    click.option(
        "--image",
        "images",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="With a question: send a picture (or a PDF, a text) with it; may be given several times.",
    ),
    click.option(
        "--output-schema",
        default="",
        metavar="FILE",
        help="With a question: the answer is JSON that fits the JSON Schema in this file.",
    ),
    click.option(
        "-w",
        "--worktree",
        default="",
        is_flag=False,
        flag_value="?",
        metavar="NAME",
        help="Work in a worktree of the repository, on a new branch hermes/NAME; without one it is made up.",
    ),
    click.option(
        "--locked",
        is_flag=True,
        help="Start only where model, prompt, tools, skills and policy are as agent.lock has them.",
    ),
    click.option(
        "--goal",
        is_flag=True,
        help="With a question: it is a goal, and turns follow until a judge finds it reached.",
    ),
    click.option(
        "--json", "as_json", is_flag=True, help="With a question: print events, one JSON object a line."
    ),
    click.option("-v", "--verbose", is_flag=True, help="With a question: tell each step on stderr."),
    click.option("--safe-mode", is_flag=True, help="Load no plugin, and run no command of hooks."),
    click.option("--accept-hooks", is_flag=True, help="Run commands of hooks that nobody has said yes to."),
    click.option("--debug", is_flag=True, help="Show tracebacks."),
)


@click.group(
    cls=LateGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="hermes %(version)s")
@click.option(
    "-z",
    "--oneshot",
    "question",
    default=None,
    metavar="TEXT",
    help="Answer one question and exit; stdin is added to it.",
)
@click.option(
    "--json-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _show_schema(context) if wanted else None,
    help="Print the JSON Schema of a line of --json and exit.",
)
@options
@click.pass_context
def cli(context: click.Context, /, question: str | None, **given: Any) -> None:
    """Hermes: an agent that works on your computer through tools, safe by default.

    Without a command it opens the interactive screen.
    """
    choices = context.obj = chosen(**given)
    if context.invoked_subcommand is not None:
        return
    sys.exit(begin(question, choices))


def _show_schema(context: click.Context) -> None:
    schema = import_object("hermes.apps.cli.json_kinds:schema")()
    click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
    context.exit()


def chosen(
    *,
    toolsets: str | None,
    resume: str | None,
    go_on: bool,
    max_turns: int | None,
    max_cost: float | None,
    **rest: Any,
) -> Choices:
    """The options as one value."""
    named = None if toolsets is None else tuple(name.strip() for name in toolsets.split(",") if name.strip())
    session = resume if resume is not None else ("latest" if go_on else "")
    return Choices(toolsets=named, resume=session, max_turns=max_turns or 0, max_cost=max_cost or 0.0, **rest)


def begin(question: str | None, choices: Choices) -> int:
    """Answer a question, or open the screen where there is none; in a worktree, if one is wanted."""
    run = partial(_begin, question)
    if choices.worktree:
        return int(import_object("hermes.apps.cli.worktrees:work_in")(choices, run))
    if (locate(environment(), choices.profile).root / "worktrees").is_dir():
        return int(import_object("hermes.apps.cli.worktrees:work_on")(choices, run))
    return run(choices)


def _begin(question: str | None, choices: Choices) -> int:
    if choices.locked:
        import_object("hermes.apps.cli.lock:refuse_drift")(choices)
    if question is None:
        return interactive(choices)
    return int(import_object("hermes.apps.cli.oneshot:answer")(question, choices))


def interactive(choices: Choices) -> int:
    """The screen; where there is no terminal, what is on stdin is a question."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return int(import_object("hermes.apps.cli.oneshot:answer")("", choices))
    if choices.goal:
        raise click.UsageError("--goal goes with a question (-z); on the screen /goal TEXT sets one.")
    import_object("hermes.apps.cli.hook_questions:ask_new")(choices)
    return int(import_object("hermes.apps.cli.interactive:run")(choices))


def main() -> None:
    """Run the command line and exit with its code: 1 for a failure, 2 for a fault in what was asked, 130 when
    interrupted.
    """
    debug = "--debug" in sys.argv
    keep_start()
    prepare()
    try:
        cli.main(prog_name="hermes", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as fault:
        fault.show()
        sys.exit(fault.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except ExceptionGroup as faults:
        _end(_leaf(faults), debug=debug)
    except Exception as fault:  # noqa: BLE001  # the outermost frame
        _end(fault, debug=debug)


def _end(fault: Exception, *, debug: bool) -> None:
    if isinstance(fault, BrokenPipeError):  # who read our output has enough
        abandon_stdout()
        sys.exit(1)
    if isinstance(fault, HermesError):
        _tell(str(fault), debug=debug)
        sys.exit(2 if isinstance(fault, ConfigError | EnvironmentUnavailable | UnknownSession) else 1)
    if isinstance(fault, OSError):
        _tell(_said_by_the_system(fault), debug=debug)
        abandon_stdout()
        sys.exit(1)
    _tell(
        f"Something went wrong inside Hermes: {type(fault).__name__}: {fault}. Run again with --debug to see"
        " where.",
        debug=debug,
    )
    sys.exit(1)


def _said_by_the_system(fault: OSError) -> str:
    why = fault.strerror or str(fault)
    if fault.filename:
        return f"{fault.filename}: {why}. Check the disk, the permissions and HERMES_HOME."
    if isinstance(fault, FileNotFoundError):
        return "The current directory is gone; change to another one."
    return f"The output could not be written: {why}."


def _leaf(fault: Exception) -> Exception:
    """The first fault of a group: what one task failed with is what a person should read."""
    while isinstance(fault, ExceptionGroup):
        fault = fault.exceptions[0]
    return fault


def _tell(sentence: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    shown = import_object("hermes.lib.visible:visible")(sentence)
    click.echo(f"hermes: {shown}", err=True)
    if "--json" in sys.argv and {"-z", "--oneshot", "chat"} & set(
        sys.argv
    ):  # who reads lines waits for the last one
        try:
            import_object("hermes.apps.cli.jsonlines:write_early_end")(sentence)
        except OSError:  # it may be the output that cannot be written
            abandon_stdout()
