"""Records that Kafka keeps in remote storage (KIP-405): no change of a config lets Kafka delete them by itself."""

import pytest

from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.errors import Refused
from seawall.domain.kafka import ConfigChange
from seawall.domain.topics import pool as pool_module
from seawall.domain.topics.actions import CreateTopics, GuardRetention, RepairConfigs
from seawall.domain.topics.pool import Creation, TopicState, observe_pool, plan_topics
from tests.domain.builders import good_configs, make_kafka, make_topic
from tests.fakes.kafka import FakeKafka
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

SPEC = TopicsSpec(prefix="wal", count=2)
TIERED = {"remote_storage_enable": "true", "remote_log_delete_on_disable": "true", "local_retention_ms": "60000"}
ON_DISABLE = GuardRetention((ConfigChange("wal_0", set={"remote.log.delete.on.disable": "false"}),))


@pytest.mark.parametrize("declared", [{}, {"remote.storage.enable": "false"}, {"remote.storage.enable": "true"}])
@pytest.mark.parametrize("ignored", [(), ("remote.storage.enable",)])
def test_kafka_is_never_made_to_delete_what_is_tiered(declared: dict[str, str], ignored: tuple[str, ...]) -> None:
    """Kafka does, when remote storage is turned off while remote.log.delete.on.disable is true."""
    if set(declared) & set(ignored):
        return
    spec = TopicsSpec(prefix="wal", count=1, config=declared, ignored_configs=ignored)
    configs = {**good_configs(spec), **{key.replace("_", "."): value for key, value in TIERED.items()}}
    pool = observe_pool(spec, make_kafka(make_topic("wal_0")), {"wal_0": configs})
    assert pool.states["wal_0"] is TopicState.DRIFTED
    repair = RepairConfigs((ConfigChange("wal_0", reset=("local.retention.ms",)),))
    assert plan_topics(spec, pool, None) == [ON_DISABLE, repair]
    settled = {**configs, "remote.log.delete.on.disable": "false"}
    del settled["local.retention.ms"]
    pool = observe_pool(spec, make_kafka(make_topic("wal_0")), {"wal_0": settled})
    assert pool.states["wal_0"] is TopicState.READY, "remote storage stays, whatever is declared"
    assert plan_topics(spec, pool, None) == []


def test_remote_storage_is_turned_on_and_made_with_a_topic() -> None:
    spec = TopicsSpec(prefix="wal", count=2, config={"remote.storage.enable": "true"})
    configs = {key: value for key, value in good_configs(spec).items() if key != "remote.storage.enable"}
    pool = observe_pool(spec, make_kafka(make_topic("wal_0")), {"wal_0": configs})
    create, repair = plan_topics(spec, pool, Creation())
    assert isinstance(create, CreateTopics)
    assert create.topics[0].configs["remote.storage.enable"] == "true"
    assert repair == RepairConfigs((ConfigChange("wal_0", set={"remote.storage.enable": "true"}),))


def test_tiered_records_of_a_foreign_topic_are_guarded_too() -> None:
    configs = {**good_configs(SPEC), "remote.log.delete.on.disable": "TRUE"}
    pool = observe_pool(SPEC, make_kafka(make_topic("wal_7")), {"wal_7": configs})
    [guard] = plan_topics(SPEC, pool, None)
    assert guard == GuardRetention((ConfigChange("wal_7", set={"remote.log.delete.on.disable": "false"}),))
    assert guard.event().message.endswith("set remote.log.delete.on.disable=false on topic wal_7")


