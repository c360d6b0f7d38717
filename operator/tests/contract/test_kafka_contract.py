"""What every KafkaAdmin does: the fake and the adapter on real brokers."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, partialmethod

import pytest
from confluent_kafka.admin import AdminClient

from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.api.meta import Key
from seawall.api.v1alpha1.kafka_dynamic_configs import DYNAMIC_CONFIGS
from seawall.domain.errors import NotSupported, OutsideUnavailable, Refused
from seawall.domain.kafka import (
    ConfigChange,
    Configs,
    KafkaConnection,
    KafkaView,
    NewTopic,
    NoKafka,
    Topic,
    Unreachable,
)
from seawall.domain.topics.pool import is_same_value
from seawall.ports import KafkaAdmin, KafkaClusters
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.kafka import FakeKafka, FakeKafkaClusters
from tests.support.kafka import topic_ids

KEY = Key("wal", "orders")
NOBODY = "127.0.0.1:1"
NO_TOPIC = "ABEiM0RVZneImaq7zN3u_w"
pytestmark = pytest.mark.xdist_group("kafka")
Override = Callable[[int, str, str | None], None]
"""Broker, config, and its value; None: it is taken back."""


class World:
    """Clusters and the address of one with three brokers; and a prefix that no other test has.

    `impatient` are clusters as well, by which no answer is waited for long. `override` sets a config on one broker, or
    takes it back, by another way than the port.
    """

    def __init__(
        self, clusters: KafkaClusters, server: str, override: Override, impatient: KafkaClusters | None = None
    ) -> None:
        self.clusters = clusters
        self.override = override
        self.impatient = impatient or clusters
        self.server = server
        self.prefix = f"t{uuid.uuid4().hex[:8]}"

    def admin(self) -> KafkaAdmin:
        return self.clusters.connect(KEY, KafkaConnection((self.server,)))

    def view(self) -> KafkaView:
        view = self.admin().view()
        assert isinstance(view, KafkaView), view
        return view

    def create(self, name: str, replication_factor: int = 1, configs: Configs | None = None) -> str:
        """Creates a topic and waits until it is led by an in-sync replica."""
        topic = f"{self.prefix}_{name}"
        self.admin().create_topics([NewTopic(topic, replication_factor, configs or {})])
        self.shown(topic, replication_factor)
        return topic

    def ids(self, *topics: str) -> dict[str, str]:
        return topic_ids(self.clusters.logs(KEY, KafkaConnection((self.server,))), topics)

    def shown(self, name: str, replication_factor: int) -> Topic:
        """A topic, out of one answer that has it whole: the next may be of a broker that has not heard of it."""

        def whole() -> Topic | None:
            topic = self.view().topics.get(name)
            is_whole = topic is not None and topic.leader is not None and len(topic.isr) == replication_factor
            return topic if is_whole else None

        return wait_until(whole, f"{name} is whole")

    def configs_of(self, topic: str) -> Mapping[str, str] | None:
        return self.admin().describe_configs([topic]).get(topic)

    def assert_configs(self, topic: str, expected: Configs) -> None:
        """Brokers learn of a change one after another."""
        wait_until(lambda: self.configs_of(topic) == expected, f"{topic} has its configs")


@pytest.fixture(params=["fake", "late fake", pytest.param("real", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "real":
        kafka: KafkaProcesses = request.getfixturevalue("kafka")
        patient, impatient = (ConfluentKafkaClusters(view_timeout=at, request_timeout=at) for at in (30.0, 1.0))
        return World(patient, kafka.bootstrap_servers[0], partial(override_by_tool, kafka), impatient)
    fake = FakeKafka(brokers=3)
    if request.param == "late fake":
        fake.late_topics, fake.late_leaders, fake.late_configs, fake.late_deletes = 2, 2, 2, 2
    return World(FakeKafkaClusters({"fake:9092": fake}), "fake:9092", partial(override_in_memory, fake))


def override_by_tool(kafka: KafkaProcesses, broker: int, key: str, value: str | None) -> None:
    change = ("--delete-config", key) if value is None else ("--add-config", f"{key}={value}")
    named = ("--entity-type", "brokers", "--entity-name", str(broker))
    kafka.tool("kafka.admin.ConfigCommand", *named, "--alter", *change)


def override_in_memory(kafka: FakeKafka, broker: int, key: str, value: str | None) -> None:
    own = kafka.overrides.setdefault(broker, {})
    own.pop(key, None)
    if value is not None:
        own[key] = value


def test_view_shows_the_cluster(world: World) -> None:
    first, second = world.view(), world.view()
    assert first.online == first.known_brokers() == {1, 2, 3}
    assert first.cluster_id == second.cluster_id != ""


def test_a_created_topic_has_one_partition_its_replicas_and_its_configs(world: World) -> None:
    topic = world.create("a", 3, {"retention.ms": "-1", "min.insync.replicas": "2"})
    shown = world.shown(topic, 3)
    assert (shown.name, shown.partitions) == (topic, 1)
    assert set(shown.replicas) == set(shown.isr) == {1, 2, 3}
    assert shown.leader in shown.replicas
    world.assert_configs(topic, {"retention.ms": "-1", "min.insync.replicas": "2"})


def test_a_topic_is_created_on_the_brokers_that_are_named_the_preferred_leader_first(world: World) -> None:
    topics = [
        NewTopic(f"{world.prefix}_{index}", len(on), {}, on) for index, on in enumerate(((2, 3), (3,), (1, 3, 2)))
    ]
    world.admin().create_topics(topics)
    shown = {topic.name: world.shown(topic.name, len(topic.replicas)) for topic in topics}
    assert {topic.name: shown[topic.name].replicas for topic in topics} == {t.name: t.replicas for t in topics}
    assert [shown[topic.name].leader for topic in topics] == [2, 3, 1]
    world.admin().create_topics([NewTopic(topics[0].name, 1, {}, (1,))])
    assert world.shown(topics[0].name, 2).replicas == (2, 3), "it exists, and stays where it is"


def test_a_topic_may_have_more_partitions_and_get_still_more_but_never_fewer(world: World) -> None:
    topic = f"{world.prefix}_many"
    world.admin().create_topics([NewTopic(topic, 2, {}, partitions=3)])
    assert world.shown(topic, 2).partitions == 3
    world.admin().add_partitions({topic: 5})
    wait_until(lambda: world.shown(topic, 2).partitions == 5, "it has them")
    world.admin().add_partitions({topic: 5})
    world.admin().add_partitions({topic: 2})
    wait_until(lambda: world.shown(topic, 2).partitions == 5, "it keeps them")
    with pytest.raises((Refused, OutsideUnavailable)):
        world.admin().add_partitions({f"{world.prefix}_none": 2})


def test_creating_a_topic_again_changes_nothing(world: World) -> None:
    topic = world.create("a", 2, {"retention.ms": "-1"})
    world.admin().create_topics([NewTopic(topic, 3, {"retention.ms": "5"}), NewTopic(f"{world.prefix}_b", 1, {})])
    world.shown(f"{world.prefix}_b", 1)
    assert len(world.shown(topic, 2).replicas) == 2
    world.assert_configs(topic, {"retention.ms": "-1"})


MANY_CONFIGS = {
    "cleanup.policy": "delete",
    "delete.retention.ms": "1",
    "file.delete.delay.ms": "1",
    "flush.messages": "1",
    "flush.ms": "1",
    "index.interval.bytes": "1",
    "max.compaction.lag.ms": "1",
    "max.message.bytes": "1",
    "min.compaction.lag.ms": "1",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "-1",
    "segment.bytes": "1048576",
    "segment.index.bytes": "4",
    "segment.jitter.ms": "1",
    "segment.ms": "1",
}


def test_a_pool_is_created_and_altered_that_is_too_large_for_one_request(world: World) -> None:
    """A controller takes no request that causes more than 10,000 metadata records."""
    names = [f"{world.prefix}_{i}" for i in range(10_000 // len(MANY_CONFIGS) + 1)]
    world.admin().create_topics([NewTopic(name, 1, MANY_CONFIGS) for name in names])
    wait_until(lambda: world.view().topics.keys() >= set(names), "all are shown")
    world.admin().alter_configs([ConfigChange(name, reset=tuple(MANY_CONFIGS)) for name in names])
    world.assert_configs(names[-1], {})
    world.admin().delete_topics(world.ids(*names))


REFUSED_TOPICS = {
    "unknown config": (NewTopic("", 1, {"no.such": "1"}), "Unknown topic config name: no.such"),
    "no number": (
        NewTopic("", 1, {"retention.ms": "soon"}),
        "Invalid value soon for configuration retention.ms: Not a number of type LONG",
    ),
    "too small": (
        NewTopic("", 1, {"min.insync.replicas": "0"}),
        "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
    ),
    "small segments": (
        NewTopic("", 1, {"segment.bytes": "1024"}),
        "Invalid value 1024 for configuration segment.bytes: Value must be at least 1048576",
    ),
    "more replicas than brokers": (
        NewTopic("", 4, {}),
        (
            "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because"
            " only 3 broker(s) are registered or some brokers have all their log directories cordoned."
        ),
    ),
    "a broker that is not": (
        NewTopic("", 2, {}, (1, 9)),
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    "a broker twice": (
        NewTopic("", 2, {}, (1, 1)),
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    "bad name": (
        NewTopic("!", 1, {}),
        (
            "Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'"
        ),
    ),
}


@pytest.mark.parametrize(("topic", "sentence"), REFUSED_TOPICS.values(), ids=REFUSED_TOPICS.keys())
def test_a_topic_that_kafka_refuses_is_told_in_its_words(world: World, topic: NewTopic, sentence: str) -> None:
    name = world.prefix + topic.name
    with pytest.raises(Refused) as refused:
        world.admin().create_topics([replace(topic, name=name)])
    assert str(refused.value) == f"Kafka refused topic {name}: {sentence.format(name=name)}"


def test_the_others_of_a_refused_batch_are_created(world: World) -> None:
    good, *bad = (f"{world.prefix}_{index}" for index in range(4))
    with pytest.raises(
        Refused, match=rf"Kafka refused topic {bad[0]} and 2 others: Unknown topic config name: no\.such"
    ):
        world.admin().create_topics([NewTopic(good, 1, {}), *(NewTopic(name, 1, {"no.such": "1"}) for name in bad)])
    world.shown(good, 1)
    assert world.view().topics.keys().isdisjoint(bad)


def test_a_request_must_not_name_a_topic_twice(world: World) -> None:
    topic = world.create("a")
    with pytest.raises(Refused, match=f"topic {topic} more than once"):
        world.admin().create_topics([NewTopic(topic, 1, {}), NewTopic(topic, 1, {})])
    with pytest.raises(Refused, match=f"topic {topic} more than once"):
        world.admin().alter_configs([ConfigChange(topic, {"retention.ms": "1"}), ConfigChange(topic)])


def test_describe_shows_only_what_is_set_on_topics_that_exist(world: World) -> None:
    plain, configured = world.create("a"), world.create("b", 1, {"cleanup.policy": "compact"})
    world.assert_configs(configured, {"cleanup.policy": "compact"})
    described = world.admin().describe_configs([plain, configured, f"{world.prefix}_gone", plain])
    assert described == {plain: {}, configured: {"cleanup.policy": "compact"}}
    assert world.admin().describe_configs([]) == {}


def test_brokers_tell_their_configs_in_force(world: World) -> None:
    keys = ("connections.max.idle.ms", "producer.id.expiration.ms", "no.such.config")
    told = world.admin().describe_broker_configs(keys)
    assert told.keys() == world.view().online
    assert all(each.keys() == set(keys[:2]) and each[keys[0]] == "600000" for each in told.values())
    nobody = world.impatient.connect(Key("wal", "nobody"), KafkaConnection((NOBODY,)))
    with pytest.raises(OutsideUnavailable):
        nobody.describe_broker_configs(keys)


def test_what_is_set_on_a_single_broker_is_told_beside_the_default_of_all(world: World) -> None:
    admin, largest, segment = world.admin(), "message.max.bytes", "log.segment.bytes"
    assert admin.describe_broker_overrides([largest, segment]) == {}
    try:
        admin.alter_default_configs({largest: "2000000"})
        world.override(2, largest, "3000000")
        world.override(2, segment, "50000000")
        wanted = {2: {largest: "3000000"}}
        wait_until(lambda: admin.describe_broker_overrides([largest]) == wanted, "the broker has its own")
        assert admin.describe_default_configs()[largest] == "2000000"
    finally:
        admin.alter_default_configs({largest: None})
        world.override(2, largest, None)
        world.override(2, segment, None)
    wait_until(lambda: admin.describe_broker_overrides([largest, segment]) == {}, "it has none of its own")
    nobody = world.impatient.connect(Key("wal", "nobody"), KafkaConnection((NOBODY,)))
    with pytest.raises(OutsideUnavailable):
        nobody.describe_broker_overrides([largest])


def test_defaults_of_all_brokers_are_set_and_taken_back_all_or_none(world: World) -> None:
    admin, largest, segment = world.admin(), "message.max.bytes", "log.segment.bytes"

    def shows(wanted: Configs) -> None:
        wait_until(lambda: dict(admin.describe_default_configs()) == wanted, "brokers have these defaults")

    before = dict(admin.describe_default_configs())
    try:
        admin.alter_default_configs({largest: "2000000", segment: "50000000"})
        shows(before | {largest: "2000000", segment: "50000000"})
        with pytest.raises(Refused, match=r"Invalid value much for configuration log\.segment\.bytes"):
            admin.alter_default_configs({largest: "3000000", segment: "much"})
        with pytest.raises(Refused, match="Cannot update these configs dynamically"):
            admin.alter_default_configs({largest: "3000000", "process.roles": "broker"})
        admin.alter_default_configs({})
        shows(before | {largest: "2000000", segment: "50000000"})
    finally:
        admin.alter_default_configs({largest: None, segment: None, "log.roll.ms": None})
    shows(before)
    nobody = world.impatient.connect(Key("wal", "nobody"), KafkaConnection((NOBODY,)))
    with pytest.raises(OutsideUnavailable):
        nobody.describe_default_configs()
    with pytest.raises(OutsideUnavailable):
        nobody.alter_default_configs({largest: None})


@pytest.mark.integration
def test_all_brokers_take_each_config_of_the_table_while_they_run(kafka: KafkaProcesses) -> None:
    """What each broker has already is set for all of them, and taken back; of these it has none."""
    without = dict.fromkeys(("log.roll.ms", "log.retention.ms", "log.flush.interval.ms"), "604800000")
    admin = ConfluentKafkaClusters(view_timeout=30.0, request_timeout=30.0).connect(
        KEY, KafkaConnection(tuple(kafka.bootstrap_servers))
    )
    before = admin.describe_default_configs()
    values = next(iter(admin.describe_broker_configs(DYNAMIC_CONFIGS).values()))
    changes = dict.fromkeys(DYNAMIC_CONFIGS, "") | {"log.roll.jitter.ms": "0"} | without | dict(values)
    try:
        admin.alter_default_configs(changes)
        wait_until(lambda: admin.describe_default_configs().keys() >= DYNAMIC_CONFIGS, "all of them are set")
    finally:
        admin.alter_default_configs({key: before.get(key) for key in DYNAMIC_CONFIGS})


def test_describing_an_impossible_name_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="Topic name is invalid"):
        world.admin().describe_configs(["no name"])


def test_altering_sets_and_resets_and_leaves_the_rest(world: World) -> None:
    first = world.create("a", 1, {"retention.ms": "5", "segment.bytes": "2000000", "flush.ms": "7"})
    second = world.create("b")
    world.admin().alter_configs(
        [
            ConfigChange(first, {"retention.ms": "-1"}, ("segment.bytes",)),
            ConfigChange(second, {"cleanup.policy": "delete"}),
        ]
    )
    world.assert_configs(first, {"retention.ms": "-1", "flush.ms": "7"})
    world.assert_configs(second, {"cleanup.policy": "delete"})


def test_a_config_set_to_the_default_is_still_shown_as_set(world: World) -> None:
    topic = world.create("a")
    world.admin().alter_configs([ConfigChange(topic, {"cleanup.policy": "delete", "retention.ms": "604800000"})])
    world.assert_configs(topic, {"cleanup.policy": "delete", "retention.ms": "604800000"})


def test_kafka_keeps_values_in_a_form_of_its_own(world: World) -> None:
    asked = {
        "preallocate": "TRUE",
        "flush.messages": " +007",
        "min.cleanable.dirty.ratio": "0.50",
        "cleanup.policy": "compact, delete",
    }
    topic = world.create("a", 1, asked)
    kept = {
        "preallocate": "true",
        "flush.messages": "7",
        "min.cleanable.dirty.ratio": "0.5",
        "cleanup.policy": "compact,delete",
    }
    world.assert_configs(topic, kept)
    assert all(is_same_value(asked[key], kept[key]) for key in asked)


def test_resetting_what_is_not_set_or_not_known_is_fine(world: World) -> None:
    topic = world.create("a", 1, {"retention.ms": "5"})
    world.admin().alter_configs([ConfigChange(topic, {}, ("flush.ms", "no.such", "retention.ms"))])
    world.assert_configs(topic, {})


def test_changes_without_a_change_are_fine(world: World) -> None:
    topic = world.create("a", 1, {"retention.ms": "5"})
    world.admin().alter_configs([ConfigChange(topic)])
    world.admin().alter_configs([])
    world.assert_configs(topic, {"retention.ms": "5"})


def test_a_refused_change_changes_nothing_of_its_topic(world: World) -> None:
    good, bad = world.create("a"), world.create("b", 1, {"retention.ms": "5"})
    with pytest.raises(Refused) as refused:
        world.admin().alter_configs(
            [
                ConfigChange(bad, {"retention.ms": "6", "no.such": "1"}),
                ConfigChange(good, {"retention.ms": "6"}),
            ]
        )
    assert str(refused.value) == f"Kafka refused topic {bad}: Unknown topic config name: no.such"
    world.assert_configs(good, {"retention.ms": "6"})
    world.assert_configs(bad, {"retention.ms": "5"})


def test_setting_and_resetting_one_config_at_once_is_refused(world: World) -> None:
    topic = world.create("a")
    with pytest.raises(Refused, match="Duplicate ConfigEntry found"):
        world.admin().alter_configs([ConfigChange(topic, {"retention.ms": "5"}, ("retention.ms",))])


def test_altering_a_topic_that_brokers_do_not_know_is_worth_another_try(world: World) -> None:
    with pytest.raises(OutsideUnavailable, match=f"topic {world.prefix}_gone"):
        world.admin().alter_configs([ConfigChange(f"{world.prefix}_gone", {"retention.ms": "5"})])


def test_deleting_is_idempotent(world: World) -> None:
    kept, dropped = world.create("a"), world.create("b")
    ids = world.ids(dropped)
    world.admin().delete_topics({**ids, f"{world.prefix}_gone": NO_TOPIC})
    wait_until(lambda: dropped not in world.view().topics, "it is gone")
    world.admin().delete_topics(ids)
    world.admin().delete_topics({})
    world.shown(kept, 1)


def test_a_topic_that_was_made_anew_is_not_deleted_by_the_id_of_the_one_before(world: World) -> None:
    topic = world.create("a")
    before = world.ids(topic)
    world.admin().delete_topics(before)
    wait_until(lambda: topic not in world.view().topics, "it is gone")
    world.create("a")
    made_anew = wait_until(lambda: found if (found := world.ids(topic)) != before else None, "it has another id")
    world.admin().delete_topics(before)
    wait_until(lambda: world.ids(topic) == made_anew, "it keeps its id")
    world.shown(topic, 1)


def test_a_connection_that_others_use_as_well_outlives_the_one_that_is_forgotten(world: World) -> None:
    ours = world.create("a")
    other = world.clusters.connect(Key("other", "one"), KafkaConnection((world.server,)))
    world.clusters.forget(KEY)

    def told() -> KafkaView:
        view = other.view()
        assert isinstance(view, KafkaView)
        return view

    wait_until(lambda: ours in told().topics, "it is shown")
    wait_until(lambda: world.view() == told(), "both say the same")


def test_topics_of_others_are_shown(world: World) -> None:
    ours = world.create("a")
    theirs = f"{world.prefix}-theirs"
    world.clusters.connect(Key("other", "one"), KafkaConnection((world.server,))).create_topics(
        [NewTopic(theirs, 2, {})]
    )
    world.shown(theirs, 2)
    wait_until(lambda: {ours, theirs} <= world.view().topics.keys(), "both are shown")


def test_a_connection_is_kept_until_its_value_changes_or_it_is_forgotten(world: World) -> None:
    same = world.clusters.connect(KEY, KafkaConnection((world.server,)))
    assert world.clusters.connect(KEY, KafkaConnection((world.server,))) is same
    elsewhere = world.clusters.connect(KEY, KafkaConnection((NOBODY,)))
    assert elsewhere is not same
    world.clusters.forget(KEY)
    world.clusters.forget(KEY)
    assert isinstance(world.admin().view(), KafkaView)


def test_nobody_at_the_address_is_a_sentence(world: World) -> None:
    nobody = world.impatient.connect(KEY, KafkaConnection((NOBODY,)))
    view = nobody.view()
    assert isinstance(view, NoKafka)
    assert view.why is Unreachable.NOT_ANSWERING
    assert NOBODY in view.message
    with pytest.raises(OutsideUnavailable):
        nobody.delete_topics({f"{world.prefix}_gone": NO_TOPIC})


def test_known_brokers_are_those_that_live_and_those_that_have_replicas() -> None:
    topic = Topic("a", 1, replicas=(1, 4), isr=(1,), leader=1)
    assert KafkaView("id", frozenset({1, 2}), {"a": topic}).known_brokers() == {1, 2, 4}


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.integration)])
def forgetful(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """A Kafka that takes configs and keeps none: real brokers are told to validate them only."""
    if request.param == "real":
        kafka: KafkaProcesses = request.getfixturevalue("kafka")
        alter = AdminClient.incremental_alter_configs
        validate = partialmethod(alter, validate_only=True)
        monkeypatch.setattr(AdminClient, "incremental_alter_configs", validate)
        monkeypatch.setattr("seawall.adapters.kafka.admin.LED_TIMEOUT", 1.0)
        return World(ConfluentKafkaClusters(), kafka.bootstrap_servers[0], partial(override_by_tool, kafka))
    fake = FakeKafka(brokers=3)
    fake.unkept = frozenset({"flush.ms", "retention.ms"})
    return World(FakeKafkaClusters({"fake:9092": fake}), "fake:9092", partial(override_in_memory, fake))


def test_a_config_that_is_taken_and_not_kept_is_told(forgetful: World) -> None:
    topic, other = forgetful.create("a", configs={"retention.ms": "7"}), forgetful.create("b")
    change = ConfigChange(topic, {"retention.ms": "-1", "flush.ms": "60000"})
    with pytest.raises(NotSupported) as refused:
        forgetful.admin().alter_configs([change, ConfigChange(other, {"flush.ms": "60000"})])
    assert str(refused.value) == (
        f"Kafka took flush.ms, retention.ms of topic {topic} and 1 other, and keeps the value of before"
    )
    forgetful.admin().alter_configs([ConfigChange(topic, {"retention.ms": "7"})])
