"""A world for reassignments, on the in-memory ports: a Kafka whose replicas catch up while the operator waits.

Both controllers of WALClusters work in it, because they depend on each other: min.insync.replicas is the one's, the
replicas are the other's. After every call that changes something, and after every replica that arrives, it is checked
that acknowledged writes go on, that no more is on its way than allowed, and that nothing is copied without a throttle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.reassignment import ReplicationController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.partitions import NO_RATES, PartitionId
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.partitions import PartitionObserver
from seawall.ports import DataPlaneParts
from seawall.reconciler import Outcome, Reconciler, Ticked
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kafka_moves import advance
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.fakes.strimzi import FakeStrimzi
from tests.support.clock import Time
from tests.support.worlds import Unwatched, edit_annotations

WAL = Key("db", "wal")
START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
TOPICS = tuple(f"wal_{number}" for number in range(6))
MAX_ROUNDS = 400
ROUND_SECONDS = 2.0
KAFKA_CHANGES = frozenset({"alter_configs", "alter_throttles", "reassign", "elect_preferred_leaders", "create_topics"})
SERVERS = ("kafka:9092", "wal-1.db.svc:9092")
MANAGED = {
    "managed": {
        "version": "4.3.1",
        "security": {"insecure": True},
        "nodePools": [
            {
                "name": "controllers",
                "roles": ["controller"],
                "firstId": 100,
                "replicas": 1,
                "storage": {"size": "1Gi"},
            },
            {"name": "brokers", "roles": ["broker"], "firstId": 0, "replicas": 5, "storage": {"size": "1Gi"}},
        ],
    }
}
CHANGES = KAFKA_CHANGES | {"write_config_map", "set_finalizers", "replace_status"}


@dataclass
class World:
    """All that outlives a process.

    Attributes:
        replicas: of topic `wal_<n>`, by n.
        is_managed: Seawall runs this Kafka.
        pace: how many partitions get on while the operator waits once; 0: nothing arrives.
        lines: what happened, as people and Kafka see it.
    """

    replicas: Callable[[int], tuple[int, ...]] = lambda number: (number % 3 + 1,)
    brokers: int = 4
    pace: int = 2
    time: Time = field(default_factory=lambda: Time(START))
    lines: list[str] = field(default_factory=list)
    unthrottled_is_fine: bool = False
    most: int = 2
    annotations: dict[str, str] = field(default_factory=dict)
    meters: FakeMeters = field(default_factory=FakeMeters)
    topics: dict[str, Any] = field(default_factory=dict)
    reassignment: dict[str, Any] = field(default_factory=dict)
    internal_topics: dict[str, Any] = field(default_factory=dict)
    is_managed: bool = False
    strimzi: FakeStrimzi = field(default_factory=FakeStrimzi)
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)
    _is_reached: bool = False

    def __post_init__(self) -> None:
        self.kafka = FakeKafka(brokers=self.brokers)
        self.kube = FakeKube(self.time.now)
        for number, name in enumerate(TOPICS):
            topic = self.kafka.add_topic(name, replicas=self.replicas(number))
            topic.log.append(100)
        self.reassignment = {"maxConcurrentPartitions": self.most, "throttleBytesPerSecond": "1Mi"}
        self.declare(replicationFactor=len(self.replicas(0)))
        self.settle()
        self.lines.clear()
        self.kube.events.clear()

    # --- what people do

    def declare(self, reassignment: Mapping[str, Any] | None = None, **topics: Any) -> None:
        """Somebody edits the spec."""
        self.topics |= topics
        self.reassignment |= reassignment or {}
        self.most = self.reassignment["maxConcurrentPartitions"]
        self._apply()

    def annotate(self, **annotations: str | None) -> None:
        """Somebody sets annotations, or takes them off."""
        edit_annotations(self.annotations, annotations)
        self._apply()

    def _apply(self) -> None:
        spec = {
            "kafka": MANAGED if self.is_managed else {"external": {"bootstrapServers": ["kafka:9092"]}},
            "topics": {"prefix": "wal", "count": len(TOPICS), **self.topics},
            "reassignment": self.reassignment,
            "internalTopics": self.internal_topics,
        }
        self.kube.apply(WAL, spec, annotations=self.annotations)

    # --- the operator

    def process(self, guard: Any = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """A new operator process, which remembers nothing: both of its controllers of WALClusters."""
        guard = guard or Unwatched()
        kube, clusters = guard.guard(self.kube), guard.guard(FakeKafkaClusters(dict.fromkeys(SERVERS, self.kafka)))
        nothing = FakeDataPlanes(DataPlaneParts(FakeDataPlane(), FakeMetadataStore()))
        ledgers = LedgerObserver(ClusterOpener(kube, clusters, nothing), self.intents, self.time, self.time)
        manages = WALClusterController(
            kube, clusters, FakeLedgers(), self.time, self.meters, TopicDeletion(kube, ledgers, self.strimzi)
        )
        moves = ReplicationController(kube, PartitionObserver(kube, clusters, self.strimzi), self.time, self.meters)
        return [Reconciler(each, may_write=lambda: True) for each in (manages, moves)]

    def settle(
        self,
        process: list[Reconciler[Any, Any, Any, Any]] | None = None,
        until: Callable[[], bool] | None = None,
    ) -> None:
        """Ticks, and lets replicas arrive whenever both controllers wait, until all is quiet or as told."""
        process, quiet = process or self.process(), 0
        for _ in range(MAX_ROUNDS):
            ticked = [self._tick_until_it_waits(each, until) for each in process]
            if until is not None and (self._is_reached or until()):
                self._is_reached = False
                return
            arrived = advance(self.kafka, self.pace) if self.pace else 0
            self.check()
            self.time.time += timedelta(seconds=ROUND_SECONDS)
            run, is_there = self.status(), self.kube.get(WALCluster, WAL) is not None
            quiet = quiet + 1 if not arrived and not (run and run.is_active) else 0
            if until is None and (quiet > 3 or not is_there) and all(ticked):
                return
        raise AssertionError(f"it does not settle: {self.status()}")

    def rounds(self, count: int) -> None:
        """Lets a time pass, however the run is."""
        end = self.time.time + timedelta(seconds=ROUND_SECONDS * count)
        self.settle(until=lambda: self.time.time >= end)

    def _tick_until_it_waits(self, process: Reconciler[Any, Any, Any, Any], until: Callable[[], bool] | None) -> Ticked:
        """Until it waits, or what is looked for was there between two ticks."""
        for _ in range(60):
            if self._is_reached:
                return Ticked(Outcome.WAITING, None)
            ticked = process.tick(WAL)
            self._note_events()
            self.check()
            self._is_reached = until is not None and until()
            if ticked.after != 0.0:
                return ticked
        raise AssertionError(f"it never waits: {self.status()}")

    # --- what is true

    def cluster(self) -> WALCluster:
        """The WALCluster."""
        found = self.kube.get(WALCluster, WAL)
        assert found is not None
        return found

    def status(self) -> ReassignmentStatus | None:
        """The run."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else found.status.reassignment

    def run(self) -> ReassignmentStatus:
        """The run, which there is."""
        found = self.status()
        assert found is not None
        return found

    def stage(self) -> str | None:
        """The stage of the run."""
        found = self.status()
        return None if found is None or found.stage is None else found.stage.value

    def placed(self) -> dict[str, tuple[int, ...]]:
        """The replicas of each topic."""
        return {name: topic.replicas for name, topic in sorted(self.kafka.topics.items())}

    def factors(self) -> set[int]:
        """The replication factors that there are."""
        return {len(self.kafka.topics[name].replicas) for name in TOPICS if name in self.kafka.topics}

    def is_unthrottled(self) -> bool:
        """Whether no throttle is left, neither rate nor list."""
        listed = [key for topic in self.kafka.topics.values() for key in topic.configs if "throttled" in key]
        return not listed and self.kafka.moves.rates == NO_RATES

    def check(self, after: str = "") -> None:
        """Acknowledged writes go on; no more is on its way than allowed; nothing is copied without a throttle."""
        ongoing = self.kafka.moves.ongoing
        ours = [found for found in ongoing if found.topic in TOPICS]
        assert len(ours) <= self.most, f"{len(ours)} partitions are on their way, after {after}"
        for found in ours:
            is_listed = "follower.replication.throttled.replicas" in self.kafka.topics[found.topic].configs
            is_throttled = is_listed and self.kafka.moves.rates != NO_RATES
            assert is_throttled or self.unthrottled_is_fine, f"{found} is copied without a throttle, after {after}"
        if self.kafka.offline:
            return
        for name in TOPICS:
            topic = self.kafka.topics.get(name)
            if topic is not None:
                isr, leader = self.kafka.led(topic, 0)
                needed = self.kafka.min_isr(topic)
                assert leader is not None, f"nobody leads {name}"
                assert len(isr) >= needed, f"writes to {name} stop: {isr} in sync, {needed} needed, after {after}"

    def move_by_hand(self, topic: str, target: tuple[int, ...]) -> None:
        """Somebody else reassigns a partition."""
        from tests.fakes.kafka_reassigner import FakeReassigner  # noqa: PLC0415 - only here

        assert FakeReassigner(self.kafka).reassign({PartitionId(topic, 0): target}) == {}

    def _note_events(self) -> None:
        for event in self.kube.events:
            line = f"{event.reason}: {event.message}"
            self.lines.append(line)
        self.kube.events.clear()

    def reported(self, *reasons: str) -> list[str]:
        """The events of these reasons, or of all that are about the run."""
        return [line for line in self.lines if not reasons or line.split(":")[0] in reasons]
