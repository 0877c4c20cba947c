"""Attempts to read what is nobody's business: keys, our own home, other processes."""

from tests.escapes.attempt import Attempt, attempts

_FILES = {
    "an SSH key": "cat $HOME/.ssh/id_ed25519",
    "keys of GnuPG": "cat $HOME/.gnupg/key",
    "keys of a cloud": "cat $HOME/.aws/credentials",
    "another cloud's": "cat $HOME/.config/gcloud/credentials.db",
    "a cluster's": "cat $HOME/.kube/config",
    "docker's": "cat $HOME/.docker/config.json",
    "a browser's cookies": "cat $HOME/.mozilla/cookies.sqlite $HOME/.config/google-chrome/Cookies",
    "passwords of programs": "cat $HOME/.netrc $HOME/.pgpass $HOME/.npmrc $HOME/.pypirc",
    "git's": "cat $HOME/.git-credentials",
    "what was typed": "cat $HOME/.bash_history",
    "our own keys": "cat $HOME/.hermes/.env $HOME/.hermes/auth.json",
    "through a link": "ln -sf $HOME/.aws/credentials $T/l; cat $T/l",
    "through a link to the folder": "ln -sfn $HOME $T/h; cat $T/h/.ssh/*",
    "through the root of itself": "cat /proc/self/root$HOME/.ssh/id_ed25519",
    "through a hard link": "ln $HOME/.ssh/id_ed25519 $T/hl; cat $T/hl || { ln $HOME/.ssh/id_ed25519 $OUT/hl && cat $OUT/hl; rm -f $OUT/hl; }",
    "by an archive": "tar c -C $HOME . 2>/dev/null | strings",
    "by a search": "grep -ra canary- $HOME 2>/dev/null",
    "by find": "find $HOME -type f -exec cat {} + 2>/dev/null",
    "by moving the folder first": "cp -r $HOME/.ssh $T/k && cat $T/k/*; mv $HOME/.ssh $HOME/.x; cat $HOME/.x/*; mv $HOME/.x $HOME/.ssh",
    "by the parent of the cover": "cd $HOME/.ssh && cat ../.ssh/id_ed25519; cat $HOME/./.ssh/../.ssh/id_ed25519",
    "by copying in the kernel": "cp --reflink=auto $HOME/.netrc $T/n && cat $T/n",
    "by moving a parent of the cover": (
        "mv $HOME/.config $HOME/.c2 && cat $HOME/.c2/gcloud/*; [ -d $HOME/.c2 ] && mv $HOME/.c2 $HOME/.config"
    ),
}

_PROCESSES = {
    "the variables of a process": "tr '\\0' '\\n' < /proc/$VICTIM/environ",
    "the variables of all": "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    "the words of all": "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -a '^hermes-victi[m]' && echo ESCAPED",
    "by ps": "ps eww -e | grep -a canary-",
}

_UNSHOWN = {
    "the passwords of the machine": "cat /etc/shadow /etc/gshadow && echo ESCAPED",
    "keys of the machine": "cat /etc/ssh/ssh_host_*_key && echo ESCAPED",
    "memory of a process": "$PY -c \"open('/proc/$VICTIM/mem','rb')\" && echo ESCAPED",
    "memory across processes": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(310,$VICTIM,0,0,0,0,0)==0 else '')\"",
    "descriptors of a process": "$PY -c \"import os,ctypes; p=os.pidfd_open($VICTIM); print('ESCAPED')\"",
    "the keyring of the kernel": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(250,0,-3,0)>=0 else '')\"",
    "the log of the kernel": "dmesg && echo ESCAPED; head -c 1 /dev/kmsg && echo ESCAPED",
    "the memory of the kernel": "head -c 1 /proc/kcore && echo ESCAPED",
    "the clipboard": "xclip -o && echo ESCAPED; xsel && echo ESCAPED; wl-paste && echo ESCAPED",
    "the screen's socket": "ls /tmp/.X11-unix/* 2>/dev/null && echo ESCAPED",
    "what the user's services keep": "ls /run/user /run/secrets /run/credentials 2>/dev/null && echo ESCAPED",
    "a performance counter": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(298,b'\\0'*128,-1,0,-1,0)>=0 else '')\"",
}

ALL: list[Attempt] = [
    *attempts("read secrets", _FILES),
    *attempts("read processes", _PROCESSES, unshown=_UNSHOWN),
]
