"""`hermes skills publish`: a skill of one's own on a branch for a repository, pushed only after a yes."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

import anyio
import click

from hermes.apps.cli.choices import Choices
from hermes.apps.cli.cli_context import agreed, here, to_change
from hermes.apps.cli.skill_places import tell_verdict
from hermes.config.environ import environment
from hermes.lib.bounded_process import Bounds, run_bounded
from hermes.lib.files import make_private
from hermes.lib.programs import find_program
from hermes.skills.guard import keeps_out
from hermes.skills.hubs.publish import Publication, examined, prepared
from hermes.skills.hubs.repository import Cloning
from hermes.skills.settings import SkillSettings
from hermes.skills.skill_file import Skill
from hermes.skills.sources import SkillSource, source_of
from hermes.types.error import SkillError


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "repository", required=True, help="owner/repository of GitHub, or an https address.")
@click.option("-y", "--yes", is_flag=True, help="Push without asking.")
@click.pass_obj
def publish(choices: Choices, folder: Path, *, repository: str, yes: bool) -> None:
    """Put the skill in FOLDER on a branch for a repository. It is looked through first, the branch is made
    in a clone, and your git pushes it after your yes.
    """
    to_change(choices)
    skill, verdict = examined(folder.resolve())
    tell_verdict(skill.name, verdict)
    if keeps_out(verdict, "trusted"):
        raise SkillError(f"{skill.name} is not published: nobody could install it without --force.")
    target = source_of(repository, here(choices).settings[SkillSettings].hubs.github)
    if target.kind != "repository":
        raise SkillError(f"{repository[:200]!r} is no repository: name owner/repository, or an address.")
    made = _prepared(choices, skill, target)
    if not made.changes:
        click.echo(f"{target.name} has {skill.name} as it is here.")
        return
    click.echo(f"Branch {made.branch} for {target.name} has it in {made.path}.")
    click.echo(f"git -C {made.clone} push origin {made.branch}")
    if yes or agreed("Push it with your git?", "pushes"):
        _push(made)
        click.echo(f"Pushed; ask {target.name} to take the branch {made.branch}.")


def _prepared(choices: Choices, skill: Skill, target: SkillSource) -> Publication:
    now = here(choices)
    place = now.home.published_skills / skill.name
    shutil.rmtree(place, ignore_errors=True)
    make_private(place)
    author = (_setting("user.name"), _setting("user.email"))
    if not all(author):
        raise SkillError("git does not know who you are: git config --global user.name, and user.email.")
    return anyio.run(partial(prepared, skill, target, place, Cloning(environ=now.environ), author))


def _setting(key: str) -> str:
    """What the user's git has for a key."""
    done = run_bounded([_git(), "config", "--global", "--get", key], environment(), Bounds(), given=b"")
    return done.output.decode("utf-8", "replace").strip()


def _push(made: Publication) -> None:
    """Push by the user's own git, which knows their credentials and may ask for them."""
    words = [_git(), "-C", str(made.clone), "push", "--quiet", "origin", made.branch]
    if subprocess.run(words, env=environment(), check=False).returncode:
        raise SkillError(f"git did not push {made.branch}; the branch stays in {made.clone}.")


def _git() -> str:
    found = find_program("git", environment(), (Path.cwd(),))
    if found is None:
        raise SkillError("git is not installed.")
    return found
