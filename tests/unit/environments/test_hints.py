"""What a command that failed in the sandbox is told to declare."""

from hermes.environments.base import Finished
from hermes.environments.env_hints import denial
from hermes.types.action import Command, Permit

CONFINED = Permit.of(Command(command="git add x", cwd="/mono/package"), confined=True)


def test_git_in_a_folder_below_the_top_of_a_repository_names_its_folder() -> None:
    text = "fatal: Unable to create '/mono/.git/index.lock': Read-only file system"
    assert denial("git add x", Finished(text=text, code=128, seconds=0.1), CONFINED) == (
        "The sandbox may have kept this from writing in a repository that begins above this folder: needs"
        ' {"paths": ["/mono/.git"]}. Call again with it if it must be.'
    )
