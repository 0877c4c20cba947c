"""The scripts that run a job on another machine and end it there, and what is said of it beside its output.

Both are plain bash, since there may be nothing else.

A job's bash gets its environment and script on its standard input, so that neither has a length limit nor
shows in a list of processes. Beside the output it writes records: that it has begun, what its shell carries
on, and its exit code. Without the last one the connection was lost.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hermes.environments.process_tree import MARKER
from hermes.environments.shell import Start
from hermes.environments.shell_state import Dump, parse_dump

ASIDE: Final = 198
"""The descriptor for records: high, so that scripts that number their own do not meet it."""

_RECORDS: Final = re.compile(rb"hermes-begin (\d+)\0(?:(.*)hermes-exit (\d+)\0)?", re.DOTALL)
ENDED: Final = re.compile(rb"hermes-exit (\d+)\0")
"""The record of a job's end."""

# Some clients tell the size of a terminal only after a while; the title, which nobody sees, tells that the
# job has begun.
_ON_TERMINAL: Final = "stty rows 40 cols 120 2>/dev/null; builtin printf '\\e]0;\\a'"
_LONGEST_ARGUMENT: Final = 30_000  # in characters, which may be four bytes each
_BASH: Final = ("bash", "--noprofile", "--norc", "-c")
# Neither forks, which is most of what a job costs, but where bash is older than 4.4 or there is no /proc.
_READ: Final = (
    "LC_ALL=C IFS= builtin read -rN {size} hermes_job 2>/dev/null || hermes_job=$(head -c {size}); eval"
    ' "$hermes_job"'
)
_FORGET: Final = (
    '{ mapfile -d "" -t hermes_names </proc/$$/environ && hermes_names=("${hermes_names[@]%%=*}") ||'
    ' hermes_names=($(compgen -e)); unset -v "${hermes_names[@]}" PWD OLDPWD SHLVL hermes_job; } 2>/dev/null'
)


# Members: whoever carries a mark that begins with ours, their descendants, and their sessions' other
# processes.
_END: Final = r"""
mark=%(mark)s; grace=%(grace)s; grep=$(command -v grep)
members() {
  local path pid line rest vars; local -A family=() parent=() session=()
  local marked=none
  [ -n "$grep" ] && marked=" $(grep -lzsF -e "%(marker)s=$mark" /proc/[0-9]*/environ 2>/dev/null) "
  for path in /proc/[0-9]*; do
    pid=${path#/proc/}
    [ "$pid" = "$$" ] && continue
    { IFS= read -r line <"$path/stat"; } 2>/dev/null || continue
    rest=${line##*) }; set -- $rest
    [ "$1" = Z ] && continue
    parent[$pid]=$2; session[$pid]=$4
    if [ "$marked" != none ]; then
      case $marked in *"$path/environ"*) family[$pid]=1;; esac
      continue
    fi
    { mapfile -d '' -t vars <"$path/environ"; } 2>/dev/null || continue
    case " ${vars[*]}" in *" %(marker)s=$mark"*) family[$pid]=1;; esac
  done 2>/dev/null
  local grown=1 key
  while [ -n "$grown" ]; do
    grown=
    for key in "${!parent[@]}"; do
      [ -n "${family[$key]}" ] && continue
      if [ -n "${family[${parent[$key]}]}" ] ||
         { [ "${session[$key]}" != "$own" ] && [ -n "${family[${session[$key]}]}" ]; }; then
        family[$key]=1; grown=1
      fi
    done
  done
  found=("${!family[@]}")
}
{ IFS= read -r line </proc/$$/stat; } 2>/dev/null; rest=${line##*) }; set -- $rest; own=$4
members; [ ${#found[@]} = 0 ] && exit 0
kill -TERM "${found[@]}" 2>/dev/null
kill -CONT "${found[@]}" 2>/dev/null
for pause in 0.03 0.07 0.1 $(for ((step = 3; step < grace; step++)); do echo 0.1; done); do
  sleep "$pause"
  members; [ ${#found[@]} = 0 ] && exit 0
done
for ((step = 0; step < 30; step++)); do
  kill -KILL "${found[@]}" 2>/dev/null
  sleep 0.03
  members; [ ${#found[@]} = 0 ] && exit 0
done
exit 1
"""


