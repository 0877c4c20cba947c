"""What is kept as files: SOUL.md, memory, skills, jobs, plugins; and instructions, which are only named."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from hermes.apps.cli.homes.part import KEPT, THERE, Ours, Part
from hermes.apps.cli.homes.source import ForeignFolder
from hermes.lib.files import make_private, write_atomic
from hermes.lib.removal import remove_folder
from hermes.lib.small_files import read_small
from hermes.lib.trees import Room, TooLarge, copy_aside
from hermes.lib.walk import walk
from hermes.skills.digest import digest
from hermes.skills.installed import InstalledSkills, KeptOut
from hermes.skills.library import skill_files
from hermes.skills.skill_file import FILE, load
from hermes.store.notes import FILES, SEPARATOR, Edit, NoteOrigin, Target
from hermes.types.error import ConfigError, HermesError, SkillError

_LONGEST_SOUL: Final = 100_000
_LARGEST_PLUGIN: Final = 50_000_000
_MOST_FILES: Final = 5_000
_DEEPEST: Final = 4
"""How many folders lie above a skill at most."""
IMPORTED: Final = "imported"
"""The folder of what is kept until there is a use for it here."""


def soul(source: ForeignFolder, ours: Ours, file: str = "SOUL.md") -> Iterator[Part]:
    """Who the agent is."""
    text = source.text(file, _LONGEST_SOUL)
    if not text.strip():
        return
    own = ours.home.soul_file
    if own.exists():
        same = read_small(own) == text.encode()
        yield Part(kind="soul", name=file, becomes=THERE if same else KEPT)
        return
    take = partial(write_atomic, own, text.encode())
    yield Part(kind="soul", name=file, becomes="copied to SOUL.md", take=take)


def memory(source: ForeignFolder, ours: Ours, folder: str = "memories") -> Iterator[Part]:
    """What was noted, fact by fact."""
    for target, file in FILES.items():
        path = f"{folder}/{file}"
        here = {one.text for one in ours.notes.read(target)}
        for text in _facts(source.text(path)):
            name = f"{file}: {text.splitlines()[0][:60]}"
            if text in here:
                yield Part(kind="memory", name=name, becomes=THERE)
                continue
            take = partial(_note, ours, target, text, str(source.root))
            yield Part(kind="memory", name=name, becomes=f"added to {file}", take=take)


def _facts(text: str) -> list[str]:
    return list(dict.fromkeys(one for part in f"\n{text}\n".split(SEPARATOR) if (one := part.strip())))


def _note(ours: Ours, target: Target, text: str, origin: str) -> None:
    noted = NoteOrigin(at=ours.now, outside=(f"hermes import from {origin}",))
    ours.notes.edit(target, [Edit(action="add", content=text)], noted)


def skills(source: ForeignFolder, ours: Ours, folder: str = "skills") -> Iterator[Part]:
    """The skills in a folder, without those that came with the other program."""
    place = source.root.resolve() / folder
    bundled = {
        line.partition(":")[0].strip() for line in source.text(f"{folder}/.bundled_manifest").splitlines()
    }
    here = {one.parent.name for one in map(Path, dict(skill_files(ours.home.skills)))}
    for one in _skill_folders(place):
        if one.is_symlink():
            yield Part(kind="skills", name=one.name, becomes="not taken: a link leads to it")
        elif one.name not in bundled:
            yield _skill(one, place, here, ours)


def _skill_folders(place: Path) -> Iterator[Path]:
    """The folders of skills, and links to others, which are not entered."""
    if place.is_symlink():
        yield place
        return
    for above, folders, others in walk(str(place)):
        at = Path(above)
        if FILE in others:
            yield at
            folders.clear()
        deep = len(at.relative_to(place).parts) >= _DEEPEST
        folders[:] = [] if deep else sorted(one for one in folders if not one.startswith("."))
        links = (at / name for name in sorted(others) if not name.startswith("."))
        yield from (one for one in links if FILE not in others and one.is_symlink() and one.is_dir())


def _skill(folder: Path, place: Path, here: set[str], ours: Ours) -> Part:
    try:
        name = load(folder).name
    except (HermesError, OSError) as error:
        return Part(kind="skills", name=folder.name, becomes=f"not taken: {error}")
    installed = InstalledSkills(ours.home.skills, ours.home.skill_quarantine)
    if name in here or folder.name in here:
        known = installed.every().get(name)
        same = known is not None and known.digest == digest(folder)
        return Part(kind="skills", name=name, becomes=THERE if same else KEPT)
    above = folder.relative_to(place).parts[:-1]
    category = above[-1] if above else ""
    take = partial(_install, installed, folder, category, ours)
    return Part(kind="skills", name=name, becomes="installed", take=take)


def _install(installed: InstalledSkills, folder: Path, category: str, ours: Ours) -> None:
    token = hashlib.sha256(f"{folder} {ours.now}".encode()).hexdigest()[:12]
    with installed.candidate(folder, folder.name, token, origin=str(folder), trust="trusted") as one:
        try:
            installed.install(one, category=category, at=ours.now, force=False)
        except KeptOut as error:
            raise SkillError(
                f"the guard found something; hermes skills inspect {folder} shows it, hermes skills install"
                f" {folder} --force takes it"
            ) from error


def cron(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """Jobs, which are kept in a file until there are schedules here."""
    rows = source.json("cron/jobs.json").get("jobs")
    jobs = [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []
    file = ours.home.root / IMPORTED / "cron.json"
    here = {json.dumps(one, sort_keys=True) for one in _kept_jobs(file)}
    for job in jobs:
        name = str(job.get("name") or job.get("id") or "?")
        if json.dumps(job, sort_keys=True) in here:
            yield Part(kind="cron", name=name, becomes=THERE)
            continue
        becomes = f"kept in {IMPORTED}/cron.json, not run: there are no schedules here"
        yield Part(kind="cron", name=name, becomes=becomes, take=partial(_keep_job, file, job))


def _kept_jobs(file: Path) -> list[Any]:
    with suppress(FileNotFoundError):
        try:
            return list(json.loads(read_small(file))["jobs"])
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{file} is no file of jobs; move it away") from error
    return []


def _keep_job(file: Path, job: Mapping[str, Any]) -> None:
    jobs = [*_kept_jobs(file), job]
    write_atomic(file, json.dumps({"jobs": jobs}, indent=1).encode() + b"\n", mode=0o600)


def plugins(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """Plugins, which are kept and not run."""
    for one in source.folders("plugins"):
        target = ours.home.root / IMPORTED / "plugins" / one.name
        if target.exists():
            yield Part(kind="plugins", name=one.name, becomes=KEPT)
            continue
        becomes = f"copied to {IMPORTED}/plugins, not enabled"
        yield Part(kind="plugins", name=one.name, becomes=becomes, take=partial(_copy, one, target))


def _copy(folder: Path, target: Path) -> None:
    """Copy a folder, without its links; it is there whole or not at all."""
    half = target.with_name(f".{target.name}.half")
    remove_folder(half)
    make_private(target.parent)
    try:
        copy_aside(folder, half, Room(_LARGEST_PLUGIN, _MOST_FILES, hides=os.path.islink))
        half.rename(target)
    except TooLarge as error:
        raise ConfigError(
            f"it has more than {_MOST_FILES:,} files or {_LARGEST_PLUGIN:,} bytes, too much for a plugin"
        ) from error
    finally:
        remove_folder(half)


def instructions(source: ForeignFolder, files: Sequence[str]) -> Iterator[Part]:
    """Files with instructions for another agent: whoever wants them here says so in words of their own."""
    for file in files:
        if source.read(file, 16_000_000):
            becomes = "only named: put what should count here into SOUL.md or a project's AGENTS.md"
            yield Part(kind="instructions", name=re.sub(r"\s", " ", str(source.root / file)), becomes=becomes)
