"""Makes the plan of a restore from what is in the store; nothing of Kafka is asked."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import chain as joined

from sparkjob.errors import Refused
from sparkjob.wire.records import Record
from wal_backup.chain import StoredManifest
from wal_backup.check import ObjectToCheck, find_missing_objects, find_unnamed, objects_of
from wal_backup.decode import starts_of
from wal_backup.layout import chain_folder
from wal_backup.manifest import Manifest, Parent, RestorePoint
from wal_backup.parquet import Section
from wal_backup.restore.plan import Plan, Stretch, TopicPlan, find_stretch, plan_topic
from wal_backup.restore.request import Before, Ends, Latest, Needs, PlanRequest, Point, text_of
from wal_backup.restore.section_reader import SectionChanged, SectionReader
from wal_backup.restore.source import ChainBroken, find_source
from wal_backup.store import Store


def make_plan(store: Store, request: PlanRequest) -> Plan:
    """The plan of what is asked for; every manifest that it needs is read, and every object is there.

    Raises:
        ChainBroken: something in the store is not what was written.
        Refused: the backup does not have what is asked for.
        Interrupted: the store does not answer.
    """
    chain, path = find_source(store, request)
    folder = chain_folder(request.cluster_id, chain)
    objects = [each for stored in path for each in objects_of(folder, stored.manifest)]
    _require_whole(store, path, objects)
    manifests = [stored.manifest for stored in path]
    point = manifests[-1].restore_point if isinstance(request.target, Point) else None
    names, left_out = _choose(manifests, request)
    _require_none_is_missed(left_out, manifests, request, point)
    backups = [{topic.name: topic for topic in manifest.topics} for manifest in manifests]
    stretches = [find_stretch(backups, name) for name in names]
    try:
        with SectionReader(store, folder) as reader:
            ends = _ends(reader, stretches, request, manifests[-1].name)
    except SectionChanged as changed:
        raise ChainBroken([changed.finding]) from changed
    topics = tuple(
        plan_topic(stretch, end, request.pad_to.get(stretch.name, 0), _missing(stretch, request))
        for stretch, end in zip(stretches, ends, strict=True)
    )
    for topic in topics:
        _require_fit(topic, request.needs.get(topic.name) if point is None else _needs_of(topic, point))
    read = {section.object for topic in topics for section in topic.sections}
    needed = tuple(each for each in objects if each.stored.path in read)
    newest = Parent(manifests[-1].name, path[-1].digest)
    return Plan(request.cluster_id, chain, newest, topics, left_out, needed, point, starts_of(manifests))


def _missing(stretch: Stretch, request: PlanRequest) -> int:
    """What regions read of before the chain, as its backups say; the database knows better, and so does a point."""
    needs = request.needs.get(stretch.name)
    is_told = isinstance(request.target, Point) or (needs is not None and needs.reads_from is not None)
    return 0 if is_told or stretch.reads_from is None else max(0, stretch.start - stretch.reads_from)


def _needs_of(topic: TopicPlan, point: RestorePoint) -> Needs:
    """What the snapshot needs, whatever the database has by now: the logs end above all of it."""
    return Needs(point.reads_from.get(topic.name), topic.end)


def _require_fit(topic: TopicPlan, needs: Needs | None) -> None:
    """Refuses a log with which the database would miss rows, or skip new ones.

    Raises:
        Refused: it is one.
    """
    if needs is None:
        return
    if needs.reads_from is not None and topic.start > needs.reads_from:
        raise Refused(
            f"topic {topic.name} would begin at offset {topic.start}, and the database reads from {needs.reads_from}: "
            "rows would be missing; name another backup"
        )
    if topic.pad_end < needs.end:
        raise Refused(
            f"topic {topic.name} would end at offset {topic.pad_end}, and the database has entries up to "
            f"{needs.end - 1}: it would skip new rows when it replays; set padAboveFlushed"
        )


def _require_none_is_missed(
    left_out: tuple[str, ...], manifests: list[Manifest], request: PlanRequest, point: RestorePoint | None
) -> None:
    """Refuses to leave out a topic of which the chain has what the database reads, and its newest backup nothing.

    At a point, what the snapshot reads.

    Raises:
        Refused: there is one: Kafka had lost it, or did not answer for it, when that backup was made.
    """
    newest = manifests[-1].name
    for name in left_out:
        needs = request.needs.get(name) if point is None else Needs(point.reads_from.get(name), 0)
        older, end = next(
            (manifest.name, topic.end)
            for manifest in reversed(manifests)
            for topic in manifest.topics
            if topic.name == name
        )
        if needs is not None and needs.reads_from is not None and needs.reads_from < end:
            how = f": restore it from that one (spec.backup, spec.topics), and all others from {newest} by spec.topics"
            raise Refused(
                f"backup {newest} does not have topic {name}, which the database reads from {needs.reads_from}, and "
                f"{older} has it up to offset {end}{how if point is None else ''}"
            )


def _require_whole(store: Store, path: tuple[StoredManifest, ...], objects: list[ObjectToCheck]) -> None:
    findings = list(joined.from_iterable(find_unnamed(stored.manifest) for stored in path))
    findings += find_missing_objects(store, objects)
    if findings:
        raise ChainBroken(findings)


def _choose(manifests: list[Manifest], request: PlanRequest) -> tuple[list[str], tuple[str, ...]]:
    """The topics of the newest backup that are meant, and older ones that it does not have."""
    newest = {topic.name for topic in manifests[-1].topics}
    for pattern in request.topics:
        if not any(fnmatchcase(name, pattern) for name in newest):
            raise Refused(f"backup {manifests[-1].name} has no topic {pattern}")

    def is_meant(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in request.topics)

    chosen = sorted(filter(is_meant, newest))
    may_be = chosen if request.names is None else request.names
    for name in chosen:
        if name not in may_be:
            raise Refused(
                f"backup {manifests[-1].name} has topic {name}, which is none of those that may be restored: if the "
                "pool may have it, name it in spec.topics, or in padTo"
            )
    for name in request.pad_to:
        if name not in may_be:
            raise Refused(f"padTo names topic {name}, which is not restored")
    older = {topic.name for manifest in manifests for topic in manifest.topics} - newest
    return chosen, tuple(sorted(filter(is_meant, older)))


def _ends(reader: SectionReader, stretches: list[Stretch], request: PlanRequest, backup: str) -> list[int]:
    match request.target:
        case Latest() | Point():
            return [stretch.end for stretch in stretches]
        case Ends(offsets):
            return [_offset_of(stretch, offsets.get(stretch.name), backup) for stretch in stretches]
        case Before() as before:
            return _ends_before(reader, stretches, before, backup)


def _offset_of(stretch: Stretch, end: int | None, backup: str) -> int:
    if end is None:
        raise Refused(f"target.offsets does not say where topic {stretch.name} shall end")
    if not stretch.start <= end <= stretch.end:
        raise Refused(
            f"topic {stretch.name} cannot end at offset {end}: backup {backup} has its offsets from {stretch.start} "
            f"to {stretch.end}"
        )
    return end


def _ends_before(reader: SectionReader, stretches: list[Stretch], before: Before, backup: str) -> list[int]:
    newest = max((section.newest for stretch in stretches for section in stretch.sections), default=None)
    if newest is None or newest < before.milliseconds:
        until = "no record" if newest is None else f"records up to {text_of(newest)}"
        raise Refused(f"time {before} is not covered: backup {backup} has {until}; the target latest takes all")
    firsts = [_first_later(reader, stretch, before.milliseconds) for stretch in stretches]
    pairs = [pair for pair in zip(stretches, firsts, strict=True) if pair[0].sections]
    if all(first is not None and first.offset == stretch.sections[0].first for stretch, first in pairs):
        oldest = min(first.timestamp for first in firsts if first is not None)
        raise Refused(
            f"time {before} is not covered: backup {backup} has records from {text_of(oldest)} to {text_of(newest)}"
        )
    return [stretch.end if first is None else first.offset for stretch, first in zip(stretches, firsts, strict=True)]


def _first_later(reader: SectionReader, stretch: Stretch, milliseconds: int) -> Record | None:
    """The first record with a later timestamp."""
    later: Section | None = next((each for each in stretch.sections if each.newest > milliseconds), None)
    if later is None:
        return None
    return next(record for record in reader.read(stretch.name, later) if record.timestamp > milliseconds)
