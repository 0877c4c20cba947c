"""Attempts to get something run later, outside; and to change what confines them."""

from tests.escapes.attempt import Attempt, attempts

_STARTS = {
    "a start file": "echo x >> $HOME/.bashrc",
    "a start file by renaming": "echo x > $HOME/n && mv $HOME/n $HOME/.bashrc || { echo x > $T/n; mv $T/n $HOME/.bashrc; }",
    "a start file deleted and made anew": "rm -f $HOME/.profile; echo x > $HOME/.profile",
    "a program in the path": "echo x > $HOME/.local/bin/git",
    "the parent of the programs moved away": "mv $HOME/.local $HOME/.l2 && mkdir -p $HOME/.local/bin && echo x > $HOME/.local/bin/git",
    "git's settings of the user": "git config --global core.pager x",
    "a service of the user": "echo x > $HOME/.config/systemd/user/x.service",
    "the folder of services moved away": "mv $HOME/.config $HOME/.c3 && mkdir -p $HOME/.config/systemd && echo x > $HOME/.config/systemd/x",
    "an SSH key of its own": "echo x >> $HOME/.ssh/authorized_keys && grep -q x $HOME/.ssh/authorized_keys",
}

_REPOSITORY = {
    "a hook": "echo x > $WORK/.git/hooks/pre-commit",
    "a hook's mode": "chmod 700 $WORK/.git/hooks",
    "the hooks moved away": "mv $WORK/.git/hooks $WORK/h; mkdir $WORK/.git/hooks && echo x > $WORK/.git/hooks/pre-commit",
    "the repository moved away": (
        "mv $WORK/.git $WORK/g && cp -r $WORK/g $WORK/.git && echo x > $WORK/.git/hooks/pre-commit"
    ),
    "the repository made anew": "rm -rf $WORK/.git; cd $WORK && git init -q && echo x > .git/hooks/pre-commit",
    "a link in place of the hooks": "rm -rf $WORK/.git/hooks; ln -sfn $OUT $WORK/.git/hooks",
    "git's settings": "cd $WORK && git config core.fsmonitor x",
    "git's settings by hand": "printf '[core]\\n\\tfsmonitor = x\\n' >> $WORK/.git/config",
    "git's settings by renaming": "echo x > $WORK/.git/c && mv $WORK/.git/c $WORK/.git/config",
    "git's settings deleted": "rm -f $WORK/.git/config",
    "a race for git's settings": (
        "cd $WORK/.git; ( for i in $(seq 200); do mv config c1; mv c1 config; ln -sfn $OUT/file config; done ) 2>/dev/null & "
        "for i in $(seq 200); do echo x >> config; done 2>/dev/null; wait"
    ),
    "another common folder": (
        "cd $WORK; mkdir g3 g3/objects g3/refs; printf '[core]\\n\\tfsmonitor = echo x > %s/file\\n' $OUT > g3/config; "
        "echo ../g3 > .git/commondir"
    ),
    "settings of a submodule at any depth": (
        "printf '[core]\\n\\tfsmonitor = x\\n' >> $WORK/.git/modules/group/inner/config"
    ),
    "a hook of a submodule's submodule": "echo x > $WORK/.git/modules/group/inner/modules/deep/hooks/post-checkout",
    "a submodule led elsewhere": "echo gitdir: $OUT > $WORK/inner/.git",
    "settings of a worktree": "printf '[core]\\n\\tfsmonitor = x\\n' >> $WORK/.git/config.worktree",
    "the repository exchanged": "mkdir $WORK/g2; $PY -c \"import ctypes; ctypes.CDLL(None).syscall(316,-100,b'$WORK/.git',-100,b'$WORK/g2',2)\"",
}

_OWN = {
    "our settings": "echo 'terminal: {sandbox: off}' > $HOME/.hermes/config.yaml",
    "our settings through a link": "ln -sfn $HOME/.hermes $T/hh; echo x >> $T/hh/config.yaml",
    "our home moved away": "mv $HOME/.hermes $HOME/.h2; mkdir $HOME/.hermes; echo x > $HOME/.hermes/config.yaml",
    "our home deleted": "rm -rf $HOME/.hermes",
    "a tool of ours": "mkdir -p $HOME/.hermes/tools; echo x > $HOME/.hermes/tools/x.py",
    "the state of the shell": "echo x > $SCRATCH/shell/open/state-1",
    "the uncut outputs": "echo x > $SCRATCH/outputs/output-1.txt",
}

ALL: list[Attempt] = [
    *attempts("start files", _STARTS),
    *attempts("repositories", _REPOSITORY),
    *attempts("our own", _OWN),
]
