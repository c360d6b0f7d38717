"""The invariants I1 to I6 of the design, judged on the world, never on what Seawall says of it.

What a move of the adversary destroys is written off when it is made: only what is lost later is the operator's doing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seawall.api.v1alpha1.hold import WALHold
from tests.fakes.kafka_log import FakeLog

if TYPE_CHECKING:  # it imports this module
    from tests.adversary.arena import Arena

Need = tuple[str, int, str, int]
"""Database, region, topic id and offset of a row."""
CHANGES = frozenset(
    {
        "delete_records",
        "delete_topics",
        "create_topics",
        "advance_markers",
        "claim",
        "write",
        "flush_regions",
        "replace_status",
        "set_finalizers",
        "create",
        "delete",
        "write_config_map",
        "delete_config_map",
        "evict",
        "set_partition",
        "set_config_hash",
        "set_maintenance",
    }
)
"""Calls after which the world is judged."""


class Violation(BaseException):
    """The operator broke an invariant. Not an Exception, so that nothing in the operator can catch it."""


@dataclass
class Judge:
    """Judges each change that the operator makes.

    Attributes:
        written_off: rows that the adversary destroyed, or that a person gave up.
        forbidden: calls that may change nothing any more, and why.
        unlicensed: topics of which nothing may go any more, and why.
        honest: by topic id, from where a replay that really was verified began; None: nothing is required.
        damaged: topics whose holds an adversary broke.
        beside: who else judges a call that changes something.
    """

    arena: Arena
    written_off: set[Need] = field(default_factory=set)
    markers: dict[tuple[str, str], int] = field(default_factory=dict)
    intents: dict[tuple[str, str], int] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    forbidden: dict[str, str] = field(default_factory=dict)
    unlicensed: dict[str, str] = field(default_factory=dict)
    honest: dict[str, int] | None = None
    damaged: set[str] = field(default_factory=set)
    beside: list[Callable[[str], None]] = field(default_factory=list)

    def moved(self) -> None:
        """The adversary made a move: what is lost now is its doing, and what rises does so from here."""
        self.written_off |= self.violated()
        self.markers, self.intents = self._markers(), self._intents()

    def wrote(self) -> None:
        """Databases wrote rows: one that is lost at once is lost by whoever made its topic."""
        lost = self.violated() - self.written_off
        skipped = {(each.name, *row) for each in self.arena.network.databases.values() for row in each.skipped}
        for name, region, topic_id, offset in sorted(lost | skipped):
            if topic_id in self.made:
                raise Violation(f"I1: row {offset} of region {region} ({name}) was written to a topic made anew")
        self.written_off |= lost

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call of the operator, and what it did."""
        if name == "maintenance_of":
            return self.guard(function(*args, **kwargs))
        if name not in CHANGES:
            return function(*args, **kwargs)
        before = self._all()
        try:
            return function(*args, **kwargs)
        finally:
            self._judge(name, before, args)

    def guard(self, port: Any) -> Any:
        """The same port, judged."""
        from tests.support.watched import watched  # noqa: PLC0415 - a cycle

        return watched(self, port)

    # --- what is true

    def violated(self) -> set[Need]:
        """Rows that a restart of their database would not find."""
        logs, found = self._logs(), set[Need]()
        for database in self.arena.network.databases.values():
            for region, rows in database.rows.items():
                unflushed = _unflushed(database, region, rows)
                replayed = {topic_id: _replayed(database, region, logs.get(topic_id)) for topic_id, _ in unflushed}
                found |= {(database.name, region, *row) for row in unflushed if row[1] not in replayed[row[0]]}
        return found

    def _judge(self, name: str, before: _Fingerprints, args: tuple[Any, ...]) -> None:
        after = self._all()
        if name == "create_topics":
            self.made |= after.logs.keys() - before.logs.keys()
        why = self.forbidden.get(name)
        if why is not None and before.acted(name) != after.acted(name):
            raise Violation(f"L: {name} although {why}")
        lost = self.violated() - self.written_off
        if lost:
            raise Violation(f"I1: after {name} {len(lost)} rows are lost, such as {min(lost)}")
        self._judge_what_rises()
        for each in self.beside:
            each(name)
        if name == "delete_records":
            self._judge_deletes(before, after)
            self._judge_followers(before.starts, after.starts, "deleted")
        if name == "advance_markers":
            self._judge_licences(before.markers, after.markers)
            was, now = _skipped_before(before.markers), _skipped_before(after.markers)
            self._judge_followers(was, now, "announced")
        if name == "replace_status" and isinstance(args[0], WALHold):
            self._judge_hold(args[0])

    def _judge_what_rises(self) -> None:
        for which, marker in self._markers().items():
            if marker < self.markers.get(which, marker):
                raise Violation(f"I2: marker {which} fell")
            self.markers[which] = marker
        for (topic, topic_id), intent in self._intents().items():
            if intent < self.intents.get((topic, topic_id), intent):
                raise Violation(f"I2: the intent of {topic} fell")
            self.intents[topic, topic_id] = intent

    def _judge_deletes(self, before: _Fingerprints, after: _Fingerprints) -> None:
        records = self.arena.records()
        self._judge_licences(before.starts, after.starts)
        for topic, start in after.starts.items():
            was, topic_id = before.starts.get(topic, 0), self.arena.kafka.topics[topic].log.topic_id
            if start <= was:
                continue
            self.deleted[topic_id] = start
            if topic not in records or records[topic].topic_id != topic_id or records[topic].intent < start:
                raise Violation(f"I4: {topic} is deleted to {start}, beyond its intent")
            if self.honest is not None and start > self.honest.get(topic_id, 0):
                raise Violation(f"G: {topic} is deleted to {start}, beyond what was verified")
            for hold, offset in self._granted(topic):
                if was <= offset < start:
                    raise Violation(f"H: {topic} is deleted to {start}, beyond hold {hold} at {offset}")

    def _judge_licences(self, before: dict[Any, int], after: dict[Any, int]) -> None:
        for which, value in after.items():
            topic = which if isinstance(which, str) else which[1]
            if topic in self.unlicensed and value != before.get(which):
                raise Violation(f"L: {which} moved to {value} although {self.unlicensed[topic]}")

    def _judge_followers(self, before: dict[str, int], after: dict[str, int], what: str) -> None:
        """No row from `before` on goes that a follower of its region lacks: it reads from its own position."""
        database, logs = self.arena.prod, self._logs()
        for (region, node), position in database.plane.followers.items():
            route = database.store._now.routes.get(region)
            if route is None or node not in route.followers:
                continue
            for topic_id, offset in database.rows.get(region, []):
                topic = logs[topic_id][0] if topic_id in logs else ""
                if offset > position and before.get(topic, 0) <= offset < after.get(topic, 0):
                    raise Violation(f"F: row {offset} of region {region} is {what}, and its follower is at {position}")

    def _judge_hold(self, before: WALHold) -> None:
        found = self.arena.kube.get(WALHold, before.metadata.key)
        if found is None:
            return
        for topic, offset in found.status.granted.items():
            known = self.arena.kafka.topics.get(topic)
            is_new = before.status.granted.get(topic) != offset
            if not is_new or known is None or not isinstance(offset, int) or topic in self.damaged:
                continue
            if offset < self.deleted.get(known.log.topic_id, 0):
                raise Violation(f"H: {topic} is granted from {offset}, which was deleted")
        if found.status.state == "Lost" and before.status.state != "Lost" and self._still_stands(before):
            raise Violation(f"H: hold {found.metadata.name} ends before its time")

    def _still_stands(self, hold: WALHold) -> bool:
        """Whether a hold that was granted has time left, and nothing was deleted beneath it."""
        spec: Any = hold.spec
        began = max(filter(None, (hold.metadata.creation_timestamp, spec.renew_time)))
        if hold.status.granted != spec.topics or self.arena.time.true() >= began + spec.ttl:
            return False
        starts = self.arena.log_starts()
        return all(topic not in self.damaged and starts.get(topic, 0) <= at for topic, at in spec.topics.items())

    def _granted(self, topic: str) -> list[tuple[str, int]]:
        if topic in self.damaged:
            return []
        holds = [each for each in self.arena.kube.list(WALHold).items if not (each.status.state or _OPEN).is_final]
        granted = [(each.metadata.name, each.status.granted.get(topic)) for each in holds]
        return [(name, at) for name, at in granted if isinstance(at, int)]

    def _all(self) -> _Fingerprints:
        return _Fingerprints(self._logs(), self.arena.log_starts(), self._markers())

    def _logs(self) -> dict[str, tuple[str, FakeLog]]:
        kafkas = {id(each.kafka): each.kafka for each in self.arena.network.databases.values()}.values()
        return {t.log.topic_id: (t.name, t.log) for kafka in kafkas for t in kafka.topics.values()}

    def _markers(self) -> dict[tuple[str, str], int]:
        return {
            (name, topic): marker.pruned_entry_id or 0
            for name, database in self.arena.network.databases.items()
            for topic, marker in database.store._now.topics.items()
        }

    def _intents(self) -> dict[tuple[str, str], int]:
        return {(topic, record.topic_id): record.intent for topic, record in self.arena.records().items()}


