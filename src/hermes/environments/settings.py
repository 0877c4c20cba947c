"""What users set of the machines that commands run on."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import doc, section
from hermes.lib.hosts import check_hosts


@section("terminal")
class TerminalSettings(Struct, frozen=True, kw_only=True):
    """Where and how commands run."""

    backend: Annotated[
        Literal[
            "local",
            "docker",
            "podman",
            "ssh",
            "singularity",
            "apptainer",
            "modal",
            "daytona",
            "vercel_sandbox",
        ],
        doc("Where commands run."),
    ] = "local"
    cwd: Annotated[
        str,
        doc(
            "Directory that commands start in; . is where hermes was started, or where a machine elsewhere"
            " puts its shells."
        ),
    ] = "."
    timeout: Annotated[int, Meta(ge=1), doc("Seconds a foreground command may take by default.")] = 180
    sandbox: Annotated[
        Literal["auto", "on", "off"],
        doc("Kernel sandbox around local commands: auto uses it where it works, on requires it."),
    ] = "auto"
    sandbox_mode: Annotated[
        Literal["read-only", "workspace", "full"],
        doc(
            "What sandboxed commands may write: nothing, the workspace, or all that you may but credentials"
            " and start files."
        ),
    ] = "workspace"
    sandbox_debuggers: Annotated[
        bool, doc("Whether debuggers and tracers work on the sandbox's own processes.")
    ] = False
    sandbox_processes: Annotated[
        int,
        Meta(ge=0),
        doc("Processes and threads that a sandboxed command may have at a time; 0 means no limit."),
    ] = 4096
    sandbox_file_gigabytes: Annotated[
        int,
        Meta(ge=0),
        doc("Size that one file of a sandboxed command may have, in gigabytes; 0 means no limit."),
    ] = 100
    network: Annotated[
        bool | list[str],
        doc(
            "Network for sandboxed commands: false none, true all, or a list of hosts (example.com,"
            " *.example.com, example.com:8443)."
        ),
    ] = False
    env_passthrough: Annotated[
        list[str],
        doc(
            "Variables of yours that local commands get besides the usual ones: names, which pass whatever"
            " they hold, or PREFIX_*."
        ),
    ] = []
    lifetime_seconds: Annotated[
        int,
        Meta(ge=0),
        doc("Seconds without a command after which a machine elsewhere is stopped; 0 keeps it."),
    ] = 300
    ssh_host: Annotated[str, doc("Host for ssh, as your ssh config knows it.")] = ""
    ssh_user: Annotated[str, doc("User on that host; empty for what your ssh config says.")] = ""
    ssh_port: Annotated[
        int, Meta(ge=0, le=65_535), doc("Port of that host; 0 for what your ssh config says.")
    ] = 0
    ssh_key: Annotated[str, doc("Key file for that host; empty for your agent and ssh config.")] = ""
    docker_image: Annotated[str, doc("Image for docker and podman; it needs bash.")] = (
        "nikolaik/python-nodejs:python3.11-nodejs20"
    )
    docker_volumes: Annotated[
        list[str], doc("Host folders in the container, each host:container or host:container:ro.")
    ] = []
    docker_mount_cwd_to_workspace: Annotated[
        bool, doc("Mount the directory you start in on /workspace, writable.")
    ] = False
    docker_run_as_host_user: Annotated[
        bool, doc("Run as your own user id, so that files in volumes stay yours.")
    ] = False
    docker_network: Annotated[bool, doc("Whether the container has a network.")] = True
    docker_read_only: Annotated[bool, doc("Make the container's own files read-only, except /tmp.")] = False
    docker_env: Annotated[dict[str, str], doc("Variables for commands in the container.")] = {}
    docker_forward_env: Annotated[
        list[str], doc("Names of your own variables that commands in the container get.")
    ] = []
    docker_extra_args: Annotated[list[str], doc("More arguments for docker run.")] = []
    singularity_image: Annotated[str, doc("Image file, folder or address for Apptainer.")] = ""
    modal_image: Annotated[str, doc("Image for Modal sandboxes.")] = (
        "nikolaik/python-nodejs:python3.11-nodejs20"
    )
    daytona_image: Annotated[str, doc("Image for Daytona sandboxes.")] = (
        "nikolaik/python-nodejs:python3.11-nodejs20"
    )
    vercel_image: Annotated[str, doc("Image for Vercel sandboxes; empty for Vercel's own.")] = ""
    container_cpu: Annotated[
        float, Meta(ge=0), doc("Processors of a container or cloud sandbox; 0 for no limit.")
    ] = 1.0
    container_memory: Annotated[
        int, Meta(ge=0), doc("Memory of a container or cloud sandbox in megabytes; 0 for no limit.")
    ] = 5120
    container_disk: Annotated[
        int,
        Meta(ge=0),
        doc("Disk of a container in megabytes, where the storage can limit it; 0 for no limit."),
    ] = 0
    container_pids: Annotated[
        int, Meta(ge=0), doc("Processes that a container may have; 0 for no limit.")
    ] = 256
    container_persistent: Annotated[
        bool, doc("Keep a container's files for the next session in this directory.")
    ] = True

    def __post_init__(self) -> None:
        check_hosts("network", self.network if isinstance(self.network, list) else ())
