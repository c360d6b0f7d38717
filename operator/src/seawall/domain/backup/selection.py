"""Which topics a backup copies, from where and to where.

A full backup begins where a region would begin to read that is created tomorrow: its chain must fit the regions that
there are when it is needed. Where that is not known it begins at the start of the log, because too much harms nobody;
and a region of which nobody knows where it would begin to read counts as one that reads all of it: all must decode.
An incremental one begins where its parent ended, in the same log, or the chain is over. So it is where a region reads
from before the chain: it could not be restored, however many backups continued it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from seawall.api.v1alpha1.backup import BackedUpTopic
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.ledger.observation import Observation
from seawall.domain.ledger.reasons import Reason
from seawall.domain.spark_job.selection import PASSING, Selection, TopicRange, Topics

UNREADABLE = frozenset({Reason.FENCE_BROKEN, Reason.OFFSETS_UNKNOWN, Reason.COMPACTED, Reason.INTENTS_UNREADABLE})
"""Why a topic is not copied: the log is not the one that the database wrote, or cannot be held."""


@dataclass(frozen=True, slots=True)
class BackupSelection:
    """What is copied, and where the chain ends.

    Attributes:
        topics: what is copied, what is idle, and what is left out.
        waits_for: by topic what may pass by itself; a full backup is smaller when it has passed.
        break_: why no incremental backup can continue the parent, in one clause; None: one can.
        unsure: by topic why nobody knows now what a region would read of it that is created later.
        fallen: that a snapshot may need more of a topic than was recorded before it, in one clause; None: it does not.
        beyond_replay: topics of which the log begins beyond what a region reads, or may where a region does not say
            what it reads: only older chains may have the rest.
        silent: the first such topic, and the region of it that does not say, in one clause; None: all say.
    """

    topics: Selection
    waits_for: Mapping[str, Reason]
    unsure: Mapping[str, Reason] = field(default_factory=dict)
    break_: str | None = None
    fallen: str | None = None
    beyond_replay: int = 0
    silent: str | None = None


def names_of_pool(observation: Observation, declared: TopicsSpec) -> set[str]:
    """The pool's topics, those beyond its count as well: that are there, or that Kafka lost under regions."""
    inputs = observation.assessment.inputs.without_dead()
    written = (inputs.topics.names[row] for row in set(inputs.regions.topic.tolist()))
    lost = (name for name in written if declared.index_of(name) is not None)  # any other is another pool's
    return {*declared.topic_names(), *observation.topics, *lost}


def select(
    observation: Observation,
    wanted: Collection[str],
    parent: Mapping[str, BackedUpTopic],
    bracketed: Mapping[str, int] | None,
) -> BackupSelection:
    """Sorts the topics that are wanted, and those of the pool that are there beside them.

    Args:
        observation: of the ledger.
        wanted: the topics that the spec selects; of those that Kafka does not have the offsets are unknown.
        parent: the topics of the backup that is continued.
        bracketed: of a restore point the offsets from which on its topics are needed, as soon as they are recorded;
            topics that no region writes to are copied as well then. None: it makes none.
    """
    topics = Topics(observation, lambda name: name in wanted)
    left = topics.against(UNREADABLE) | dict.fromkeys(set(wanted) - topics.rows.keys(), Reason.OFFSETS_UNKNOWN)
    breaks = [why for name, row in parent.items() if (why := _break(topics, row, left.get(name)))]
    others = () if bracketed is not None else (name for name in topics.rows if name not in left and name not in parent)
    idle = tuple(filter(topics.is_idle, others))
    read = [name for name in topics.rows if name not in left and name not in idle]
    needed = bracketed or {}
    found = [_range(topics, name, parent.get(name), needed.get(name)) for name in read]
    new = {name: why for name, why in topics.against(PASSING).items() if name not in parent}
    waits = new | {name: why for name, why in left.items() if why in PASSING}
    known = {name: why for name, why in waits.items() if name in topics.rows}
    selection = Selection(tuple(found), idle, left, watched_too_briefly=topics.is_young(known))
    unsure = {name: why for name in read if (why := topics.why_first_read_unknown(name)) is not None}
    fallen, beyond = _first_fallen(topics, read, needed), topics.against({Reason.LOG_START_BEYOND_REPLAY})
    silent = {name: region for name in topics.rows if (region := topics.may_read_before_log(name)) is not None}
    first = next((f"topic {name}, region {region}" for name, region in silent.items()), None)
    count = len(beyond.keys() | silent.keys())
    return BackupSelection(selection, waits, unsure, breaks[0] if breaks else None, fallen, count, first)


