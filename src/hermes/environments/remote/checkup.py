"""Whether the machine elsewhere that the settings name can be used: asked within seconds, and nothing is
made. For `hermes doctor`.
"""

import importlib.util
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from hermes.environments.remote.choose import Choice, Origin, choose
from hermes.environments.remote.cli_program import Answer, CliProgram, find_program
from hermes.environments.remote.modal import missing_keys
from hermes.environments.remote.singularity import SingularityLink
from hermes.environments.remote.ssh import SshLink
from hermes.environments.settings import TerminalSettings
from hermes.types.error import ExecError

_SECONDS: Final = 10.0
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "daytona": ("DAYTONA_API_KEY",),
    "vercel": ("VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID"),
}


class Check(Struct, frozen=True):
    """What was found, in one sentence that says what to do when it is not well."""

    state: Literal["ok", "warning", "fault"]
    text: str


async def checkup(terminal: TerminalSettings, origin: Origin) -> Check:
    """The state of the configured machine, after at most about ten seconds."""
    name = terminal.backend
    try:
        if name in {"modal", "daytona", "vercel_sandbox"}:
            return _cloud(name, origin.environ)
        choice = choose(terminal, origin)
        if isinstance(choice.link, SshLink):
            return await _ssh(choice.link)
        if name in {"docker", "podman"}:
            return await _docker(terminal, origin)
        return await _singularity(choice, origin)
    except ExecError as error:
        return Check("fault", f"{name}: {error}")


async def _docker(terminal: TerminalSettings, origin: Origin) -> Check:
    name = terminal.backend
    names = ("podman",) if name == "podman" else ("docker", "podman")
    program = find_program(names, origin.for_clients, "install Docker or Podman")
    answer = await _asked(program, "ps", "--quiet")
    if answer is None or answer.code != 0:
        said = "it gave no answer in time" if answer is None else _last(answer)
        if program.path.endswith("podman"):
            return Check(
                "fault",
                f"{name}: {program.path} does not work ({said}); see that podman ps works for your user",
            )
        return Check(
            "fault",
            f"{name}: {program.path} cannot reach its daemon ({said}); start it, or see that you may use its"
            " socket",
        )
    there = await _asked(program, "image", "inspect", "--format", "{{.Id}}", terminal.docker_image)
    if there is None or there.code != 0:
        return Check(
            "warning",
            f"{name}: {program.path} works, the image {terminal.docker_image} is fetched on first use",
        )
    return Check("ok", f"{name}: {program.path} works, the image {terminal.docker_image} is there")


async def _ssh(link: SshLink) -> Check:
    refusal = await link.refusal(_SECONDS)
    return Check("fault", f"ssh: {refusal}") if refusal else Check("ok", f"ssh: {link.where} answers")


async def _singularity(choice: Choice, origin: Origin) -> Check:
    program = find_program(("apptainer", "singularity"), origin.for_clients, "install Apptainer")
    answer = await _asked(program, "--version")
    if answer is None or answer.code != 0:
        said = "it gave no answer in time" if answer is None else _last(answer)
        return Check(
            "fault", f"{choice.link.name}: {program.path} does not work ({said}); install Apptainer anew"
        )
    link = choice.link
    if isinstance(link, SingularityLink) and (said := await link.lacking(_SECONDS)):
        return Check(
            "warning",
            f"{link.name}: {program.path}, {answer.text}; limits (container_…) cannot be set here: {said}",
        )
    return Check("ok", f"{link.name}: {program.path}, {answer.text}")


def _cloud(backend: str, environ: Mapping[str, str]) -> Check:
    """The library and the keys; the cloud itself is not asked."""
    name = backend.removesuffix("_sandbox")
    if importlib.util.find_spec(name) is None:
        return Check(
            "fault", f"{backend}: its library is not installed; run: pip install 'hermes-agent[{name}]'"
        )
    missing = (
        missing_keys(environ) if name == "modal" else [key for key in _KEYS[name] if not environ.get(key)]
    )
    if missing:
        return Check("fault", f"{backend}: {' and '.join(missing)} not set in the environment")
    return Check(
        "ok", f"{backend}: the library and the keys are there; whether the keys are good shows at first use"
    )


async def _asked(program: CliProgram, *arguments: str) -> Answer | None:
    try:
        return await program.ask(*arguments, timeout=_SECONDS / 2)
    except ExecError:
        return None


def _last(answer: Answer) -> str:
    """The last line of what a program said: its errors end with it."""
    return (answer.said or answer.text or f"exit code {answer.code}").splitlines()[-1]