def test_a_retention_that_is_bound_to_the_local_one_is_guarded_with_it() -> None:
    """Kafka refuses one without the other while copying to remote storage is disabled, and went on deleting."""
    bound = {"retention.ms": "60000", "local.retention.ms": "60000", "remote.log.copy.disable": "true"}
    configs = {**good_configs(SPEC), "remote.storage.enable": "true", **bound}
    kafka = FakeKafka()
    kafka.add_topic("wal_0", configs=configs)
    view = make_kafka(make_topic("wal_0"))
    guard, _, repair = plan_topics(SPEC, observe_pool(SPEC, view, {"wal_0": configs}), Creation())
    assert isinstance(guard, GuardRetention)
    assert isinstance(repair, RepairConfigs)
    with pytest.raises(Refused, match=r"must be set to the identical value"):
        kafka.alter_configs([ConfigChange("wal_0", set={"retention.ms": "-1"})])
    assert guard.changes[0].set == {"retention.ms": "-1", "local.retention.ms": "-2", "local.retention.bytes": "-2"}
    kafka.alter_configs(guard.changes)
    assert kafka.topics["wal_0"].configs["retention.ms"] == "-1"
    kafka.alter_configs(repair.changes)
    left = kafka.topics["wal_0"].configs
    assert left.keys() & {"local.retention.ms", "remote.log.copy.disable"} == set()
    rest = RepairConfigs((ConfigChange("wal_0", reset=("local.retention.bytes",)),))
    assert plan_topics(SPEC, observe_pool(SPEC, view, {"wal_0": left}), None) == [rest]


@pytest.mark.parametrize(
    ("ignored", "declared"),
    [(("remote.log.copy.disable",), {}), ((), {"remote.log.copy.disable": "true"})],
    ids=["ignored", "declared"],
)
def test_the_local_retention_that_is_guarded_is_not_reset_while_copying_stays_disabled(
    ignored: tuple[str, ...], declared: dict[str, str]
) -> None:
    """Brokers may have another default, which Kafka refuses for as long."""
    spec = TopicsSpec(prefix="wal", count=1, config=declared, ignored_configs=ignored)
    bound = {"remote.log.copy.disable": "true", "local.retention.ms": "-2", "local.retention.bytes": "-2"}
    view, configs = make_kafka(make_topic("wal_0")), {**good_configs(spec), **bound}
    assert observe_pool(spec, view, {"wal_0": configs}).changes == ()
    configs["remote.log.copy.disable"] = "false"
    reset = ("local.retention.bytes", "local.retention.ms")
    over = [change.reset for change in observe_pool(spec, view, {"wal_0": configs}).changes]
    assert over == ([reset] if ignored else [()]), "what is declared is set first"


def test_kafka_refuses_to_turn_remote_storage_off_and_keep_what_is_there() -> None:
    kafka = FakeKafka()
    kafka.add_topic("wal_0", configs={"remote.storage.enable": "true"})
    off = ConfigChange("wal_0", reset=("remote.storage.enable",))
    with pytest.raises(Refused, match=r"invalid to disable remote storage without deleting remote data"):
        kafka.alter_configs([off])
    kafka.topics["wal_0"].configs["remote.log.delete.on.disable"] = "true"
    kafka.alter_configs([off])
    assert kafka.topics["wal_0"].configs == {"remote.log.delete.on.disable": "true"}


def test_every_guard_of_tiered_records_is_needed() -> None:
    def never() -> None:
        test_kafka_is_never_made_to_delete_what_is_tiered({}, ())

    def explicit() -> None:
        test_kafka_is_never_made_to_delete_what_is_tiered({"remote.storage.enable": "false"}, ())

    mutants: tuple[Mutant, ...] = (
        (rewritten(pool_module, "_drift", ", REMOTE_STORAGE, DELETE_ON_DISABLE}", ", DELETE_ON_DISABLE}"), never),
        (rewritten(pool_module, "_drift", ", REMOTE_STORAGE, DELETE_ON_DISABLE}", ", REMOTE_STORAGE}"), never),
        (rewritten(pool_module, "_drift", "desired.pop(REMOTE_STORAGE, None)", "pass"), explicit),
        (rewritten(pool_module, "_guard", "unsafe |= _kept_on_disable(configs)", ""), never),
        (
            rewritten(pool_module, "_guard", '_has(configs, COPY_DISABLE, "true")', "False"),
            test_a_retention_that_is_bound_to_the_local_one_is_guarded_with_it,
        ),
        (
            rewritten(pool_module, "_drift", "keep |= LOCAL_RETENTION.keys()", "pass"),
            lambda: test_the_local_retention_that_is_guarded_is_not_reset_while_copying_stays_disabled(
                ("remote.log.copy.disable",), {}
            ),
        ),
        (
            rewritten(pool_module, "_drift", "COPY_DISABLE in keep and ", ""),
            test_a_retention_that_is_bound_to_the_local_one_is_guarded_with_it,
        ),
    )
    assert find_survivors(mutants) == []
