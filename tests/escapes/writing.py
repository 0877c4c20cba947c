"""Attempts to change something outside the workspace."""

from tests.escapes.attempt import CONFINED, Attempt, attempts

_PLAIN = {
    "create": "echo x > $OUT/new",
    "append": "echo x >> $OUT/file",
    "truncate": "truncate -s 0 $OUT/file",
    "delete": "rm -f $OUT/file",
    "delete a folder": "rm -rf $OUT/folder",
    "make a folder": "mkdir $OUT/made",
    "rename over": "echo x > $T/n.$$; cp $T/n.$$ $WORK/n 2>/dev/null; mv -f $WORK/n $OUT/file || mv -f $T/n.$$ $OUT/file",
    "rename within": "mv $OUT/file $OUT/other",
    "rename the folder": "mv $OUT $OUT.moved; mv $OUT/folder $OUT/elsewhere",
    "exchange by a system call": "$PY -c \"import ctypes; ctypes.CDLL(None).syscall(316,-100,b'$OUT/file',-100,b'$OUT/own.sh',2)\"",
    "mode of a file": "chmod 777 $OUT/file",
    "mode of the folder": "chmod 777 $OUT",
    "mode by a descriptor": "$PY -c \"import os; os.fchmod(os.open('$OUT/file',0),0o777)\"",
    "times": "touch -d 2001-01-01 $OUT/file",
    "times by a descriptor": "$PY -c \"import os; os.utime(os.open('$OUT/file',0),(1,1))\"",
    "an attribute": "$PY -c \"import os; os.setxattr('$OUT/file','user.x',b'y')\"",
    "a group": "chgrp $(id -g) $OUT/file && touch -m $OUT/file",
    "through a link": "cd $WORK 2>/dev/null; ln -sfn $OUT l || { cd $T && ln -sfn $OUT l; }; echo x > l/new",
    "through a chain of links": "cd $T; ln -sfn $OUT a; ln -sfn a b; ln -sfn b/../file c; echo x >> b/file; echo x > c",
    "through a dangling link": "cd $T; ln -sf $OUT/new dangling; echo x > dangling",
    "through a hard link": "cd $WORK; ln $OUT/file h && echo x >> h",
    "a hard link to the outside": "echo x > $WORK/h2; ln $WORK/h2 $OUT/new || { echo x > $T/h2; ln $T/h2 $OUT/new; } || cp $T/h2 $OUT/new",
    "through the root of itself": "echo x > /proc/self/root$OUT/new",
    "through the working directory": "cd $OUT; echo x > /proc/self/cwd/new",
    "relative to a descriptor": "$PY -c \"import os; d=os.open('$OUT',0); os.open('new',os.O_CREAT|os.O_WRONLY,dir_fd=d)\"",
    "by openat2": "$PY -c \"import ctypes,struct; h=struct.pack('QQQ',0o101,0o644,0); ctypes.CDLL(None).syscall(437,-100,b'$OUT/new',h,24)\"",
    "an unnamed file that gets a name": (
        "$PY -c \"import os; f=os.open('$OUT',os.O_TMPFILE|os.O_RDWR); os.link('/proc/self/fd/%d'%f,'$OUT/new',src_dir_fd=os.open('/',0),follow_symlinks=True)\""
    ),
    "a file through its descriptor's path": "exec 5< $OUT/file; echo x > /proc/self/fd/5",
    "open for reading, map for writing": (
        "$PY -c \"import mmap,os; f=os.open('$OUT/file',os.O_RDWR); m=mmap.mmap(f,4); m[0:1]=b'X'; m.flush()\""
    ),
    "allocate": "fallocate -l 4096 $OUT/file",
    "copy in the kernel": "$PY -c \"import os; a=os.open('/etc/hostname',0); b=os.open('$OUT/file',os.O_WRONLY); os.copy_file_range(a,b,3)\"",
    "a socket with a name": "$PY -c \"import socket; socket.socket(socket.AF_UNIX).bind('$OUT/s')\"",
    "a pipe with a name": "mkfifo $OUT/new",
    "archive over": "cd $T; mkdir -p t; echo x > t/file; tar cf t.tar -C t file; tar xf t.tar -C $OUT",
    "an archive with a link in it": (
        "cd $T && rm -rf e && mkdir e && $PY -c \"import tarfile,io; t=tarfile.open('e.tar','w'); i=tarfile.TarInfo('l');"
        "i.type=tarfile.SYMTYPE; i.linkname='$OUT'; t.addfile(i); j=tarfile.TarInfo('l/new'); j.size=1; t.addfile(j,io.BytesIO(b'x'))\";"
        " $PY -c \"import tarfile; tarfile.open('$T/e.tar').extractall('$T/e')\" ; echo x > e/l/new"
    ),
    "by git": "cd $OUT && git init -q made",
    "by a copy with everything": "cp -a /etc/hostname $OUT/new",
    "by install": "install -m 755 /etc/hostname $OUT/new",
    "by sed in place": "sed -i s/kept/lost/ $OUT/file",
    "by dd": "dd if=/etc/hostname of=$OUT/file status=none",
    "by rsync's way, a temporary name": "cp /etc/hostname $OUT/.file.tmp && mv $OUT/.file.tmp $OUT/file",
    "debugging output of the loader": "LD_DEBUG=files LD_DEBUG_OUTPUT=$OUT/debug /bin/true",
    "a trace of the shell": "exec 9> $OUT/trace; BASH_XTRACEFD=9; set -x; true",
    "into a pipe with a name that the host reads": "timeout 2 bash -c 'echo x > $FIFO'",
}

