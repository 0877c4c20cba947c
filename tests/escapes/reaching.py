"""Attempts to reach something outside: over the network, by sockets, signals, messages; and to live on."""

from tests.escapes.attempt import ALWAYS, Attempt, attempts


def _python(code: str) -> str:
    return f'$PY -c "import socket as s, os; {code}"'


_NETWORK = {
    "TCP": "exec 3<>/dev/tcp/$HOST/$TCP",
    "TCP by Python": _python("s.create_connection(('$HOST', $TCP), 2)"),
    "TCP over IPv6": _python("s.create_connection(('::1', $TCP6), 2)"),
    "TCP by a mapped address": _python("s.create_connection(('::ffff:$HOST', $TCP), 2)"),
    "UDP": _python("s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('$HOST', $UDP))"),
    "fast open": _python("k=s.socket(); k.sendto(b'x', 0x20000000, ('$HOST', $TCP))"),
    "HTTP with the proxy of the user": "curl -s --max-time 2 -x http://$HOST:$TCP http://example.com/ --noproxy ''",
    "all addresses of this machine": _python(
        "[s.socket().connect_ex((a, $TCP)) for a in ('$HOST','127.0.0.1','localhost','0.0.0.0')]"
    ),
    "a socket with a name": _python("s.socket(s.AF_UNIX).connect('$SOCKET')"),
    "a socket like docker's": "curl -s --max-time 2 --unix-socket $SOCKET http://x/containers/json",
    "a socket in the home": _python("s.socket(s.AF_UNIX).connect('$HOME/agent.sock')"),
    "a socket in the folder for temporary files": _python("s.socket(s.AF_UNIX).connect('$TMPSOCKET')"),
    "a socket through the root of itself": _python("s.socket(s.AF_UNIX).connect('/proc/self/root$SOCKET')"),
    "a socket through a link": "ln -sf $SOCKET $T/s; " + _python("s.socket(s.AF_UNIX).connect('$T/s')"),
    "a socket through a folder's descriptor": (
        _python("d=os.open('$OUT',os.O_PATH); s.socket(s.AF_UNIX).connect('/proc/self/fd/%d/docker.sock'%d)")
    ),
    "an abstract socket": _python("s.socket(s.AF_UNIX).connect(chr(0) + '$ABSTRACT')"),
    "a datagram to an abstract socket": _python(
        "s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b'x', chr(0) + '$ABSTRACT-datagrams')"
    ),
    "the kernel's events": _python("s.socket(s.AF_NETLINK, s.SOCK_RAW, 15); print('ESCAPED')"),
    "a ring for calls": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(425,8,ctypes.create_string_buffer(120))>=0 else '')\"",
}

_NETWORK_UNSHOWN = {
    "the kernel's ciphers": _python("s.socket(38, s.SOCK_SEQPACKET, 0); print('ESCAPED')"),
    "a raw socket": _python("s.socket(s.AF_PACKET, s.SOCK_RAW); print('ESCAPED')"),
    "raw IP": _python("s.socket(s.AF_INET, s.SOCK_RAW, 1); print('ESCAPED')"),
    "the virtual machine's socket": _python("s.socket(40, s.SOCK_STREAM).connect((2, 22)); print('ESCAPED')"),
    "names": "getent hosts example.com && echo ESCAPED",
    "a name server": _python(
        "k=s.socket(s.AF_INET,s.SOCK_DGRAM); k.sendto(b'x',('192.0.2.53',53)); print('ESCAPED')"
    ),
    "the metadata of the cloud": "curl -s --max-time 2 http://169.254.169.254/ && echo ESCAPED",
    "another machine": _python("s.create_connection(('192.0.2.1', 80), 2); print('ESCAPED')"),
    "bring an interface up": "ip link set lo down && echo ESCAPED; ip link add x type dummy && echo ESCAPED",
    "the message bus": "dbus-send --system --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames && echo ESCAPED",
    "the user's services": "systemd-run --user true && echo ESCAPED; systemctl --user list-units && echo ESCAPED",
    "sockets of the system": "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/systemd /run/containerd 2>/dev/null && echo ESCAPED",
    "a packet filter": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(321,0,b'\\0'*72,72)>=0 else '')\"",
}