class Records(Struct, frozen=True, kw_only=True):
    """What a job said beside its output: the id of its process (0: it never began), its exit code (None: no
    word of its end).

    `state` is the dump of its shell as it came, `noise` what the program that carries the connection said on
    its own.
    """

    pid: int = 0
    code: int | None = None
    state: bytes = b""
    noise: str = ""


def boot(payload: bytes) -> tuple[str, ...]:
    """The argv that reads `payload` from its standard input and runs it; what follows on that input is the
    job's.
    """
    return (*_BASH, _READ.format(size=len(payload)))


def inline(payload: bytes) -> tuple[str, ...]:
    """The argv that runs `payload` without reading its standard input: for terminals."""
    return (*_BASH, payload.decode("utf-8", "surrogateescape"))


def compose(
    argv: tuple[str, ...], env: Mapping[str, str] | None, marker: str, *, prelude: str = "", aside: str = ""
) -> bytes:
    """The payload for a job: `argv` with exactly the environment `env` (None: that of the machine).

    `aside` is a file for the records; without one they go where its standard error would have gone.
    """
    # All of it is one compound command: cut short on its way, none of it runs.
    lines = [
        "{",
        _FORGET if env is not None else "",
        *(
            f"export {name}={shlex.quote(value)}"
            for name, value in (env or {}).items()
            if name.isidentifier()
        ),
        f"export {MARKER}={shlex.quote(marker)}",
        prelude,
        _ON_TERMINAL if aside else "",
        f"exec {ASIDE}>{shlex.quote(aside)}" if aside else f"exec {ASIDE}>&2",
        f"builtin printf 'hermes-begin %s\\0' \"$$\" >&{ASIDE}",
        "exec 2>/dev/null",  # what a shell says of a child that was killed is not the job's
        _call(argv, marker),
        f"code=$?; builtin printf 'hermes-exit %s\\0' \"$code\" >&{ASIDE}; exit $code",
        "}",
    ]
    return "\n".join(filter(None, lines)).encode("utf-8", "surrogateescape")


def _call(argv: tuple[str, ...], marker: str) -> str:
    """The line that runs bash with the rest of `argv`; a script too long for an argument goes through a
    descriptor.
    """
    if max(map(len, argv)) < _LONGEST_ARGUMENT:
        return f'"$BASH" {shlex.join(argv[1:])} 2>&1'
    options, (script, *_) = argv[1 : argv.index("-c")], argv[argv.index("-c") + 1 :]
    end = f"hermes-{marker}"
    return f"\"$BASH\" {shlex.join(options)} /dev/fd/{ASIDE + 1} 2>&1 {ASIDE + 1}<<'{end}'\n{script}\n{end}"


def end_script(mark: str, grace: float) -> str:
    """The script that ends every process whose mark begins with `mark`: TERM, up to `grace` seconds, then
    KILL.
    """
    return _END % {"mark": shlex.quote(mark), "grace": max(3, round(grace / 0.12)), "marker": MARKER}


def read_records(data: bytes) -> Records:
    """The records in what came beside the output."""
    found = _RECORDS.search(data)
    if found is None:
        return Records(noise=_plain(data))
    pid, state, code = found.groups()
    noise = data[: found.start()] + data[found.end() :]
    return Records(
        pid=int(pid), code=None if code is None else int(code), state=state or b"", noise=_plain(noise)
    )


def _plain(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "").strip()


class AsideCarrier:
    """Carries the shell's words in the records: implements `Carrier`."""

    def target(self, *, confined: bool) -> tuple[str, None]:
        """The records."""
        del confined
        return f">&{ASIDE}", None

    def script(self, text: str, *, confined: bool) -> str:
        """None: the payload takes a script of any length."""
        del text, confined
        return ""

    def dump(self, start: Start, state: bytes) -> Dump | None:
        """What the command left."""
        del start
        return parse_dump(state)