_RACES = {
    "a race of links": (
        "cd $T; mkdir -p real; ( for i in $(seq 60); do ln -sfn $OUT sw; ln -sfn real sw; done ) & "
        "while kill -0 $!; do echo x > sw/new; done 2>/dev/null; wait"
    ),
}

_SELDOM_WON = {
    "a race of renames": (
        "cd $T; rm -rf d m; mkdir -p d; ln -sfn $OUT m; ( for i in $(seq 200); do mv d x; mv m d; mv d m; mv x d; done ) 2>/dev/null & "
        "for i in $(seq 300); do echo x > d/new; done 2>/dev/null; wait"
    ),
}

_NEEDS_RIGHTS = {
    "an owner": "chown 1234 $OUT/file",
    "an attribute of the file system": "chattr +i $OUT/file",
    "through the root of the first process": "echo x > /proc/1/root$OUT/new",
    "through the first process's directory": "echo x > /proc/1/cwd/$OUT/new",
    "through other processes' roots": "for p in /proc/[0-9]*; do echo x > $p/root$OUT/new; done",
    "through other processes' descriptors": "for f in /proc/[0-9]*/fd/*; do [ -d $f/ ] && echo x > $f/$OUT/new; done",
    "remount": "mount -o remount,rw / && echo x > $OUT/new; mount -o remount,rw,bind $OUT && echo x > $OUT/new",
    "bind the workspace over": "mount --bind $WORK $OUT && echo x > $OUT/new",
    "unmount what covers": "umount -l / $OUT $HOME/.ssh /tmp /run; echo x > $OUT/new",
    "the new calls for mounts": (
        "$PY -c \"import ctypes; l=ctypes.CDLL(None); f=l.syscall(428,-100,b'$OUT',1); print('ESCAPED' if f>=0 else f);"
        "print('ESCAPED' if l.syscall(442,-100,b'$OUT',0,0,0)==0 else '')\""
    ),
    "another root": "chroot /proc/1/root bash -c 'echo x > $OUT/new'",
    "pivot": "$PY -c \"import ctypes; ctypes.CDLL(None).syscall(155,b'/',b'/tmp')\"; echo x > $OUT/new",
    "join the namespaces of the first process": "nsenter -t 1 -a bash -c 'echo x > $OUT/new'",
    "join those of a process outside": "nsenter -t $VICTIM -U -m bash -c 'echo x > $OUT/new'",
    "a device of a disk": "cd $T && mknod d b 8 0 && head -c 1 d && echo ESCAPED",
    "the memory of the machine": "cd $T && mknod m c 1 1 && head -c 1 m && echo ESCAPED; head -c 1 /dev/mem && echo ESCAPED",
    "the disks in /dev": "ls /dev/sd* /dev/vd* /dev/nvme* 2>/dev/null && echo ESCAPED",
    "where cores go": "echo $OUT/own.sh > /proc/sys/kernel/core_pattern && echo ESCAPED",
    "the kernel's helpers": "echo $T/x > /sys/kernel/uevent_helper && echo ESCAPED; echo $T/x > /proc/sys/kernel/modprobe && echo ESCAPED",
    "the sysrq trigger": "echo h > /proc/sysrq-trigger && echo ESCAPED",
    "a control group with a release agent": "mkdir /sys/fs/cgroup/hermes-escape /sys/fs/cgroup/*/hermes-escape 2>/dev/null && echo ESCAPED",
    "a file by its handle": "$PY -c \"import ctypes; print('ESCAPED' if ctypes.CDLL(None,use_errno=True).syscall(304,3,b'x'*16,0)>=0 else '')\"",
    "a file of the system": "echo x >> /etc/hosts && echo ESCAPED; touch /usr/bin/hermes-escape && echo ESCAPED",
    "a set-user-id program": "cp /bin/bash $T/sb && chmod 4755 $T/sb && $T/sb -p -c 'echo x > $OUT/new'; sudo -n true && echo ESCAPED",
    "a loop device": "losetup -f && losetup /dev/loop0 /etc/hostname && echo ESCAPED",
    "a file system in user space": "ls /dev/fuse 2>/dev/null && echo ESCAPED",
}

_INSIDE = {
    "create in the workspace": "echo x > $WORK/new",
    "change in the workspace": "echo x >> $WORK/tracked",
    "delete in the workspace": "rm $WORK/tracked",
    "commit in the workspace": "cd $WORK && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    "a mode in the workspace": "chmod 777 $WORK/tracked",
}

_NAMESPACES = {
    "a user namespace": "unshare -U true && echo ESCAPED",
    "a user namespace with mounts": "unshare -Urm true && echo ESCAPED",
    "a network namespace of its own": "unshare -Urn true && echo ESCAPED",
    "namespaces by clone": "$PY -c \"import ctypes,os; p=ctypes.CDLL(None).syscall(56,0x10000011,0,0,0,0); p or os._exit(0); print('ESCAPED' if p>0 else '')\"",
    "the sandbox in the sandbox": "$BWRAP --bind / / true && echo ESCAPED",
}

ALL: list[Attempt] = [
    *attempts("write outside", _PLAIN, modes=CONFINED),
    *attempts("races", _RACES, unshown=_SELDOM_WON, modes=CONFINED),
    *attempts("kernel and mounts", {}, unshown=_NEEDS_RIGHTS, modes=CONFINED),
    *attempts("namespaces", _NAMESPACES),
    *attempts("write inside", _INSIDE, modes=("read-only",)),
]
