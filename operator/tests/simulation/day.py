"""The outside of a simulated day: that of the adversary's rolls, with a workload, and Kubernetes that tidies up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from seawall.api.meta import MAINTENANCE_FINALIZER, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.api.v1alpha1.policy import WALPurgePolicy
from tests.adversary.judge import Violation
from tests.adversary.roll import RollArena
from tests.fakes.kafka import FakeKafka
from tests.fakes.kafka_moves import advance
from tests.simulation.backups import Backups
from tests.simulation.mirror import Mirror
from tests.worlds import reassignment_world, restart_world
from tests.worlds.purge_world import NAMESPACE, SPEC, WAL

KINDS = {each.KIND.kind: each for each in RESOURCES}
HISTORY = 12
"""How many rows of a region are remembered that it has flushed: a manifest of before may come back."""
BROKERS = 4
SAFETY = {"staleAfter": "15s", "openGrace": "25s"}
"""Short, so that a run ends within the time in which much happens."""
EVERY = {**SPEC, "safety": SAFETY, "interval": "40s"}


@dataclass
class Day(RollArena):
    """All that outlives a process.

    Attributes:
        random: what databases do by chance.
        acknowledged: how many rows were.
        mirrors: whether there is a subscription.
        backs_up: whether there is a policy of backups.
        is_excused: the adversary itself broke what is checked of replicas.
        damaged_by: moves after which not everything can be as declared.
        is_at_rest: the database writes no more.
    """

    kafka: FakeKafka = field(default_factory=lambda: FakeKafka(brokers=BROKERS))
    random: Random = field(default_factory=Random)
    mirrors: bool = True
    backs_up: bool = True
    mirror: Mirror = field(init=False)
    backups: Backups = field(init=False)
    most: int = 2
    unthrottled_is_fine: bool = False
    acknowledged: int = 0
    is_excused: bool = False
    damaged_by: list[str] = field(default_factory=list)
    is_at_rest: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, database in enumerate(self.network.databases.values()):
            database.store._now = replace(database.store._now, store_id=f"etcd/{number}/")
        self.pin()
        plane = {**self.cluster_spec["dataPlane"], "walConfig": {"configMapName": "walconfig"}}
        self.edit(
            dataPlane=plane,
            reassignment={"maxConcurrentPartitions": self.most, "throttleBytesPerSecond": "1Mi"},
        )
        self.kube.apply(Key(NAMESPACE, "every"), EVERY, kind=WALPurgePolicy)
        self.mirror, self.backups = Mirror(self), Backups(self)
        self.referee.moved()
        self.referee.beside = [self.check_pods, self.watch_lease, self.check_replicas, self.check_maintenance]
        self.referee.beside += [self.mirror.check, self.backups.check]

    # --- what databases, Kafka and Kubernetes do

    def step(self) -> None:
        """They go on."""
        self.kube.deletes_at = self.time.time
        self.note()
        for number in range(restart_world.DATANODES):
            self._go_on(number)
        self._roll_by_kubernetes()
        advance(self.kafka, 1)
        if not self.is_at_rest:
            self.work(self.random.randrange(1, 9))
        if self.auto_prune == "Logical":
            for database in self.network.databases.values():
                database.prune_logically()
            self.referee.moved()
        self.run_spark()
        self.collect_garbage()

    def _end(self, key: Key) -> None:
        """An application that runs gets on, and may end."""
        try:
            if not self.mirror.work(key):
                super()._end(key)
        except AssertionError as error:
            raise Violation(f"S: a job: {error}") from error

    def work(self, rows: int = 8) -> None:
        """The database of the WALCluster writes, and flushes some regions."""
        before = sum(map(len, self.prod.rows.values()))
        for topic in self.prod.store._now.topics:
            self.prod.write(topic, rows)
            if self.random.random() < 0.3:
                self._flush(topic, self.random.randrange(3))
        self.acknowledged += sum(map(len, self.prod.rows.values())) - before
        self.referee.wrote()
        self._forget_rows()

    def _flush(self, topic: str, but: int) -> None:
        """By itself: that its frontend is silent does not hinder it."""
        regions = [region for region in self.prod.regions_of(topic) if region in self.prod.plane.regions]
        for region in regions[: len(regions) - but]:
            self.prod.plane._flush(region)

    def _forget_rows(self) -> None:
        """What was flushed long ago is no row that a restart needs, whatever manifest comes back."""
        for region, rows in self.prod.rows.items():
            state = self.prod.plane.regions.get(region)
            if state is None or len(rows) < 2 * HISTORY:
                continue
            flushed = sum(offset <= state.flushed for _, offset in rows)
            del rows[: max(0, flushed - HISTORY)]

    def collect_garbage(self) -> None:
        """What belongs to an object that is gone goes, too."""
        objects = self.kube._objects
        uids = {raw["metadata"]["uid"] for raw in objects.values()}
        for (kind, key), raw in list(objects.items()):
            owners = raw["metadata"].get("ownerReferences", ())
            if (
                owners
                and "deletionTimestamp" not in raw["metadata"]
                and all(each["uid"] not in uids for each in owners)
            ):
                self.kube.remove(key, KINDS[kind])
        for key, found in self.kube.config_maps().items():
            if found.controller_uid is not None and found.controller_uid not in uids:
                self.kube.remove_config_map(key)
        for application in list(self.spark.applications.values()):
            if application.controller_uid not in uids:
                self.spark.delete(application)

    # --- what is true

    def check_replicas(self, call: str = "") -> None:
        """Writes go on, no more moves than allowed, nothing is copied without a throttle."""
        is_new = any(topic.views_until_led for topic in self.kafka.topics.values())  # and nobody leads it yet
        if self.is_excused or is_new or call not in reassignment_world.CHANGES:
            return
        try:
            reassignment_world.World.check(self, call)  # type: ignore[arg-type]  # it has what that needs
        except AssertionError as error:
            raise Violation(f"R: {error}") from error

    def check_maintenance(self, call: str = "") -> None:
        """Maintenance that is on is in the status, under a finalizer: whoever comes next gives it back."""
        if self.damaged_by or call not in restart_world.CHANGES or not self.data_plane.maintenance:
            return
        found = self.found_cluster()
        status = None if found is None else found.status.restart
        if found is None or status is None or status.maintenance is None:
            raise Violation("M: maintenance is on, and nobody knows that")
        if MAINTENANCE_FINALIZER not in found.metadata.finalizers:
            raise Violation("M: maintenance may outlive the WALCluster")

    def excuse(self) -> None:
        """What is wrong with replicas and copies now is not the operator's doing."""
        self.mirror.excuse()
        try:
            self.check_replicas("reassign")
        except Violation:
            self.is_excused = True

    def found_cluster(self) -> WALCluster | None:
        """The WALCluster, if there is one."""
        return self.kube.get(WALCluster, WAL)

    def topics_of_pool(self) -> tuple[str, ...]:
        """The topics that the spec declares."""
        return tuple(f"wal_{number}" for number in range(self.cluster_spec["topics"]["count"]))