def _skipped_before(markers: dict[tuple[str, str], int]) -> dict[str, int]:
    """By topic of the database of the WALCluster, below which offset an opening by its marker skips."""
    return {topic: marker + 1 for (name, topic), marker in markers.items() if name == "prod"}


class _Open:
    is_final = False


_OPEN: Any = _Open()


@dataclass(frozen=True)
class _Fingerprints:
    logs: dict[str, tuple[str, FakeLog]]
    starts: dict[str, int]
    markers: dict[tuple[str, str], int]

    def acted(self, name: str) -> object:
        """What such a call changes."""
        return {"delete_records": self.starts, "advance_markers": self.markers}.get(name, self.logs.keys())


def _unflushed(database: Any, region: int, rows: list[tuple[str, int]]) -> list[tuple[str, int]]:
    state = database.plane.regions.get(region) or database.buried.get(region)
    metadata = database.store._now
    if state is None or (region not in metadata.wal_topics and region not in metadata.tombstoned_topics):
        return []
    return [row for row in rows if row[1] > state.flushed]


def _replayed(database: Any, region: int, found: tuple[str, FakeLog] | None) -> range:
    """The offsets that a restart would read: they are in the log, and above the marker and the checkpoint."""
    if found is None:
        return range(0)
    topic, log = found
    metadata = database.store._now
    marker, key = metadata.topics.get(topic), metadata.region_keys.get((topic, region))
    floor = max(marker.pruned_entry_id or 0 if marker else 0, key.checkpoint_entry_id or 0 if key else 0)
    return range(max(log.log_start, floor + 1), log.end)
