"""A subscription that hands rows on, with an adversary: the source keeps what is needed, and each row is there once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.adversary import subscriptions as mirrors
from tests.adversary.clocks import Clocks
from tests.adversary.judge import Violation
from tests.adversary.lives import Adversary, Move
from tests.adversary.subscriptions import CLUSTER, SUBSCRIPTION, TOPIC, SubscriptionReferee, edits
from tests.worlds.records_world import ROWS, SPEC, RecordsWorld
from tests.worlds.table_world import TableWorld

MANY = 12


@dataclass
class _Arena(RecordsWorld):
    """A world whose referee sees every change by itself, with a clock that adversaries set."""

    time: Clocks = field(default_factory=Clocks)
    others: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.referee = SubscriptionReferee(self)  # type: ignore[arg-type] # it is the same to it
        super().__post_init__()
        self.kube._now = self.spark.now = self.data_plane.now = self.time.true
        for topic in self.kafka.topics.values():
            topic.log.now = self.time.true

    def check(self, after: str = "") -> None:
        """Nothing beside what the referee judges."""


@dataclass
class RecordsArena(_Arena):
    """All that outlives a process."""

    def hand_on(self, topic: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any] | None:
        """A job must never be asked to write to a topic of the log, nor two topics to share their progress."""
        for output in ("rows", "progress"):
            if request["records"][output]["topic"].startswith("wal_"):
                is_log = request["records"][output]["topic"] in self.kafka.topics
                if is_log and request["target"]["clusterId"] == self.kafka.cluster_id:
                    raise Violation(f"W: rows go to {request['records'][output]['topic']}, which is of the log")
        return super().hand_on(topic, request)


@dataclass
class TableArena(_Arena, TableWorld):
    """The same, for rows that go to a bucket."""


def tabled() -> TableArena:
    """One whose rows go to a bucket, and that has handed all on; then rows are written."""
    arena = TableArena()
    arena.subscribe(tables={"include": ["public.*"]})
    arena.live(arena.is_even)
    arena.write(TOPIC, 30)
    arena.referee.jobs = set(arena.spark.specs)
    return arena


def begun() -> RecordsArena:
    """A subscription that nobody has observed yet."""
    arena = RecordsArena()
    arena.subscribe(tables={"include": ["public.*"]})
    return arena


def even() -> RecordsArena:
    """One that has handed all on; then rows are written."""
    arena = RecordsArena()
    arena.subscribe(tables={"include": ["public.*"]})
    arena.live(arena.is_even)
    arena.write(TOPIC, 30)
    arena.referee.jobs = set(arena.spark.specs)
    return arena


def hand_on(arena: RecordsArena, adversary: Adversary) -> None:
    """As a mirror lives."""
    mirrors.copy(arena, adversary)  # type: ignore[arg-type] # it is the same to it


# --- moves


def _progress(arena: RecordsArena) -> str | None:
    return next((name for name in arena.target.topics if name.endswith(".progress")), None)


def lose_rows(arena: RecordsArena) -> None:
    arena.target.topics.pop(ROWS, None)


def lose_progress(arena: RecordsArena) -> None:
    arena.target.topics.pop(_progress(arena) or "", None)


def recreate_progress(arena: RecordsArena) -> None:
    name = _progress(arena)
    if name is not None:
        arena.target.topics.pop(name)
        arena.target.add_topic(name, replicas=(1, 2, 3), partitions=3)


def forge_progress(arena: RecordsArena) -> None:
    """Somebody writes among the progress, of another writer."""
    name = _progress(arena)
    if name is not None:
        for number, (key, value) in list(arena.target.topics[name].newest.items()):
            forged = {**json.loads(value or b"{}"), "writer": "somebody", "position": 999, "readFrom": 999}
            arena.target.topics[name].newest[number] = key, json.dumps(forged).encode()


def progress_goes_back(arena: RecordsArena) -> None:
    """An unclean election: the newest of it is gone, and the rows of that transaction with it."""
    name = _progress(arena)
    if name is None:
        return
    topic = arena.target.topics[name]
    for number, (key, value) in list(topic.newest.items()):
        found = json.loads(value or b"{}")
        if found["writer"] == "somebody":
            continue
        back = {**found, "position": found["from"], "readFrom": found["from"]}
        topic.newest[number] = key, json.dumps(back).encode()
        arena.committed[topic.log.topic_id, found["topic"]] = back
        arena.gone_with_holes.add(found["topic"])
        arena.handed = [
            (log, generation, offset)
            for log, generation, offset in arena.handed
            if (log, generation) != (found["sourceTopicId"], found["generation"]) or offset < found["from"]
        ]


def _newest(arena: TableArena) -> str | None:
    """The last commit of a topic."""
    return max((name for name in arena.objects if f"/{TOPIC}/" in name), default=None)


def store_is_silent(arena: TableArena) -> None:
    arena.buckets.is_silent = True


def store_refuses(arena: TableArena) -> None:
    arena.buckets.refuses = "AccessDenied (Access Denied.)"


def store_is_well(arena: TableArena) -> None:
    arena.buckets.is_silent, arena.buckets.refuses = False, ""


def forge_commit(arena: TableArena) -> None:
    """Somebody writes beyond the chain, as another writer."""
    name = _newest(arena)
    if name is not None:
        forged = {**json.loads(arena.objects[name]), "writer": "somebody", "position": 999, "readFrom": 999}
        arena.objects[name[:-25] + f"{forged['number'] + 1:020}.json"] = json.dumps(forged).encode()


def forge_commit_of_another_topic(arena: TableArena) -> None:
    """A copy of another topic's commit, and further than this one's."""
    name = _newest(arena)
    if name is not None:
        forged = {**json.loads(arena.objects[name]), "topic": "wal_1", "position": 999, "readFrom": 999}
        arena.objects[name[:-25] + f"{forged['number'] + 1:020}.json"] = json.dumps(forged).encode()


def make_table(arena: RecordsArena) -> None:
    """A table with rows, which no run knows."""
    region = MANY << 32
    if region not in arena.data_plane.regions and TOPIC in arena.kafka.topics:
        arena.add_region(TOPIC, region, datanode=0)
        arena.store.put_table(MANY, "public", "many")
        arena.write(TOPIC, 6)


def drop_table(arena: RecordsArena) -> None:
    """The names of a table go before its rows do."""
    table = min(arena.store.tables, default=None)
    if table is not None:
        arena.store.drop_table(table)


def rename_table(arena: RecordsArena) -> None:
    """It is not selected by its new name."""
    table = min(arena.store.tables, default=None)
    if table is not None:
        arena.store.put_table(table, "private", "renamed")


def an_entry_stays_open(arena: RecordsArena) -> None:
    """What was read of it is needed until it is whole."""
    topic, needed = arena.kafka.topics.get(TOPIC), arena.needed_from().get(TOPIC)
    if topic is not None and needed is not None:
        arena.open_from.setdefault(TOPIC, max(needed, topic.log.end - 12))


def an_entry_is_whole(arena: RecordsArena) -> None:
    arena.open_from.clear()


def old_drivers_wake_up(arena: RecordsArena) -> None:
    """All that ever ran hands on once more, by its own request."""
    for request in arena.requests():
        arena.work_on(request)


def pool_grows(arena: RecordsArena) -> None:
    mirrors.pool_grows(arena)  # type: ignore[arg-type] # it is the same to it


def _move(make: Callable[[Any], object], *touches: str, name: str = "") -> Move:
    return Move(name or make.__name__, frozenset(touches), make)


OF_MIRRORS = frozenset(
    {
        *("lose_target_topic", "recreate_target_topic", "foreign_target_topic", "cut_target", "short_retention"),
        *("somebody_else_writes", "forget_producers", "forget_and_write", "target_is_source", "old_drivers_wake_up"),
        *("promote", "switch over", "pool_grows", "job_finds_a_difference", "recreate_subscription"),
    }
)
"""Moves that a subscription of rows does not know."""
OF_BOTH = frozenset(
    {"old_drivers_wake_up", "make_table", "drop_table", "rename_table", "pool_grows", "select everything"}
    | {"select others", "an_entry_stays_open", "an_entry_is_whole"}
)
OF_RECORDS = (
    *(move for move in mirrors.OF_SUBSCRIPTIONS if move.name not in OF_MIRRORS),
    *(_move(make, "kafka") for make in (lose_rows, lose_progress, recreate_progress, forge_progress)),
    *(_move(make, "kafka") for make in (progress_goes_back, an_entry_stays_open, an_entry_is_whole)),
    *(_move(make, "kafka") for make in (old_drivers_wake_up, make_table)),
    *(_move(make, "etcd") for make in (drop_table, rename_table)),
    _move(pool_grows, "kafka", CLUSTER),
    _move(edits(tables={"include": ["*"]}), SUBSCRIPTION, name="select everything"),
    _move(edits(tables={"include": ["private.*"]}), SUBSCRIPTION, name="select others"),
    _move(
        edits(sink={"records": {**SPEC["sink"]["records"], "deadLetters": "wal_dead"}}),
        SUBSCRIPTION,
        name="dead letters",
    ),
)
OF_TABLES = (
    *(move for move in OF_RECORDS if move.name in OF_BOTH),
    *(move for move in mirrors.OF_SUBSCRIPTIONS if move.name not in OF_MIRRORS | {"other_target", "target_is_silent"}),
    *(_move(make, "objects") for make in (store_is_silent, store_refuses, store_is_well)),
    *(_move(make, "objects") for make in (forge_commit, forge_commit_of_another_topic)),
)
