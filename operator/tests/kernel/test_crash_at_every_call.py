"""The operator dies at every call to the outside, once before it and once after it, when its answer is lost.

A scenario is run once to count its N calls, then 2N times with one death each; a new process then finishes the work.
The end must be the same as without a death. Everything runs on the in-memory ports, which pass the contract tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.conditions import find_condition
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import PoolId, shards_of
from seawall.domain.times import REFUSED_SECONDS
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.ports import DataPlaneParts
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.support.clock import Time
from tests.support.golden import compare_calls
from tests.support.mortal import DeathRow, Died

KEY = Key("default", "db")
MAX_TICKS = 60
REFUSALS = 3
"""Brokers show topics late, and configs too: after so many refusals nothing else is left to do."""


CLOCK = Time()
NO_DATABASE = FakeDataPlanes(DataPlaneParts(FakeDataPlane(), FakeMetadataStore()))
POOL = PoolId("default", "fake-cluster", "wal")
TOPICS = ("wal_0", "wal_1", "wal_2", "wal_5")


@dataclass
class World:
    """All that outlives a process."""

    kube: FakeKube
    kafka: FakeKafka
    intents: FakeIntentStore = field(default_factory=FakeIntentStore)

    def process(self, row: DeathRow) -> Reconciler[Any, Any, Any, Any]:
        """A new operator process."""
        clusters = FakeKafkaClusters({"kafka:9092": self.kafka})
        kube, kafka = row.guard(self.kube), row.guard(clusters)
        observer = LedgerObserver(ClusterOpener(kube, kafka, NO_DATABASE), row.guard(self.intents), CLOCK, CLOCK)
        deletion = TopicDeletion(kube, observer)
        controller = WALClusterController(kube, kafka, FakeLedgers(), CLOCK, FakeMeters(), deletion)
        return Reconciler(controller, may_write=lambda: True)

    def settle(self, row: DeathRow) -> None:
        """Ticks until there is nothing to do before the next resync, or only what is refused again and again."""
        process, refused = self.process(row), 0
        for _ in range(MAX_TICKS):
            ticked = process.tick(KEY)
            is_refused = ticked.outcome is Outcome.FAILED and ticked.after == REFUSED_SECONDS
            refused = refused + 1 if is_refused else 0
            if ticked.after is None or refused > REFUSALS:
                return
        pytest.fail(f"not settled after {MAX_TICKS} ticks; last: {ticked}")

    def end_state(self) -> Any:
        """What must be the same, however often a process died on the way."""
        cluster = self.kube.get(WALCluster, KEY)
        ready = find_condition(cluster.status.conditions, ConditionType.READY) if cluster else None
        config_map = self.kube.get_config_map(Key("default", "wal"))
        return (
            {name: (len(topic.replicas), topic.configs) for name, topic in sorted(self.kafka.topics.items())},
            cluster and (cluster.metadata.finalizers, cluster.status.topics, cluster.status.kafka),
            ready and (ready.status, ready.reason, ready.message),
            config_map and dict(config_map.data),
            {name: self.is_of_its_log(name) for name in sorted(self.records())},
        )

    def is_of_its_log(self, name: str) -> bool:
        """Whether a topic's record is about the log that Kafka has."""
        topic = self.kafka.topics.get(name)
        return topic is not None and self.records()[name].topic_id == topic.log.topic_id

    def records(self) -> dict[str, FenceRecord]:
        """What is recorded of the logs."""
        return read_shards(self.intents.read(POOL, shards_of(TOPICS))).of_topics(TOPICS)

    def record_logs(self) -> None:
        """What looks at the ledger leave behind."""
        shards = read_shards(self.intents.read(POOL, shards_of(TOPICS)))
        logs = {name: topic.log for name, topic in self.kafka.topics.items()}
        records = {name: FenceRecord(log.topic_id, 0, 0, 0, intent=0) for name, log in logs.items()}
        for number, shard in shards.changed(records).items():
            self.intents.write(POOL, number, shard)


def spec(**topics: Any) -> dict[str, Any]:
    return {
        "kafka": {"external": {"bootstrapServers": ["kafka:9092"]}},
        "topics": {"prefix": "wal", "count": 3, **topics},
        "dataPlane": {"walConfig": {"configMapName": "wal"}},
    }


def new_world() -> World:
    world = World(FakeKube(), FakeKafka(brokers=3))
    world.kafka.late_topics, world.kafka.late_leaders, world.kafka.late_configs = 1, 1, 1
    return world


