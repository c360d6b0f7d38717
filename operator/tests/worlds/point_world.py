"""A world for restore points: that of the backups, with a person who takes snapshots of the database in brackets.

A snapshot takes its time, and the database goes on meanwhile: of each region the flushed id may be of any moment
between its beginning and its end, and so may the markers. The worst that may be in it is what is checked.
"""

from __future__ import annotations

import json
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


@dataclass(frozen=True)
class Snapshot:
    """The files and the metadata of the database.

    Attributes:
        needs: by topic the first offset that it may read, and the last entry that it may have.
    """

    needs: dict[str, tuple[int, int]]


@dataclass
class PointWorld(BackupWorld):
    """All that outlives a process.

    Attributes:
        snapshots: by WALBackup the snapshot that was taken.
        begun: by WALBackup what the database read first and had when the person began.
        takes: whether there is somebody who takes snapshots.
        busy: what else happens while the first one is taken.
    """

    snapshots: dict[Key, Snapshot] = field(default_factory=dict)
    begun: dict[Key, Snapshot] = field(default_factory=dict)
    takes: bool = True
    is_busy: bool = True
    auto_prune: str = "Logical"

    def run_spark(self) -> None:
        """What the outside does between two ticks: people, too."""
        for backup in self.kube.list(WALBackup, NAMESPACE).items if self.takes else ():
            self._take(backup)
        super().run_spark()

    def _take(self, backup: WALBackup) -> None:
        found, key = find_condition(backup.status.conditions, ConditionType.BRACKETED), backup.metadata.key
        if found is None or found.status != "True" or key in self.snapshots:
            return
        if key not in self.begun:
            self.begun[key] = self.database()
            return
        if self.is_busy:
            self.live_on()
        before, after = self.begun[key].needs, self.database().needs
        needs = {name: (min(before[name][0], after[name][0]), after[name][1]) for name in after}
        self.snapshots[key] = Snapshot(needs)
        raw = self.kube._objects[("WALBackup", key)]["spec"]
        self.kube.apply(key, raw, kind=WALBackup, annotations={SNAPSHOT_ANNOTATION: NAME})

    def live_on(self) -> None:
        """The database writes, flushes, moves its markers, and creates a region that has flushed nothing."""
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

    def database(self) -> Snapshot:
        """What is in its files and its metadata right now."""
        snapshot, needs = self.store.snapshot(), dict[str, tuple[int, int]]()
        for topic in TOPICS:
            marker = snapshot.topics[topic].pruned_entry_id or 0
            regions = [self.data_plane.regions[region] for name, region in snapshot.region_keys if name == topic]
            needs[topic] = marker + 1, max((region.flushed for region in regions), default=0)
        return Snapshot(needs)

    def check(self, after: str = "") -> None:
        """A point that is said to be one has all that its snapshot may need."""
        super().check(after)
        wrong = self.wrong_with_points()
        assert wrong is None, f"{wrong}, after {after}"

    def wrong_with_points(self) -> str | None:
        """What is missing of a point; None: nothing."""
        for backup in self.kube.list(WALBackup, NAMESPACE).items:
            if backup.status.stage is not JobStage.COMPLETED or backup.status.restore_point is None:
                continue
            taken, name = self.snapshots.get(backup.metadata.key), backup.metadata.name
            if taken is None or backup.status.restore_point.snapshot != NAME:
                return f"{name} is a point, and nobody has taken its snapshot"
            logs = self.logs_of(backup)
            for topic, (first, last) in taken.needs.items():
                found = logs.get(topic)
                if found is None or found[0] > first or found[1] <= last:
                    return f"the snapshot of {name} needs {first} to {last} of {topic}, and the backup has {found}"
        return None

    def logs_of(self, backup: WALBackup) -> dict[str, tuple[int, int]]:
        """By topic what its chain has up to it."""
        if backup.status.manifest is None:
            return {}
        chain, found = backup.status.chain or "", dict[str, tuple[int, int]]()
        body = json.loads(self.stored[chain, backup.status.manifest.name])
        for topic, (_, start, end) in body["topics"].items():
            found[topic] = start, end
        while body["parent"] is not None:
            body = json.loads(self.stored[chain, body["parent"]["name"]])
            for topic, (_, start, _) in body["topics"].items():
                if topic in found:
                    found[topic] = start, found[topic][1]
        return found

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
