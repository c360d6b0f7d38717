"""What is to be planned and restored: the requests `plan.json` and `restore.json` of `contract/` as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sparkjob.errors import Refused
from sparkjob.fields import Fields
from sparkjob.kafka import Kafka, parse_kafka
from sparkjob.request_file import parse_json
from wal_backup.request import VERSION, Level, parse_chain_fields, parse_level
from wal_backup.store import Place

MANIFEST = ".json.gz"


@dataclass(frozen=True, slots=True)
class Latest:
    """All that the backup has."""


@dataclass(frozen=True, slots=True)
class Before:
    """Each topic up to its first record that is later: of no use as a cut across topics, whose clocks differ.

    Attributes:
        milliseconds: since 1970.
    """

    milliseconds: int

    def __str__(self) -> str:
        return text_of(self.milliseconds)


@dataclass(frozen=True, slots=True)
class Ends:
    """Each topic up to its offset, which is exclusive."""

    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Point:
    """All topics up to where the snapshot of that name was taken, of whichever backup has it."""

    name: str


Target = Latest | Before | Ends | Point


@dataclass(frozen=True, slots=True)
class Needs:
    """What the database has of a topic, and would read of it.

    Attributes:
        reads_from: the first offset that it would read; None: not known.
        end: above all that it has, exclusive.
    """

    reads_from: int | None
    end: int


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What of which backup shall be restored.

    Attributes:
        cluster_id: of the Kafka that was backed up.
        chain: None: the only one.
        backup: the name of its manifest; None: the newest of the chain.
        topics: names, or patterns with * and ?.
        pad_to: by topic, the offset at which its log shall end at least.
        names: the topics that may be restored, in an order by which the summary says which of them are; None: any.
        needs: by topic, what its log must fit; one that only older backups have is not left out if that is needed.
    """

    place: Place
    cluster_id: str
    chain: str | None
    backup: str | None
    target: Target
    topics: tuple[str, ...]
    pad_to: Mapping[str, int]
    names: tuple[str, ...] | None = None
    needs: Mapping[str, Needs] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """A plan that was approved, and the empty topics that it is written to.

    Attributes:
        plan_digest: of the plan that was approved.
        cluster_id: of the Kafka that is written to.
        topic_ids: by topic that is written to.
        into: by topic of the backup the topic that it is written to, where that is another one.
        level: what is proved beside that each record is what was backed up. The database's version as in a backup's
            request.
    """

    plan: PlanRequest
    plan_digest: str
    kafka: Kafka
    cluster_id: str
    topic_ids: Mapping[str, str]
    into: Mapping[str, str] = field(default_factory=dict)
    level: Level = Level.CHECKSUMS
    database_version: str | None = None


def parse_plan(content: bytes) -> PlanRequest:
    """Reads the request of a plan.

    Raises:
        Refused: it is none that this program can work on.
    """
    return _plan(parse_json(content))


def parse_restore(content: bytes) -> RestoreRequest:
    """Reads the request of a restore. Raises as `parse_plan`."""
    fields = parse_json(content)
    fields.check_version(VERSION)
    kafka = parse_kafka(fields.object("kafka"))
    if kafka.cluster_id is None:
        raise Refused("request.kafka.clusterId is missing: a restore must say which Kafka it writes to")
    rows = list(fields.objects("topics"))
    names = [row.text("name") for row in rows]
    targets = [row.text_or_none("into") or name for row, name in zip(rows, names, strict=True)]
    if len(set(names)) < len(names) or len(set(targets)) < len(targets):
        raise Refused("the request names a topic twice")
    is_told = fields.members.get("verify") is not None
    return RestoreRequest(
        _plan(fields.object("plan")),
        fields.text("planDigest"),
        kafka,
        kafka.cluster_id,
        {target: row.text("topicId") for row, target in zip(rows, targets, strict=True)},
        {name: target for name, target in zip(names, targets, strict=True) if name != target},
        parse_level(fields, "verify", (Level.CHECKSUMS, Level.INTEGRITY)) if is_told else Level.CHECKSUMS,
        fields.text_or_none("databaseVersion"),
    )


def text_of(milliseconds: int) -> str:
    """A record's time, for people."""
    try:
        time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError):
        return f"{milliseconds} ms after 1970"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plan(fields: Fields) -> PlanRequest:
    fields.check_version(VERSION)
    whose, backup = parse_chain_fields(fields), fields.text_or_none("backup")
    if backup is not None and ("/" in backup or not backup.endswith(MANIFEST)):
        raise Refused(f"{fields.where}.backup is {backup!r}: a manifest's name ends in {MANIFEST}")
    topics = fields.texts("topics")
    if not topics:
        raise Refused(f"{fields.where}.topics is empty")
    pad_to = fields.object_or_none("padTo")
    names = fields.texts("names") if fields.members.get("names") is not None else None
    return PlanRequest(
        whose.place,
        whose.cluster_id,
        whose.chain,
        backup,
        _target(fields.object("target")),
        topics,
        {} if pad_to is None else {topic: pad_to.number(topic) for topic in pad_to.members},
        names,
        _needs(fields),
    )


def _needs(fields: Fields) -> dict[str, Needs]:
    given = fields.object_or_none("needs")
    if given is None:
        return {}
    rows = {topic: given.object(topic) for topic in given.members}
    return {topic: Needs(row.number_or_none("readsFrom"), row.number("end")) for topic, row in rows.items()}


def _target(fields: Fields) -> Target:
    given = [name for name in ("latest", "time", "offsets", "point") if fields.members.get(name) is not None]
    match given:
        case ["latest"] if fields.flag("latest"):
            return Latest()
        case ["time"]:
            return Before(_milliseconds(fields))
        case ["offsets"]:
            ends = fields.object("offsets")
            return Ends({topic: ends.number(topic) for topic in ends.members})
        case ["point"]:
            return Point(fields.text("point"))
    raise Refused(f"{fields.where} must have one of latest: true, time, offsets and point")


def _milliseconds(fields: Fields) -> int:
    text = fields.text("time")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise Refused(f"{fields.where}.time is {text!r}, and no time of RFC 3339, as 2026-11-24T18:30:00Z")
    whole = time.astimezone(UTC) - datetime.fromtimestamp(0, UTC)
    return (whole.days * 86_400 + whole.seconds) * 1000 + whole.microseconds // 1000