def create(world: World) -> None:
    world.kube.apply(KEY, spec())


def adopt_and_repair(world: World) -> None:
    world.kafka.add_topic("wal_0", replicas=(1, 2, 3), configs={"cleanup.policy": "compact", "preallocate": "true"})
    world.kafka.add_topic("wal_5", replicas=(1, 2, 3), configs={"retention.ms": "1000"})
    world.kafka.add_topic("other", replicas=(1,), configs={"retention.ms": "1000"})
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))


def grow(world: World) -> None:
    create(world)
    world.settle(DeathRow())
    world.kube.apply(KEY, spec(count=6, config={"flush.messages": 5}))


def refuse(world: World) -> None:
    world.kube.apply(KEY, spec(config={"no.such.config": 1}))


def delete(world: World) -> None:
    world.kube.apply(KEY, spec(deletionPolicy="Delete"))
    world.kafka.add_topic("wal_5", replicas=(1, 2, 3))
    world.settle(DeathRow())
    world.record_logs()
    world.kube.remove(KEY)


def lose(world: World) -> None:
    """A topic that may have been in use is gone, beside one that is new; no look at a ledger has recorded it."""
    create(world)
    world.settle(DeathRow())
    del world.kafka.topics["wal_1"]
    world.kube.apply(KEY, spec(count=4))


def readopt(world: World) -> None:
    """A person gives up two lost logs, which are recorded in two shards."""
    create(world)
    world.settle(DeathRow())
    world.record_logs()
    del world.kafka.topics["wal_1"], world.kafka.topics["wal_2"]
    grounds = f"checked by hand@{(CLOCK.now() + timedelta(hours=2)).isoformat()}"
    world.kube.apply(KEY, spec(), annotations={"seawall.dev/readopt": grounds})


def restore(world: World) -> None:
    """The API server is restored from a backup that was made in a deletion; a topic was written to since."""
    delete(world)
    process = world.process(DeathRow())
    while (found := world.kube.get(WALCluster, KEY)) is not None and found.status.deletion is None:
        process.tick(KEY)
    world.kafka.topics["wal_1"].log.append(5)


SCENARIOS = (create, adopt_and_repair, grow, refuse, delete, lose, readopt, restore)


def test_the_wal_config_does_not_name_topics_that_kafka_refused() -> None:
    world = new_world()
    refuse(world)
    world.settle(DeathRow())
    assert world.kafka.topics == {}
    assert world.kube.get_config_map(Key("default", "wal")) is None


def test_these_scenarios_end_as_they_should() -> None:
    lost, given_up, restored = new_world(), new_world(), new_world()
    for scenario, world in ((lose, lost), (readopt, given_up), (restore, restored)):
        scenario(world)
        world.settle(DeathRow())
    assert lost.kafka.topics.keys() == {"wal_0", "wal_2", "wal_3"}
    assert given_up.kafka.topics.keys() == {"wal_0", "wal_1", "wal_2"}
    assert given_up.records().keys() == {"wal_0", "wal_1", "wal_2"}
    assert all(map(given_up.is_of_its_log, given_up.records())), "the new logs are first contacts"
    assert restored.kafka.topics.keys() == {"wal_0", "wal_1", "wal_2", "wal_5"}


def test_the_records_of_deleted_topics_go_with_them_and_no_others() -> None:
    """Found here: a pool that was deleted and made again looked recreated."""
    world = new_world()
    delete(world)
    assert world.records().keys() == set(TOPICS)
    world.settle(DeathRow())
    assert world.kafka.topics.keys() == {"wal_5"}
    assert world.records().keys() == {"wal_5"}, "a topic beyond the count stays, and what is known of it too"


@pytest.mark.parametrize("after", [False, True], ids=["before the call", "after the call, answer lost"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_death_at_any_call_changes_nothing_about_the_end(scenario: Callable[[World], None], *, after: bool) -> None:
    undisturbed, row = new_world(), DeathRow()
    scenario(undisturbed)
    undisturbed.settle(row)
    for call in range(row.calls):
        world = new_world()
        scenario(world)
        with pytest.raises(Died):
            world.settle(DeathRow(call, after=after))
        world.settle(DeathRow())
        assert world.end_state() == undisturbed.end_state(), f"after a death at call {call} of {row.calls}"
    compare_calls(row.names)
    print(f"{scenario.__name__}: {row.calls} deaths, one end")  # noqa: T201 - the count is the evidence
