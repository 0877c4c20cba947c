"""The files that find, grep and their like come upon, as far as a command's words tell."""

from collections.abc import Sequence

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.listings import narrows, searched
from hermes.safety.commands.options import has_option, operands, option_values
from hermes.safety.commands.paths import is_disposable
from hermes.safety.commands.script import Simple


def listed_folders(source: Simple) -> list[str]:
    """The folders that a command lists files of; none where that is not known."""
    words = source.argv[1:]
    if source.program in {"grep", "egrep", "fgrep", "rg"} and has_option(
        words, "-l", "--files-with-matches", "-L", "--files"
    ):
        found = operands(
            words, {"-A", "-B", "-C", "-m", "-g", "--glob", "-t", "-T", "--include", "--exclude"}
        )
        return found[0 if has_option(words, "-e", "--regexp", "--files") else 1 :] or ["."]
    if source.program == "git" and (
        words[:1] == ("ls-files",) or (words[:1] == ("diff",) and "--name-only" in words)
    ):
        return ["."]
    return searched(words) if source.program == "find" else []


def found_paths(words: Sequence[str]) -> list[str]:
    """What the files that `find` comes upon are called: below its folders, and by their name where it asks
    for just one.
    """
    folders = searched(words[1:])
    names = option_values(words, "-name", "-iname")
    if not narrows(words[1:]):
        return folders
    if len(names) == 1 and not {"-o", "-or", "!", "-not", ","} & set(words) and UNKNOWN not in names[0]:
        return [f"{folder.rstrip('/')}/**/{names[0]}" for folder in folders]
    return [f"{folder.rstrip('/')}/{'*' if is_disposable(folder) else UNKNOWN}" for folder in folders]
