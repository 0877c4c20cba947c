"""From an archive that was fetched to the folder of a skill."""

from pathlib import Path
from typing import Final

from hermes.lib.archives import ArchiveBounds, ArchivedFile, BadArchive, archived_files, write_files
from hermes.skills.guard import MOST_BYTES, MOST_FILES
from hermes.skills.sources import chosen
from hermes.types.error import SkillError

BOUNDS: Final = ArchiveBounds(files=MOST_FILES, bytes=MOST_BYTES)


def unpacked(data: bytes, place: Path, name: str) -> Path:
    """The folder of the one skill in an archive, below a place; SkillError where the archive is not taken."""
    try:
        write_files(archived_files(data, BOUNDS), place)
    except BadArchive as error:
        raise SkillError(f"The archive of {name} is not taken: {error}.") from error
    return chosen(place, name)


def written(files: dict[str, ArchivedFile], place: Path, name: str) -> Path:
    """The same for files that were fetched one by one."""
    write_files(files, place)
    return chosen(place, name)
