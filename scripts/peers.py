"""Other agents as they are published: how each is installed, called for one task, and heard."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from peer_gate import Gate

MODEL = "qwen2.5-coder-1.5b"
STEPS = 12
_BASE = Path(os.environ.get("HERMES_CACHE") or platformdirs.user_cache_path("hermes")) / "peers"
_ACTIONS = "mswea_bash_command|shell|save"
_ANSWERS_LAST = " (The user reads the text of your last message only: say the answer in it.)"


@dataclass(frozen=True, slots=True)
class Job:
    """A question, the folder it is asked in, the home for it, and the address of the model."""

    question: str
    root: Path
    home: Path
    base_url: str


@dataclass(frozen=True, slots=True)
class Peer:
    """An agent: its pinned packages, its program, the rest of the command, its answer, its settings."""

    packages: tuple[str, ...]
    program: str
    arguments: Callable[[Job], list[str]]
    answer: Callable[[Job, Gate], str]
    environ: tuple[tuple[str, str], ...] = ()

    @property
    def folder(self) -> Path:
        """Where it is installed; another version is another folder."""
        return _BASE / self.packages[0].replace("==", "-")

    def install(self) -> Path:
        """Its program, installed if it is not there yet."""
        program = self.folder / "bin" / self.program
        if not program.exists():
            print(f"installing {' '.join(self.packages)} …", file=sys.stderr)
            _with_pip(self.folder, self.packages)
        return program


def _with_pip(folder: Path, packages: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-I", "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages], check=True)


def surroundings(peer: Peer, job: Job) -> dict[str, str]:
    """The environment of one task: a home of its own, no key, and no way out but to this machine."""
    nowhere = "http://127.0.0.1:9"  # nothing listens there
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(job.home),
        "OPENAI_BASE_URL": job.base_url,
        "OPENAI_API_KEY": "local",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), nowhere),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"),
        **dict(peer.environ),
    }


def _mini(job: Job) -> list[str]:
    """Its own configuration of actions as text: this model's calls of tools reach no client as calls."""
    settings = [
        "default.yaml",
        f"agent.step_limit={STEPS}",
        "model.model_kwargs.temperature=0",
        f"model.model_kwargs.api_base={job.base_url}",
        "model.model_kwargs.api_key=local",
    ]
    given = [word for setting in settings for word in ("-c", setting)]
    kind = ["-m", f"openai/{MODEL}", "--model-class", "litellm_textbased"]
    done = ["-y", "--exit-immediately", "-o", str(job.home / "trajectory.json")]
    return [*given, *kind, *done, "-t", job.question + _ANSWERS_LAST]


def _mini_answer(job: Job, gate: Gate) -> str:
    """What it submitted; failing that, what its last message says besides the command."""
    file = job.home / "trajectory.json"
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    submitted = str(told.get("info", {}).get("submission") or "").strip()
    return submitted or last_words(gate)


def last_words(gate: Gate) -> str:
    """The last message that says something besides its actions."""
    return next(filter(None, map(spoken, reversed(gate.replies))), "")


def spoken(text: str) -> str:
    """A message without its actions; what it says in the block that ends a task is an answer."""
    words = re.sub(rf"```(?:{_ACTIONS})\b.*?(?:\n```|$)", "", text, flags=re.DOTALL)
    words = re.sub(r"```complete\b(.*?)(?:```|$)", r"\1", words, flags=re.DOTALL)
    return re.sub(r"^\s*THOUGHT:?", "", words).strip()


def _gptme(job: Job) -> list[str]:
    """Its short prompt and the tools that the tasks need: its long one has 6,000 tokens, and this model mixes
    up many tools. A conversation that has a name saves it calls of the model to find one.
    """
    folder = job.home / ".local/share/gptme/logs/task"
    folder.mkdir(parents=True)
    chat = f'[chat]\nname = "task"\nworkspace = {json.dumps(str(job.root))}\n'
    (folder / "config.toml").write_text(chat, encoding="utf-8")
    short = ["--system", "short", "-t", "shell,save,complete", "--tool-format", "markdown"]
    return ["-n", "--name", "task", "-m", f"local/{MODEL}", *short, job.question]


_QUIET = (
    ("MSWEA_CONFIGURED", "true"),
    ("MSWEA_COST_TRACKING", "ignore_errors"),
    ("MSWEA_SILENT_STARTUP", "1"),
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
)

PEERS = {
    "mini-swe-agent": Peer(
        ("mini-swe-agent==2.4.6", "litellm==1.110.2", "openai==3.57.0"), "mini", _mini, _mini_answer, _QUIET
    ),
    "gptme": Peer(
        ("gptme==0.35.1", "openai==2.54.0"), "gptme", _gptme, lambda _job, gate: last_words(gate), ()
    ),
}
