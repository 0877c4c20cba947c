"""End a call's whole tree on another machine: a script in plain bash, since there may be nothing else."""

import shlex
from typing import Final

from hermes.environments.process_tree import MARKER

# Members: whoever carries a mark that begins with ours, their descendants, and their sessions' other
# processes.
_SCRIPT: Final = r"""
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


def script(mark: str, grace: float) -> str:
    """The script that ends every process whose mark begins with `mark`: TERM, up to `grace` seconds, then
    KILL.
    """
    return _SCRIPT % {"mark": shlex.quote(mark), "grace": max(3, round(grace / 0.12)), "marker": MARKER}
