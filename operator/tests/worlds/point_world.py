"""A world for restore points: that of the backups, with a person who takes snapshots of the database in brackets.

A snapshot takes its time, and the database goes on meanwhile: of each region the flushed id may be of any moment
between its beginning and its end, and so may the markers. The worst that may be in it is what is checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import SNAPSHOT_ANNOTATION, ConditionType, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.conditions import find_condition
from seawall.reconciler import Reconciler
from tests.worlds.backup_world import FULL, BackupWorld
from tests.worlds.purge_world import NAMESPACE, TOPICS

BRACKET: dict[str, Any] = {"name": "before-upgrade", "timeout": "1h"}
NAME = "s3://snapshots/1"
BORN = 1024 << 32 | 9
"""A region that is created while the snapshot is taken."""


Needs = dict[str, tuple[int, int]]
"""By topic the first offset that files and metadata of the database may read, and the last entry that they may have."""


@dataclass
class Snapshots:
    """A person who takes snapshots of a world's database whenever a backup says that it may be done.

    Attributes:
        taken: by UID of a WALBackup what its snapshot needs.
        begun: by UID what the database needed when the person began.
        meanwhile: what the database does while a snapshot is taken.
    """

    world: BackupWorld
    meanwhile: Callable[[], None]
    taken: dict[str, Needs] = field(default_factory=dict)
    begun: dict[str, Needs] = field(default_factory=dict)

    def work(self) -> None:
        """Begins those that may be taken, and takes those that were begun."""
        for backup in self.world.kube.list(WALBackup, NAMESPACE).items:
            self._take(backup)

    def _take(self, backup: WALBackup) -> None:
        found, uid = find_condition(backup.status.conditions, ConditionType.BRACKETED), backup.metadata.uid
        if found is None or found.status != "True" or uid in self.taken:
            return
        if uid not in self.begun:
            self.begun[uid] = self.needs()
            return
        self.meanwhile()
        before, after = self.begun[uid], self.needs()
        self.taken[uid] = {name: (min(before[name][0], after[name][0]), after[name][1]) for name in after}
        raw = self.world.kube._objects[("WALBackup", backup.metadata.key)]["spec"]
        annotations = {**backup.metadata.annotations, SNAPSHOT_ANNOTATION: NAME}
        self.world.kube.apply(backup.metadata.key, raw, kind=WALBackup, annotations=annotations)

    def needs(self) -> Needs:
        """What is in files and metadata right now, of logs that are there."""
        snapshot, found = self.world.store._now, Needs()
        for topic, log in ((name, each.log) for name, each in self.world.kafka.topics.items()):
            marker = snapshot.topics[topic].pruned_entry_id or 0
            regions = [region for name, region in snapshot.region_keys if name == topic]
            flushed = [self.world.data_plane.regions[region].flushed for region in regions]
            found[topic] = max(marker + 1, log.log_start), max(flushed, default=0)
        return found

    def wrong_with_points(self) -> str | None:
        """What is missing of a point that is said to be one; None: nothing."""
        for backup in self.world.kube.list(WALBackup, NAMESPACE).items:
            point, name = backup.status.restore_point, backup.metadata.name
            if backup.status.stage is not JobStage.COMPLETED or point is None:
                continue
            if backup.metadata.uid not in self.taken or point.snapshot != NAME:
                return f"{name} is a point, and nobody has taken its snapshot"
            logs = logs_of(self.world, backup)
            for topic, (first, last) in self.taken[backup.metadata.uid].items():
                has = logs.get(topic)
                if has is None or has[0] > first or has[1] <= last:
                    return f"the snapshot of {name} needs {first} to {last} of {topic}, and the backup has {has}"
        return None


def logs_of(world: BackupWorld, backup: WALBackup) -> dict[str, tuple[int, int]]:
    """By topic what the chain of a backup has up to it."""
    if backup.status.manifest is None:
        return {}
    chain, found = backup.status.chain or "", dict[str, tuple[int, int]]()
    body = json.loads(world.stored[chain, backup.status.manifest.name])
    for topic, (_, start, end) in body["topics"].items():
        found[topic] = start, end
    while body["parent"] is not None:
        body = json.loads(world.stored[chain, body["parent"]["name"]])
        for topic, (_, start, _) in body["topics"].items():
            if topic in found:
                found[topic] = start, found[topic][1]
    return found


@dataclass
class PointWorld(BackupWorld):
    """All that outlives a process.

    Attributes:
        takes: whether there is somebody who takes snapshots.
        is_busy: whether the database goes on while the first one is taken.
    """

    takes: bool = True
    is_busy: bool = True
    auto_prune: str = "Logical"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.people = Snapshots(self, self.live_on)

    def run_spark(self) -> None:
        """What the outside does between two ticks: people, too."""
        if self.takes:
            self.people.work()
        super().run_spark()

    def live_on(self) -> None:
        """The database writes, flushes, moves its markers, and creates a region that has flushed nothing."""
        if not self.is_busy:
            return
        for topic in TOPICS:
            self.write(topic, 6)
        for region in list(self.data_plane.regions):
            self.flush(region)
        if BORN not in self.data_plane.regions:
            self.add_region(TOPICS[0], BORN, datanode=0)
            self.data_plane.regions[BORN].flushed = 0
        for topic in TOPICS[1:]:
            self.store.put_topic(topic, 45)
        for topic in TOPICS:
            self.write(topic, 2)

    def check(self, after: str = "") -> None:
        """A point that is said to be one has all that its snapshot may need."""
        super().check(after)
        wrong = self.people.wrong_with_points()
        assert wrong is None, f"{wrong}, after {after}"

    def settle_bracket(self, key: Key = FULL, process: Reconciler[Any, Any, Any, Any] | None = None) -> WALBackup:
        """Ticks until the snapshot may be taken."""
        process, taken = process or self.backer(), self.takes
        self.takes = False
        for _ in range(100):
            found: WALBackup = self.settle_backup(key, process, ticks=1)
            condition = find_condition(found.status.conditions, ConditionType.BRACKETED)
            if condition is not None and condition.status == "True":
                self.takes = taken
                return found
        raise AssertionError(f"it is not held: {self.walbackup(key)}")

    def wait(self, seconds: float, process: Reconciler[Any, Any, Any, Any], key: Key = FULL) -> WALBackup:
        """Time goes by."""
        self.time.time += timedelta(seconds=seconds)
        found: WALBackup = self.settle_backup(key, process, ticks=1)
        return found
