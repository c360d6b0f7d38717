"""The brokers of a WALCluster's Kafka, on the in-memory ports: told once, kept by others, and unknown when not seen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from seawall.api.meta import Condition, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.kafka_brokers import BrokerState, KafkaStatus
from seawall.api.v1alpha1.reassignment import ReassignmentStage, ReassignmentStatus
from seawall.controllers.brokers import BrokersController
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.domain.brokers.view import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION
from seawall.domain.conditions import ConditionBuilder, find_condition, with_own
from seawall.domain.decision import Failure
from seawall.domain.errors import NotSupported
from seawall.domain.kafka import NoKafka, Unreachable
from seawall.domain.partitions import PartitionId
from seawall.domain.times import BROKERS_SOON_SECONDS
from seawall.handlers.metrics.brokers import BrokerTelemetry
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.shared_brokers import BrokersObserver
from seawall.ports import DataPlaneParts
from seawall.reconciler import Outcome, Reconciler
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.fakes.kafka_moves import begin
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.fakes.kube import FakeKube
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.meters import FakeMeters
from tests.fakes.strimzi import FakeStrimzi
from tests.support.clock import Time

KEY = Key("wal", "orders")
WELL = {METADATA_VERSION: 29, ELIGIBLE_LEADER_REPLICAS: 1}
SPEC = {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}, "topics": {"prefix": "wal", "count": 3}}


class World:
    """A WALCluster with three brokers, the controller that tends its topics, and the one that looks at brokers."""

    def __init__(self) -> None:
        self.time = Time()
        self.kube, self.kafka = FakeKube(self.time.now), FakeKafka(brokers=3)
        self.registry, self.strimzi = CollectorRegistry(), FakeStrimzi()
        clusters = FakeKafkaClusters({"kafka:9092": self.kafka})
        opener = ClusterOpener(
            self.kube, clusters, FakeDataPlanes(DataPlaneParts(FakeDataPlane(), FakeMetadataStore()))
        )
        deletion = TopicDeletion(self.kube, LedgerObserver(opener, FakeIntentStore(), self.time, self.time))
        self.topics: Reconciler[Any, Any, Any, Any] = Reconciler(
            WALClusterController(self.kube, clusters, FakeLedgers(), self.time, FakeMeters(), deletion),
            may_write=lambda: True,
        )
        self.brokers: Reconciler[Any, Any, Any, Any] = Reconciler(
            BrokersController(
                self.kube, clusters, self.time, BrokersObserver(self.time), BrokerTelemetry(self.registry), self.strimzi
            ),
            may_write=lambda: True,
        )
        self.kube.apply(KEY, SPEC)

    def settle(self) -> float | None:
        """Ticks both until they wait; when the controller of brokers wants to look again."""
        for _ in range(20):
            tended, observation = self.topics.tick(KEY), self.brokers.tick(KEY)
            if tended.outcome is observation.outcome is Outcome.WAITING:
                return observation.after
        raise AssertionError("they never wait")

    def pass_time(self, seconds: float = 31) -> None:
        self.time.time += timedelta(seconds=seconds)
        self.settle()

    def cluster(self) -> WALCluster:
        found = self.kube.get(WALCluster, KEY)
        assert found is not None
        return found

    def reported(self) -> KafkaStatus:
        kafka = self.cluster().status.kafka
        assert kafka is not None
        return kafka

    def condition(self, kind: ConditionType = ConditionType.REPLICATION_HEALTHY) -> Condition:
        found = find_condition(self.cluster().status.conditions, kind)
        assert found is not None
        return found

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, {"namespace": KEY.namespace, "name": KEY.name, **labels})


def test_brokers_controllers_and_replicas_are_told_once_kafka_was_met() -> None:
    world = World()
    world.kafka.moves.racks = {1: "a", 2: "b"}
    world.settle()
    items = world.reported().brokers.items
    assert [(item.id, item.rack, item.state, item.replicas, item.leaders) for item in items] == [
        (1, "a", BrokerState.ONLINE, 3, 1),
        (2, "b", BrokerState.ONLINE, 3, 1),
        (3, None, BrokerState.ONLINE, 3, 1),
    ]
    quorum = world.reported().quorum
    assert quorum is not None
    assert (quorum.leader, quorum.voters, quorum.behind) == (1, (1, 2, 3), ())
    assert (world.condition().status, world.condition().reason) == ("True", "InSync")
    assert world.condition(ConditionType.QUORUM_HEALTHY).message == "controller 1 leads, all 3 voters keep up"
    assert world.metric("seawall_broker_replicas", broker="2") == 3
    assert world.metric("seawall_broker_state", broker="2", state="Online") == 1


def test_that_a_disk_which_was_emptied_may_lead_is_said_while_it_may() -> None:
    """Kafka that does not tell for once changes nothing of it."""
    world, features = World(), dict(WELL)
    world.kafka.moves.features = features
    world.settle()
    assert (world.reported().eligible_leader_replicas, world.condition().message) == (True, "every replica is in sync")
    del features[ELIGIBLE_LEADER_REPLICAS]
    world.pass_time()
    assert (world.reported().eligible_leader_replicas, world.condition().status) == (False, "True")
    assert world.condition().message == (
        "every replica is in sync; eligible leader replicas are off in Kafka: a broker that comes back with an emptied"
        " disk may lead, and the others drop what it lacks (docs/replication.md#a-disk-that-was-emptied)"
    )
    features.clear()
    world.pass_time()
    assert world.reported().eligible_leader_replicas is False
    features |= WELL
    world.pass_time()
    world.kube.apply(KEY, {**SPEC, "topics": {"prefix": "wal", "count": 3, "minInSyncReplicas": 1}})
    world.settle()
    assert "; min.insync.replicas is 1: a broker that comes back with an emptied" in world.condition().message


@pytest.mark.parametrize("features", [{}, {"x.version": 1}], ids=["no features", "another's"])
def test_a_kafka_that_tells_of_no_features_is_not_accused(features: dict[str, int]) -> None:
    world = World()
    world.kafka.moves.features = features
    world.settle()
    assert world.reported().eligible_leader_replicas is None
    assert world.condition().message == "every replica is in sync"


def test_nothing_is_written_while_nothing_is_news_and_kafka_is_looked_at_soon_after_a_change_then_twice_a_minute() -> (
    None
):
    world = World()
    world.settle()
    writes, observer = world.kube.status_writes, world.kafka.requests["sizes"]
    recorded = []
    for seconds in (1, 1, 3, 1, 8, 16, 26, 4, 26, 4):
        world.pass_time(seconds)
        recorded.append(world.kafka.requests["sizes"] - observer)
    assert recorded == [0, 1, 1, 2, 3, 4, 4, 5, 5, 6]
    assert world.kube.status_writes == writes
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"replicationFactor": 2}})
    world.settle()
    assert world.kafka.requests["sizes"] == observer + 7
    after = world.settle()
    assert after is not None
    assert 0 < after <= 2


def test_a_broker_that_dies_is_told_with_what_it_leaves_behind_and_so_is_its_return() -> None:
    world = World()
    world.settle()
    world.kafka.offline.add(3)
    world.pass_time()
    assert world.reported().brokers.items[2].state is BrokerState.FENCED
    assert world.reported().brokers.items[2].under_replicated == 3
    assert world.reported().brokers.online == 2
    said = world.condition()
    assert (said.status, said.reason) == ("False", "UnderReplicated")
    assert said.message.endswith("not in sync are replicas on broker 3 (Fenced)")
    assert world.metric("seawall_broker_replicas_not_in_sync", broker="3") == 3
    assert world.metric("seawall_partitions_in_trouble", trouble="UnderReplicated") == 3
    world.kafka.offline.clear()
    world.pass_time()
    assert world.condition().status == "True"
    events = [(event.type.value, event.reason) for event in world.kube.events]
    assert events.count(("Warning", "UnderReplicated")) == events.count(("Normal", "InSync")) == 1


def test_what_is_moved_to_a_new_broker_is_no_trouble() -> None:
    world = World()
    world.settle()
    world.kafka.brokers = (1, 2, 3, 4)
    begin(world.kafka, PartitionId("wal_0", 0), (1, 2, 4))
    world.pass_time()
    assert world.condition().status == "True"
    assert [item.replicas for item in world.reported().brokers.items] == [3, 3, 3, 1]


def test_topics_under_min_isr_refuse_writes_and_are_told_so() -> None:
    world = World()
    world.settle()
    world.kafka.offline |= {2, 3}
    world.pass_time()
    assert world.condition().reason == "UnderMinISR"
    assert world.condition(ConditionType.QUORUM_HEALTHY).reason == "QuorumUnanswered"
    assert world.reported().brokers.items[0].under_min_in_sync_replicas == 3
    quorum = world.reported().quorum
    assert quorum is not None
    assert quorum.voters == (1, 2, 3)


def test_a_voter_that_is_behind_is_told() -> None:
    world = World()
    world.kafka.moves.voter_lags = {3: 250}
    world.settle()
    quorum = world.reported().quorum
    assert quorum is not None
    assert (quorum.behind, quorum.max_lag) == ((3,), 100)
    assert world.condition(ConditionType.QUORUM_HEALTHY).reason == "VotersBehind"
    assert world.metric("seawall_quorum_voter_lag", voter="3") == 250


def test_when_kafka_does_not_answer_what_was_seen_stays_and_is_said_to_be_old() -> None:
    world = World()
    world.settle()
    before = world.reported()
    world.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka at kafka:9092 answered.")
    world.pass_time()
    for kind in (ConditionType.REPLICATION_HEALTHY, ConditionType.QUORUM_HEALTHY):
        assert (world.condition(kind).status, world.condition(kind).reason) == ("Unknown", "NotAsked")
    assert world.reported() == before
    assert world.metric("seawall_broker_replicas", broker="1") is None
    world.kafka.unreachable = None
    world.pass_time()
    assert world.condition().status == "True"


def test_kafkas_own_topics_that_one_broker_can_stop_are_told() -> None:
    world = World()
    world.kafka.add_topic(
        "__transaction_state", replicas=(1, 2, 3), partitions=50, configs={"min.insync.replicas": "3"}
    )
    world.settle()
    assert world.condition().reason == "InternalTopicsAtRisk"
    assert world.reported().brokers.items[0].replicas == 53


def test_kafkas_own_topics_are_corrected_when_a_person_lets_it_and_only_then() -> None:
    world = World()
    configs = {"min.insync.replicas": "3"}
    own = world.kafka.add_topic("__transaction_state", replicas=(1, 2, 3), partitions=50, configs=configs)
    world.settle()
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "3"
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True}}, annotations={"seawall.dev/paused": "true"})
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "3"
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True}})
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "2"
    assert world.condition().reason == "InSync"
    events = [event.message for event in world.kube.events if event.reason == "InternalTopicRepaired"]
    assert events == ["Set min.insync.replicas of __transaction_state to 2; it was 3"]


def test_kafkas_own_topics_need_no_more_in_sync_replicas_while_a_run_may_take_some_back() -> None:
    world = World()
    own = world.kafka.add_topic("__consumer_offsets", replicas=(1, 2, 3), configs={"min.insync.replicas": "1"})
    world.settle()
    cluster = world.kube.get(WALCluster, KEY)
    assert cluster is not None
    run = ReassignmentStatus(stage=ReassignmentStage.VERIFYING, most_min_in_sync_replicas=1)
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"reassignment": run}))
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True, "minInSyncReplicas": 2}})
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "1"
    cluster = world.kube.get(WALCluster, KEY)
    assert cluster is not None
    run = run.model_copy(update={"stage": ReassignmentStage.COMPLETED})
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"reassignment": run}))
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "2"


def test_a_correction_that_kafka_refuses_is_told_and_tried_again_after_the_next_look_only() -> None:
    world = World()
    world.kafka.add_topic("__transaction_state", replicas=(1, 2, 3), configs={"min.insync.replicas": "3"})
    world.kafka.refuse = lambda topic, _config, _value: "not yours" if topic.startswith("__") else None
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True}})
    world.settle()
    asked = world.kafka.requests["alter_configs"]
    said = "one broker that is down stops its writes; Kafka refused topic __transaction_state: not yours"
    assert world.condition().message.endswith(said)
    world.pass_time(BROKERS_SOON_SECONDS - 1)
    assert world.kafka.requests["alter_configs"] == asked
    world.pass_time(1)
    assert world.kafka.requests["alter_configs"] == asked + 1
    world.kafka.refuse = lambda _topic, _config, _value: None
    world.pass_time()
    assert world.condition().reason == "InSync"


def test_a_topic_of_kafkas_own_that_a_kafka_topic_manages_is_not_corrected() -> None:
    world, manages = World(), Key("kafka", "transactions")
    own = world.kafka.add_topic("__transaction_state", replicas=(1, 2, 3), configs={"min.insync.replicas": "3"})
    world.strimzi.put_topic(manages, "__transaction_state")
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True}})
    world.settle()
    assert own.configs["min.insync.replicas"] == "3"
    assert "KafkaTopic kafka/transactions manages topic __transaction_state" in world.condition().message
    world.strimzi.put_topic(manages, "__transaction_state", managed="false")
    world.pass_time()
    assert own.configs["min.insync.replicas"] == "2"


def test_what_kafka_refuses_to_the_controller_of_topics_is_not_told_of_brokers() -> None:
    world = World()
    world.kube.apply(KEY, {**SPEC, "internalTopics": {"repair": True}})
    world.settle()
    before = world.cluster()
    build = ConditionBuilder(before.status.conditions, before.metadata.generation, world.time.now())
    refused = build.kstatus(Failure("topics may not be made", final=True).verdict)
    conditions = with_own(before.status.conditions, refused, [each.type for each in refused])
    world.kube.replace_status(before, before.status.model_copy(update={"conditions": conditions}))
    world.kafka.add_topic("__transaction_state", replicas=(1, 2, 3), configs={"min.insync.replicas": "3"})
    world.kafka.refuse = lambda topic, _config, _value: "not yours" if topic.startswith("__") else None
    world.time.time += timedelta(seconds=31)
    for _ in range(4):
        world.brokers.tick(KEY)
        assert "topics may not be made" not in world.condition().message
    assert "not yours" in world.condition().message


def test_a_broker_that_is_to_go_is_drained_when_nothing_at_all_is_on_it() -> None:
    world = World()
    world.settle()
    world.kafka.brokers = (1, 2, 3, 4)
    foreign = world.kafka.add_topic("not_ours", replicas=(4, 1))
    world.pass_time()
    assert [item.drained for item in world.reported().brokers.items] == [None] * 4
    world.kube.apply(KEY, {**SPEC, "reassignment": {"excludeBrokers": [4]}})
    world.settle()
    assert world.reported().brokers.items[3].drained is False
    foreign.replicas = (2, 1)
    world.pass_time()
    assert world.reported().brokers.items[3].drained is True
    world.kafka.offline.add(4)  # it is being removed, and tells no more of its logs
    world.pass_time()
    assert world.reported().brokers.items[3].drained is True
    events = [event.message for event in world.kube.events if event.reason == "BrokerDrained"]
    assert events == ["nothing is on broker 4 any more: it may be removed"]


def test_a_broker_whose_logs_nobody_has_seen_is_not_called_drained() -> None:
    world = World()
    world.settle()
    world.kafka.brokers = (1, 2, 3, 4)
    world.kafka.offline.add(4)
    world.kube.apply(KEY, {**SPEC, "reassignment": {"excludeBrokers": [4]}})
    world.settle()
    assert world.reported().brokers.items[3].replicas == 0
    assert world.reported().brokers.items[3].drained is False


def test_another_kafka_than_the_pinned_one_is_not_told_of() -> None:
    world = World()
    world.settle()
    before = world.reported()
    world.kafka.cluster_id = "another"
    world.kafka.brokers = (7, 8, 9)
    world.pass_time()
    assert world.reported() == before
    assert world.condition().status == "Unknown"


def test_a_wal_cluster_that_is_gone_has_no_metrics() -> None:
    world = World()
    world.settle()
    world.kube.remove(KEY)
    world.brokers.tick(KEY)
    assert world.metric("seawall_broker_replicas", broker="1") is None


def test_a_kafka_that_tells_nothing_of_its_disks_or_controllers_is_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentence = "Kafka refused to describe the quorum: API version not supported"

    def refuse(*_: object) -> None:
        raise NotSupported(sentence)

    monkeypatch.setattr(FakeReassigner, "quorum", refuse)
    monkeypatch.setattr(FakeReassigner, "sizes", refuse)
    world = World()
    world.settle()
    assert (world.condition().status, world.condition().reason) == ("True", "InSync")
    quorum = world.condition(ConditionType.QUORUM_HEALTHY)
    assert (quorum.status, quorum.reason, quorum.message) == ("Unknown", "NotAllowed", sentence)
    assert [item.state for item in world.reported().brokers.items] == [BrokerState.ONLINE] * 3
