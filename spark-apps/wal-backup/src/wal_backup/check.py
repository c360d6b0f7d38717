"""Proves a backup from outside: what its manifests name is read again from the store, record by record."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sparkjob.wire.records import no_search_for_cycles
from wal_backup.columns import content_of
from wal_backup.findings import Finding, Kind
from wal_backup.manifest import Manifest, StoredObject, TopicBackup
from wal_backup.parquet import Section, read_table, sha256_of
from wal_backup.store import Damaged, Place, Store


@dataclass(frozen=True, slots=True)
class ObjectToCheck:
    """An object of a chain, and what its manifest says is in it."""

    folder: str
    stored: StoredObject
    sections: tuple[tuple[str, Section], ...]


def objects_of(folder: str, manifest: Manifest) -> list[ObjectToCheck]:
    """The objects that a manifest names, with their sections."""
    sections = defaultdict[str, list[tuple[str, Section]]](list)
    for topic in manifest.topics:
        for section in topic.sections:
            sections[section.object].append((topic.name, section))
    return [ObjectToCheck(folder, each, tuple(sections.pop(each.path, ()))) for each in manifest.objects]


def find_unnamed(manifest: Manifest) -> Iterator[Finding]:
    """Sections in objects that the manifest does not list, and offsets that no section has."""
    listed = {each.path for each in manifest.objects}
    for topic in manifest.topics:
        for section in topic.sections:
            if section.object not in listed:
                message = f"{manifest.name} lists no object {section.object}, which has records of {topic.name}"
                yield Finding(Kind.CHAIN_BROKEN, message, section.object, topic.name, section.first)
        missing = first_uncovered(topic)
        if missing is not None:
            message = f"topic {topic.name} has no record at offset {missing} in {manifest.name}, and no gap of the log"
            yield Finding(Kind.OFFSETS_MISSING, message, None, topic.name, missing)


def first_uncovered(topic: TopicBackup) -> int | None:
    """The first offset of the range that is neither in a section nor in a gap of the log; None: there is none.

    Inside a section only numbers are compared: which offsets it has is asked of the object.
    """
    position, gaps = topic.start, dict(topic.gaps)
    for section in sorted(topic.sections, key=lambda each: each.first):
        while position < section.first:
            if position not in gaps:
                return position
            position = gaps[position]
        inside = sum(end - first for first, end in topic.gaps if section.first <= first <= section.last)
        if position > section.first or section.last - section.first + 1 - inside != section.records:
            return section.first
        position = section.last + 1
    while position < topic.end:
        if position not in gaps:
            return position
        position = gaps[position]
    return None if position == topic.end else topic.end


def find_missing_objects(store: Store, objects: Iterable[ObjectToCheck]) -> Iterator[Finding]:
    """Objects that are not there, or have another size: without reading them."""
    for each in objects:
        size = store.size(f"{each.folder}/{each.stored.path}")
        first = each.sections[0] if each.sections else None
        where = (None, None) if first is None else (first[0], first[1].first)
        if size is None:
            message = f"object {each.stored.path} is not there{_from(each)}"
            yield Finding(Kind.OBJECT_MISSING, message, each.stored.path, *where)
        elif size != each.stored.bytes:
            message = f"object {each.stored.path} has {size} bytes, not {each.stored.bytes}{_from(each)}"
            yield Finding(Kind.OBJECT_CHANGED, message, each.stored.path, *where)


def check_object(place: Place, each: ObjectToCheck) -> list[Finding]:
    """Reads one object again: its bytes, and the records of each section.

    Raises:
        Refused, Interrupted: the store does not let us, or does not answer.
    """
    store, path = Store(place), f"{each.folder}/{each.stored.path}"
    found = list(find_missing_objects(store, [each]))
    if any(finding.kind is Kind.OBJECT_MISSING for finding in found):
        return found
    with no_search_for_cycles(), tempfile.TemporaryDirectory(prefix="wal-backup-") as folder:
        local = Path(folder) / "object.parquet"
        try:
            store.fetch(path, local)
        except Damaged as damaged:
            return [*found, _changed(each, str(damaged))]
        sha256 = sha256_of(local)
        if sha256 != each.stored.sha256 and not found:
            found.append(_changed(each, f"has SHA-256 {sha256}, not {each.stored.sha256}"))
        return [*found, *_check_sections(local, each)]


def unreadable(topic: str, section: Section, error: Exception) -> Finding:
    """The finding of a section that cannot be read, with the first line of why."""
    said = str(error).strip().split("\n", 1)[0][:200]
    message = f"row group {section.row_group} of {section.object}, {topic} from offset {section.first}: {said}"
    return Finding(Kind.SECTION_UNREADABLE, message, section.object, topic, section.first)


def _changed(each: ObjectToCheck, why: str) -> Finding:
    topic, first = (each.sections[0][0], each.sections[0][1].first) if each.sections else (None, None)
    message = f"object {each.stored.path}: {why}{_from(each)}"
    return Finding(Kind.OBJECT_CHANGED, message, each.stored.path, topic, first)


def _check_sections(local: Path, each: ObjectToCheck) -> Iterator[Finding]:
    try:
        file = pq.ParquetFile(local, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        for topic, section in each.sections:
            yield unreadable(topic, section, error)
        return
    with file:
        for topic, section in each.sections:
            yield from _check_section(file, topic, section)


def _check_section(file: pq.ParquetFile, topic: str, section: Section) -> Iterator[Finding]:
    try:
        found = content_of(read_table(file, section.row_group))
    except (OSError, pa.ArrowException, IndexError, KeyError) as error:
        yield unreadable(topic, section, error)
        return
    is_same = found.topics == {topic} and found.rises and found.ends == (section.first, section.last)
    if not is_same or found.records != section.records or found.digest != section.digest:
        said = (
            f"row group {section.row_group} of {section.object} has {found.records} records of {_names(found.topics)}"
        )
        message = f"{said}, and not the {section.records} of {topic} from offset {section.first} to {section.last}"
        yield Finding(Kind.SECTION_CHANGED, message, section.object, topic, section.first)


def _from(each: ObjectToCheck) -> str:
    if not each.sections:
        return ""
    topic, section = each.sections[0]
    return f": it has topic {topic} from offset {section.first} on"


def _names(topics: Iterable[str]) -> str:
    return " and ".join(sorted(topics)) or "nothing"
