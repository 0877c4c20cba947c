"""What makes git run something later: one table for mounts, file tools and the reading of commands."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

STEERING: Final = ("hooks", "config", "config.worktree", "commondir")
"""What of git's own folder chooses what it runs; all else there is what commits need."""

OLD_REMOTES: Final = ("remotes", "branches")
"""Folders of addresses to fetch from and push to, in an older form: git reads them and writes none."""

RESUMED: Final = (
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "rebase-apply/strategy",
    "sequencer/todo",
    "sequencer/opts",
)
"""What git writes when a rebase or cherry-pick stops, and does when it goes on."""

_STEERING: Final = re.compile(
    r"(?:^|/)\.git(?:/(?:(?:modules|worktrees)/.+/)?(?:(?:"
    + "|".join(("hooks", *OLD_REMOTES))
    + r")(?:/.*)?|"
    + "|".join(map(re.escape, (*STEERING[1:], *RESUMED)))
    + r"))?$"
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_PACKED: Final = re.compile(r"^([0-9a-f]{40,64}) refs/(.+)$", re.MULTILINE)
_STRATEGIES: Final = r"(?:ort|recursive|resolve|octopus|ours|subtree)"  # another one names a program
_PLAIN_STEP: Final = {
    "todo": re.compile(r"(?![ \t]*(?:x|exec)(?![\w-])).*"),
    "strategy": re.compile(_STRATEGIES),
    "opts": re.compile(rf"\[options\]|\t(?:strategy = {_STRATEGIES}|(?!strategy\s*=)[\w-]+ = .*[^\\])"),
}
_WORKTREE: Final = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*([^\n]+)$", re.MULTILINE)
_SECTION: Final = re.compile(r"\[(\w+)(?: \"[^\"\\]*\")?\]")
_SETTING: Final = re.compile(r"(\w+) = ?.*[^\\]|(\w+) =")
_PLAIN: Final = {
    section: frozenset(names.split())
    for section, names in {
        "core": "repositoryformatversion filemode bare logallrefupdates ignorecase symlinks precomposeunicode"
        " autocrlf eol safecrlf whitespace abbrev quotepath sharedrepository untrackedcache preloadindex"
        " compression longpaths commentchar sparsecheckout sparsecheckoutcone fscache checkstat trustctime"
        " bigfilethreshold deltabasecachelimit",
        "remote": "url fetch pushurl tagopt prune mirror",
        "branch": "remote merge rebase description sort autosetupmerge autosetuprebase",
        "submodule": "url active branch recurse",
        "extensions": "objectformat worktreeconfig refstorage",
        "user": "name email signingkey",
        "pull": "rebase ff",
        "push": "default autosetupremote followtags",
        "fetch": "prune prunetags fsckobjects parallel writecommitgraph",
        "merge": "ff conflictstyle renames renamelimit stat log",
        "diff": "algorithm renames renamelimit colormoved mnemonicprefix noprefix context submodule",
        "rebase": "autosquash autostash updaterefs",
        "commit": "gpgsign verbose",
        "tag": "gpgsign sort",
        "log": "date decorate abbrevcommit follow showroot showsignature",
        "status": "showuntrackedfiles short branch",
        "init": "defaultbranch",
        "color": "ui diff status branch",
        "rerere": "enabled autoupdate",
        "gc": "auto",
        "index": "version",
        "blame": "ignorerevsfile",
        "help": "autocorrect",
        "transfer": "fsckobjects",
        "receive": "denycurrentbranch",
        "advice": "detachedhead statushints",
        "grep": "linenumber column patterntype extendedregexp",
        "http": "postbuffer version lowspeedlimit lowspeedtime",
        "pack": "threads window depth windowmemory",
        "protocol": "version",
        "safe": "barerepository",
        "stash": "showpatch showstat",
    }.items()
}


_LOOKS: Final = frozenset({"advice", "color", "column"})
"""Sections that say only how things are shown."""
_LEADING: Final = frozenset(
    {
        ("remote", "url"),
        ("remote", "pushurl"),
        ("remote", "fetch"),
        ("remote", "mirror"),
        ("submodule", "url"),
    }
    | {("branch", "remote"), ("branch", "merge")}
)
"""What git itself writes into a clone, and what leads it elsewhere."""
_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]+")
"""What a branch can be called (git-check-ref-format)."""


def steers_git(path: str) -> bool:
    """Whether what is at a path chooses what a later git command runs; a `.git` as such does, for it may be a
    file that leads to another folder.
    """
    return bool(_STEERING.search(path.rstrip("/")))


def git_name(path: str) -> str:
    """An absolute path by the name that it would have in a folder `.git`, where it lies in the folder of a
    repository that is called otherwise (`git init --separate-git-dir`, a bare one); "" elsewhere.
    """
    for above in Path(path).parents:
        if (above / "HEAD").is_file() and ((above / "objects").is_dir() or (above / "commondir").is_file()):
            return f"{above}/.git/{path[len(str(above)) :].lstrip('/')}"
    return ""


def names_programs(folder: Path) -> bool:
    """Whether the repository that a folder lies in has git run programs: by a hook, or by a setting that is
    not known to be harmless. True where that cannot be told.
    """
    try:
        git = next((one / ".git" for one in (folder, *folder.parents) if (one / ".git").exists()), None)
        return git is not None and _names_programs(_common(git))
    except (OSError, ValueError):
        return True


