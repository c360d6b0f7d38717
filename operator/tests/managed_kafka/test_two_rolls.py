"""Datanodes and nodes of a managed Kafka are to be restarted in one WALCluster at once: never both are away by us.

Both controllers are real, on two worlds that share the API server and the time; processes die in between, in any order.
Each world has a Kafka of its own: what is shared is the journal, and what one controller says in the status.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain.conditions import with_own
from seawall.domain.rollout import begin, machine
from seawall.observe.datanodes import DatanodeObserver
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.partitions import PartitionObserver
from seawall.ports import DataPlaneParts
from seawall.reconciler import Reconciler
from tests.fakes.dataplane import FakeDataPlanes
from tests.fakes.kafka import FakeKafkaClusters
from tests.support.source_mutants import rewritten
from tests.worlds import restart_world
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAL

ROUNDS = 700


@dataclass
class BothWorlds:
    """A managed Kafka with its nodes, and a database with its datanodes."""

    rows: restart_world.World = field(default_factory=restart_world.World)
    kafka: RollWorld = field(init=False)
    most_away: int = 0

    def __post_init__(self) -> None:
        rows = self.rows
        self.kafka = RollWorld(time=rows.time).bring_up()
        spec = {name: value for name, value in rows.spec().items() if name != "kafka"}
        self.kafka.declare(**spec)
        before = rows.cluster().status
        rows.kube, rows.kafka.cluster_id = self.kafka.kube, self.kafka.kafka.cluster_id
        found = rows.cluster()
        kafka = KafkaStatus(cluster_id=rows.kafka.cluster_id, brokers=BrokersStatus(total=3, online=3))
        own: list[Condition] = [each for each in before.conditions if each.type == ConditionType.WAL_INTACT]
        update = {
            "kafka": kafka,
            "data_plane": DataPlaneStatus(identity=rows.store.head().store_id),
            "conditions": with_own(found.status.conditions, own, (ConditionType.WAL_INTACT,)),
        }
        rows.kube.replace_status(found, found.status.model_copy(update=update))

    def of_datanodes(self) -> Reconciler[Any, Any, Any, Any]:
        """A new process of the controller of datanodes."""
        rows = self.rows
        clusters = FakeKafkaClusters(
            {f"wal-{node}.db.svc:{port}": rows.kafka for node in BROKERS for port in (9091, 9092)}
        )
        planes = FakeDataPlanes(DataPlaneParts(rows.data_plane, rows.store))
        opener = ClusterOpener(rows.kube, clusters, planes)
        ledgers = LedgerObserver(opener, rows.intents, rows.time, rows.time)
        partitions = PartitionObserver(rows.kube, clusters)
        observer = DatanodeObserver(rows.kube, rows.datanodes, opener.data_planes, ledgers, partitions, rows.time)
        return Reconciler(
            RestartController(rows.kube, rows.datanodes, observer, rows.time, rows.meters), may_write=lambda: True
        )

    def ask_for_both(self) -> None:
        """A person asks for the restart of all."""
        self.kafka.annotate(restart_kafka="1", restart="1")

    def is_done(self) -> bool:
        """Both rolls are over."""
        stage = self.rows.restart().stage
        return stage is RollStage.COMPLETED and self.kafka.is_rolled()

    def check(self) -> None:
        """What must never be."""
        self.rows.note()
        self.rows.check()
        self.kafka.check("")
        away = len(self.kafka.by_us) + len(self.rows.down())
        self.most_away = max(self.most_away, away)
        assert away <= 1, f"nodes of Kafka {self.kafka.by_us} and datanodes {self.rows.down()} are away"

    def pass_time(self) -> None:
        """Both worlds go on."""
        self.kafka.go_on()
        self.rows.pass_time(timedelta(seconds=4))

    def live(self, seed: int) -> None:
        """Both controllers tick in any order; now and then a process dies, and the next one knows nothing."""
        chance = random.Random(seed)  # noqa: S311 - an order
        processes = [self.of_datanodes(), self.kafka.process()]
        for _ in range(ROUNDS):
            which = chance.randrange(2)
            after = processes[which].tick(WAL).after
            self.check()
            if after != 0 and chance.random() < 0.6:
                self.pass_time()
                self.check()
            if chance.random() < 0.02:
                processes[which] = self.of_datanodes() if which == 0 else self.kafka.process()
            if self.is_done():
                return
        raise AssertionError(f"never done: {self.rows.restart()} {self.kafka.roll()}")


def live(seed: int) -> None:
    world = BothWorlds()
    world.ask_for_both()
    world.live(seed)
    assert Counter(world.kafka.evicted) == Counter((*CONTROLLERS, *BROKERS))
    assert set(world.rows.went) == {"datanode-0", "datanode-1", "datanode-2"}
    assert world.most_away == 1
    found = world.rows.kube.get(WALCluster, WAL)
    assert found is not None
    assert found.status.disruption is None


@pytest.mark.parametrize("seed", range(4))
def test_of_datanodes_and_nodes_of_kafka_one_is_away_at_a_time(seed: int) -> None:
    live(seed)


def test_without_the_journal_both_are_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: who begins does not ask what else is disrupted, nor how the others are."""
    rewritten(begin, "begin_next", "if other is not None:", "if False:", machine)(monkeypatch)
    with pytest.raises(AssertionError, match=r"K1|are away"):
        live(0)