_PROCESSES = {
    "kill": "kill -9 $VICTIM",
    "kill by Python": _python("os.kill($VICTIM, 9)"),
    "stop": "kill -STOP $VICTIM",
    "kill by name": "pkill -9 -f hermes-victim",
    "slow it down": "renice -n 19 -p $VICTIM",
    "limit it": _python("import resource; resource.prlimit($VICTIM, resource.RLIMIT_NOFILE, (1, 1))"),
    "tie it to a processor": _python("os.sched_setaffinity($VICTIM, {0}); print('ESCAPED')"),
    "see it": "kill -0 $VICTIM && echo ESCAPED",
}
_PROCESSES_UNSHOWN = {
    "kill everything": "kill -9 -1",
    "kill the group of the sandbox": "kill -9 -$PPID; kill -9 0",
    "kill the first process": "kill -9 1; kill -TERM 1",
    "trace": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).ptrace(16,$VICTIM,0,0)==0 else '')\"",
    "trace its own": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).ptrace(0,0,0,0)==0 else '')\"",
    "a debugger": "gdb -p $VICTIM -batch -ex 'call (int)kill($VICTIM,9)'",
    "its core": "gcore $VICTIM && echo ESCAPED",
}

_LIVING_ON = {
    "in the background": "$NAP & disown",
    "without hanging up": "nohup $NAP > /dev/null 2>&1 &",
    "in a session of its own": "setsid $NAP > /dev/null 2>&1 &",
    "forked twice": "(setsid bash -c 'setsid $NAP &' > /dev/null 2>&1 &)",
    "as a daemon": _python(
        "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); os.execvp('bash', ['bash','-c','exec $NAP'])"
    ),
    "deaf to signals": "(trap '' TERM HUP INT; $NAP) > /dev/null 2>&1 &",
    "from a coprocess": "coproc $NAP; disown -a",
    "from a file in memory": _python(
        "f=os.memfd_create('x'); os.write(f, open('/bin/sleep','rb').read()); os.fork() or (os.setsid(), os.execv('/proc/self/fd/%d'%f, '$NAP'.split()))"
    ),
}
_LIVING_ON_UNSHOWN = {
    "by the scheduler": "echo $NAP | at now && echo ESCAPED; (echo '* * * * * $NAP') | crontab - && echo ESCAPED",
    "by systemd": "systemd-run $NAP && echo ESCAPED",
    "by screen": "screen -dm $NAP; tmux new -d $NAP",
}

_MESSAGES = {
    "shared memory": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).shmget($SHM,16,0)>=0 else '')\"",
    "shared memory with a name": "cat /dev/shm/$SHMNAME",
    "a queue": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).msgget($SHM,0)>=0 else '')\"",
    "a semaphore": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).semget($SHM,1,0)>=0 else '')\"",
}

_TERMINAL_UNSHOWN = {
    "type into it": "$PY -c \"import fcntl; fcntl.ioctl(0,0x5412,b'x'); print('ESCAPED')\"",
    "type with the high half of the number set": (
        "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None).syscall(16,0,0x100005412,b'x')==0 else '')\""
    ),
    "type into the controlling one": "$PY -c \"import fcntl,os; fcntl.ioctl(os.open('/dev/tty',2),0x5412,b'x'); print('ESCAPED')\"",
    "paste in the console": "$PY -c \"import fcntl; fcntl.ioctl(0,0x541C,b'\\x03'); print('ESCAPED')\"",
    "write on the terminals of others": "for t in /dev/pts/[0-9]* /dev/tty[0-9]*; do echo x > $t && [ -c $t ] && echo ESCAPED; done",
}

ALL: list[Attempt] = [
    *attempts("network and sockets", _NETWORK, unshown=_NETWORK_UNSHOWN, modes=ALWAYS),
    *attempts("other processes", _PROCESSES, unshown=_PROCESSES_UNSHOWN),
    *attempts(
        "living on",
        {name: f"{script}\nsleep 0.2" for name, script in _LIVING_ON.items()},
        unshown=_LIVING_ON_UNSHOWN,
    ),
    *attempts("shared memory and queues", _MESSAGES),
    *attempts("terminals", {}, unshown=_TERMINAL_UNSHOWN),
]