def _common(git: Path) -> Path:
    """The folder that has the hooks and settings of a repository, also for a worktree or submodule."""
    if git.is_file():
        git = git.parent / read_plain(str(git)).strip().removeprefix("gitdir: ")
    shared = git / "commondir"
    return git / read_plain(str(shared)).strip() if shared.is_file() else git


def _names_programs(git: Path) -> bool:
    hooks, settings = git / "hooks", [git / "config", git / "config.worktree"]
    if hooks.is_dir() and any(one.suffix != ".sample" for one in hooks.iterdir()):
        return True
    texts = [read_plain(str(one)) for one in settings if one.exists()]
    return any(plain_config(text) != text for text in texts)


def branch_of(folder: Path) -> str:
    """The branch that a folder's repository, worktree or submodule is on, as its HEAD says; the beginning of
    a commit's name where it is on none, "" outside of a repository.
    """
    for above in (folder, *folder.parents):
        git = above / ".git"
        with suppress(OSError, ValueError):
            if git.is_file():
                git = above / read_plain(str(git)).strip().removeprefix("gitdir: ")
            if head := read_plain(str(git / "HEAD")).strip():
                name = head.removeprefix("ref: refs/heads/")
                is_name = _REF.fullmatch(name) if name != head else _COMMIT.fullmatch(name)
                return name[:60] if is_name else ""
    return ""


def refs_of(git: Path) -> dict[str, str]:
    """The commits that branches and tags stand for, by `heads/…`, `tags/…` and the like; none where git keeps
    them in another form.
    """
    found: dict[str, str] = {}
    with suppress(OSError):
        found |= {name: commit for commit, name in _PACKED.findall(read_plain(str(git / "packed-refs")))}
    for file in (git / "refs").rglob("*"):
        with suppress(OSError):
            text = "" if file.is_symlink() or file.is_dir() else read_plain(str(file)).strip()
            if _COMMIT.fullmatch(text):
                found[str(file.relative_to(git / "refs"))] = text
    return found


def plain_config(text: str, folder: str = "", top: str = "", known: str = "") -> str:
    """The lines of a file of settings that git itself writes into a new repository or a clone, and such as
    run nothing, fetch nothing by themselves and write nowhere else; all of the text where there are no
    others. In the `folder` of a submodule it may name the place of its work below `top`; what stands in
    `known` already may stand there again, in its section, if it ends with its line.
    """
    old = set(_in_sections(known))
    own = "/.git/modules/" in folder and f"{named_work(text, folder)}/".startswith(f"{top}/")
    allowed: frozenset[str] = frozenset()
    kept = []
    for heading, line in _in_sections(text):
        plain = line.strip()
        if section := _SECTION.fullmatch(plain):
            allowed = _PLAIN.get(section[1].lower(), frozenset())
        is_work = own and _WORKTREE.fullmatch(line.rstrip()) is not None
        is_old = (heading, line) in old and not plain.endswith("\\")
        if (section and allowed) or not plain or is_work or is_old or _is_allowed(plain, allowed):
            kept.append(line)
    whole = "".join(kept)
    return whole if "=" in whole or whole == text else ""


def _in_sections(text: str) -> Iterator[tuple[str, str]]:
    """The lines of settings with the heading of their section."""
    heading = ""
    for line in text.splitlines(keepends=True):
        heading = line if line.lstrip().startswith("[") else heading
        yield heading, line


def plain_steps(name: str, text: str, known: str = "") -> str:
    """The lines of one of `RESUMED` that run no program, or that stand in `known` already."""
    plain = _PLAIN_STEP[name.rpartition("/")[2].removeprefix("git-rebase-")]
    old = set(known.split("\n"))
    lines = text.removesuffix("\n").split("\n")
    kept = [line for line in lines if line in old or plain.fullmatch(line)]
    return text if kept == lines else "".join(f"{line}\n" for line in kept)


def is_plain_setting(name: str) -> bool:
    """Whether a setting, by its whole name, is known to make no git command run a program, or go or write
    anywhere.
    """
    section, _, rest = name.lower().partition(".")
    setting = (section, rest.rpartition(".")[2])
    return section in _LOOKS or (setting[1] in _PLAIN.get(section, ()) and setting not in _LEADING)


def _is_allowed(line: str, names: frozenset[str]) -> bool:
    setting = _SETTING.fullmatch(line)
    return setting is not None and (setting[1] or setting[2]).lower() in names


def named_work(text: str, folder: str) -> str:
    """Where the settings of a submodule in that git folder say that its work lies; "" where they do not, or
    more than once: git takes the last.
    """
    found = _WORKTREE.findall(text)
    return os.path.normpath(os.path.join(folder, found[0].strip())) if len(found) == 1 else ""  # noqa: PTH118


def read_plain(path: str) -> str:
    """The text of a regular file, its first 100,000 bytes; "" for a pipe and the like, which would never end.
    OSError as usual, and for a link: what git itself makes is none, and it may lead anywhere.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read(100_000).decode("utf-8", "replace")