def find_fallen(observation: Observation, bracketed: Mapping[str, int]) -> str | None:
    """That a snapshot of now may need more of a topic than was recorded before it, in one clause; None: it does not."""
    topics = Topics(observation, lambda name: name in bracketed)
    left = topics.against(UNREADABLE)
    return _first_fallen(topics, (name for name in topics.rows if name not in left), bracketed)


def _first_fallen(topics: Topics, names: Iterable[str], needed: Mapping[str, int]) -> str | None:
    return next((why for name in names if (why := _fallen(topics, name, needed.get(name))) is not None), None)


def _fallen(topics: Topics, name: str, needed: int | None) -> str | None:
    """Why a snapshot of now may need more than what was recorded before it was begun; None: it does not.

    Markers only rise, but where the metadata were restored from an older copy, and nobody noticed, or a person said
    that they are right.
    """
    if needed is None or max(_first_kept(topics, name), topics.marker(name) + 1) >= needed:
        return None
    return (
        f"the pruned marker of topic {name} went back to {topics.marker(name)}, and the log was held from {needed} on: "
        "the metadata are an older copy"
    )


def _first_kept(topics: Topics, name: str) -> int:
    """Below it a delete may be under way, and cannot be held off."""
    return max(topics.log(name).log_start or 0, topics.intent(name))


def _break(topics: Topics, parent: BackedUpTopic, against: Reason | None) -> str | None:
    """Why a topic does not go on where its parent ended; None: it does, or that is not known now."""
    name = parent.name
    if name not in topics.rows:
        return f"topic {name}, which the parent has, is not there any more, or not selected"
    if against is not None and against not in PASSING:
        return f"topic {name}: {against}"
    return _break_in_log(topics, parent)


def _break_in_log(topics: Topics, parent: BackedUpTopic) -> str | None:
    name, log = parent.name, topics.log(parent.name)
    if log.topic_id is None or log.log_start is None or log.high_watermark is None:
        return None
    if log.topic_id != parent.topic_id:
        return f"topic {name} was made again since: its id is {log.topic_id}, and was {parent.topic_id}"
    if log.log_start > parent.end:
        return f"records of topic {name} from {parent.end} to {log.log_start} were deleted before they were backed up"
    if log.high_watermark < parent.end:
        return f"topic {name} was backed up to offset {parent.end}, and ends at {log.high_watermark}: it lost its tail"
    return _break_before(topics, name, parent.chain_start)


def _break_before(topics: Topics, name: str, chain_start: int | None) -> str | None:
    """That a region reads what the log has and the chain has not: its marker, or what reads it, is an older one."""
    read = topics.lowest_read(name)
    if chain_start is None or read is None or (needed := max(_first_kept(topics, name), read)) >= chain_start:
        return None
    return f"topic {name} is read from {needed} on, and the chain begins at {chain_start}"


def _range(topics: Topics, name: str, parent: BackedUpTopic | None, needed: int | None) -> TopicRange:
    log = topics.log(name)
    if log.topic_id is None or log.log_start is None or log.high_watermark is None:
        raise ValueError(f"topic {name} has no offsets, and the ledger says nothing against it")
    start = _first_kept(topics, name)
    first_read = max(start, topics.first_read(name))
    if parent is not None:
        start = parent.end
    elif needed is not None:  # that is held, whatever is known of its regions meanwhile
        start = max(start, needed)
    elif topics.regions(name):
        start = first_read
    end = log.high_watermark
    start = min(start, end)
    chain_start = start if parent is None else parent.chain_start
    regions = topics.regions_at_most(name, start)
    return TopicRange(name, log.topic_id, log.log_start, start, end, regions, first_read, chain_start)
