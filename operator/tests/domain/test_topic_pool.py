"""How existing topics compare with the declared pool, and what is planned about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.api.v1alpha1.topic_pool import GUARDED_CONFIGS, TopicsSpec
from seawall.domain.kafka import ConfigChange, Topic
from seawall.domain.min_isr import Limit, Limits
from seawall.domain.topics.actions import CreateTopics, GuardRetention, RepairConfigs
from seawall.domain.topics.pool import (
    RETENTION_CONFIGS,
    Creation,
    Pool,
    TopicState,
    desired_configs,
    observe_pool,
    plan_topics,
    wal_topics,
)
from tests.domain.builders import good_configs, make_kafka, make_topic

SPEC = TopicsSpec(prefix="wal", count=2, config={"flush.messages": 7}, ignored_configs=("flush.ms",))


def pool_of(*topics: Topic, **overrides: str | None) -> Pool:
    """The pool with these topics, whose configs are the declared ones but for the overrides."""
    kafka = make_kafka(*topics)
    configs = {topic.name: good_configs(SPEC, len(topic.replicas), **overrides) for topic in topics}
    return observe_pool(SPEC, kafka, configs)


@pytest.mark.parametrize(
    ("topic", "state"),
    [
        (make_topic("wal_0"), TopicState.READY),
        (make_topic("wal_0", isr=(1, 2)), TopicState.READY),
        (make_topic("wal_0", isr=(1,)), TopicState.UNDER_MIN_ISR),
        (make_topic("wal_0", leader=None), TopicState.LEADERLESS),
        (make_topic("wal_0", partitions=2), TopicState.PARTITIONS_DIFFER),
        (make_topic("wal_0", partitions=2, leader=None), TopicState.PARTITIONS_DIFFER),
        (make_topic("wal_0", replicas=(1, 2)), TopicState.REPLICATION_FACTOR_DIFFERS),
        (make_topic("wal_0", replicas=(1, 2, 3, 4)), TopicState.REPLICATION_FACTOR_DIFFERS),
    ],
)
def test_the_state_of_a_topic(topic: Topic, state: TopicState) -> None:
    pool = pool_of(topic)
    assert pool.states == {"wal_0": state, "wal_1": TopicState.MISSING}


def test_a_topic_whose_configs_are_not_known_yet_is_not_created_again() -> None:
    pool = observe_pool(SPEC, make_kafka(make_topic("wal_0"), make_topic("wal_1")), {})
    assert set(pool.states.values()) == {TopicState.LEADERLESS}
    assert plan_topics(SPEC, pool, Creation()) == []


def test_min_insync_replicas_is_raised_only_once_so_many_replicas_are_in_sync() -> None:
    """While replicas are added, Kafka shows them long before they are in sync: writes would stop."""
    moving = make_topic("wal_0", isr=(1,))
    assert pool_of(moving, min_insync_replicas=None).changes == ()
    assert pool_of(moving, min_insync_replicas="1").changes == ()
    arrived = make_topic("wal_0", isr=(1, 3))
    expected = (ConfigChange("wal_0", set={"min.insync.replicas": "2"}),)
    assert pool_of(arrived, min_insync_replicas="1").changes == expected
    assert pool_of(moving, min_insync_replicas="3").changes == expected, "it is lowered at once"


@pytest.mark.parametrize(
    ("limit", "now", "after"),
    [
        (None, "2", "2"),
        (None, "1", "2"),
        (Limit(1, is_lowered=False), "2", "2"),
        (Limit(1, is_lowered=False), "1", "1"),
        (Limit(1, is_lowered=True), "2", "1"),
        (Limit(1, is_lowered=True), "1", "1"),
        (Limit(2, is_lowered=True), "1", "2"),
    ],
)
def test_a_run_limits_min_insync_replicas_of_its_own_topics_only(limit: Limit | None, now: str, after: str) -> None:
    topics = make_topic("wal_0"), make_topic("wal_1")
    configs = {topic.name: good_configs(SPEC, min_insync_replicas=now) for topic in topics}
    limits = Limits({} if limit is None else {"wal_0": limit})
    pool = observe_pool(SPEC, make_kafka(*topics), configs, limits)
    changed = {change.topic: change.set for change in pool.changes}
    assert changed.get("wal_0", {}).get("min.insync.replicas", now) == after
    assert changed.get("wal_1", {}).get("min.insync.replicas", now) == "2"


def test_a_topic_that_a_run_lowers_is_not_under_its_own_min_isr() -> None:
    topics = make_topic("wal_0", isr=(1,)), make_topic("wal_1", isr=(1,))
    configs = {topic.name: good_configs(SPEC, min_insync_replicas="1") for topic in topics}
    pool = observe_pool(SPEC, make_kafka(*topics), configs, Limits({"wal_0": Limit(1, is_lowered=True)}))
    assert pool.states == {"wal_0": TopicState.READY, "wal_1": TopicState.UNDER_MIN_ISR}


@pytest.mark.parametrize(
    ("overrides", "change"),
    [
        ({"flush_messages": "8"}, ConfigChange("wal_0", set={"flush.messages": "7"})),
        ({"flush_messages": None}, ConfigChange("wal_0", set={"flush.messages": "7"})),
        ({"preallocate": "true"}, ConfigChange("wal_0", reset=("preallocate",))),
        ({"min_insync_replicas": "1"}, ConfigChange("wal_0", set={"min.insync.replicas": "2"})),
    ],
)
def test_drift_is_repaired(overrides: dict[str, str | None], change: ConfigChange) -> None:
    pool = pool_of(make_topic("wal_0"), **overrides)
    assert pool.states["wal_0"] is TopicState.DRIFTED
    assert plan_topics(SPEC, pool, None) == [RepairConfigs((change,))]


def test_ignored_configs_and_the_throttles_of_a_running_reassignment_are_left_alone() -> None:
    pool = pool_of(
        make_topic("wal_0"),
        make_topic("wal_1"),
        flush_ms="1",
        leader_replication_throttled_replicas="*",
        follower_replication_throttled_replicas="*",
    )
    assert plan_topics(SPEC, pool, Creation()) == []


@pytest.mark.parametrize("key", RETENTION_CONFIGS)
def test_retention_is_guarded_before_anything_else(key: str) -> None:
    configs = {**good_configs(SPEC), "flush.messages": "8"}
    del configs[key]
    pool = observe_pool(SPEC, make_kafka(make_topic("wal_0")), {"wal_0": configs})
    guard, create, repair = plan_topics(SPEC, pool, Creation())
    assert guard == GuardRetention((ConfigChange("wal_0", set={key: GUARDED_CONFIGS[key]}),))
    assert isinstance(create, CreateTopics)
    assert repair == RepairConfigs((ConfigChange("wal_0", set={"flush.messages": "7"}),))


def test_a_foreign_topic_is_guarded_and_otherwise_left_alone() -> None:
    pool = observe_pool(
        SPEC, make_kafka(make_topic("wal_7"), make_topic("wal_x"), make_topic("wal_01")), {"wal_7": {"flush.ms": "1"}}
    )
    assert pool.foreign == ("wal_7",)
    unsafe = {key: GUARDED_CONFIGS[key] for key in RETENTION_CONFIGS}
    assert plan_topics(SPEC, pool, None) == [GuardRetention((ConfigChange("wal_7", set=unsafe),))]


@pytest.mark.parametrize(
    ("actual", "declared", "written"),
    [(3, 3, "2"), (4, 3, "2"), (2, 3, None), (1, 3, None), (1, 1, "1"), (2, 1, "1")],
)
def test_min_insync_replicas_is_written_only_below_the_actual_replication_factor(
    actual: int, declared: int, written: str | None
) -> None:
    spec = TopicsSpec(prefix="wal", replication_factor=declared)
    assert desired_configs(spec, actual).get("min.insync.replicas") == written


def test_too_high_min_insync_replicas_on_a_small_topic_is_not_reset_either() -> None:
    pool = pool_of(make_topic("wal_0", replicas=(1, 2)), min_insync_replicas="2")
    assert plan_topics(SPEC, pool, None) == []


def test_nothing_is_created_while_brokers_are_missing() -> None:
    assert plan_topics(SPEC, pool_of(), None) == []


CONFIGS = st.dictionaries(
    st.sampled_from(
        [
            *GUARDED_CONFIGS,
            "flush.ms",
            "flush.messages",
            "min.insync.replicas",
            "preallocate",
            "remote.storage.enable",
            "remote.log.delete.on.disable",
            "local.retention.ms",
        ]
    ),
    st.sampled_from(["-1", "1", "delete", "compact", "true"]),
)


@given(found=st.dictionaries(st.sampled_from(["wal_0", "wal_1", "wal_2", "other_0"]), CONFIGS))
def test_after_its_actions_a_pool_has_nothing_left_to_do(found: dict[str, dict[str, str]]) -> None:
    topics = {name: make_topic(name) for name in found}
    configs = {name: dict(values) for name, values in found.items()}
    untouched = dict(configs.get("other_0", {}))
    for action in plan_topics(SPEC, observe_pool(SPEC, make_kafka(*topics.values()), configs), Creation()):
        match action:
            case CreateTopics():
                topics |= {new.name: make_topic(new.name) for new in action.topics}
                configs |= {new.name: dict(new.configs) for new in action.topics}
            case GuardRetention() | RepairConfigs():
                for change in action.changes:
                    configs[change.topic] |= change.set
                    configs[change.topic] = {k: v for k, v in configs[change.topic].items() if k not in change.reset}
            case _:
                pytest.fail(f"{action} was planned for a living pool")
    pool = observe_pool(SPEC, make_kafka(*topics.values()), configs)
    assert plan_topics(SPEC, pool, Creation()) == []
    assert set(pool.states.values()) == {TopicState.READY}
    assert configs.get("other_0", {}) == untouched
    for name in ("wal_0", "wal_1", "wal_2"):
        assert name not in configs or all(configs[name][key] == GUARDED_CONFIGS[key] for key in RETENTION_CONFIGS)
        assert configs.get(name, {}).get("remote.log.delete.on.disable", "false") == "false"
        was = found.get(name, {}).get("remote.storage.enable")
        assert was is None or configs[name]["remote.storage.enable"] == was


def test_the_guard_covers_every_way_by_which_kafka_removes_records() -> None:
    assert set(RETENTION_CONFIGS) == {"cleanup.policy", "retention.ms", "retention.bytes"}


def test_a_value_that_kafka_keeps_in_its_own_form_is_no_drift() -> None:
    spec = TopicsSpec(prefix="wal", count=1, config={"preallocate": "TRUE", "flush.messages": " 7"})
    configs = {**good_configs(spec), "preallocate": "true", "flush.messages": "7"}
    pool = observe_pool(spec, make_kafka(make_topic("wal_0")), {"wal_0": configs})
    assert pool.states == {"wal_0": TopicState.READY}


PARTS = st.sampled_from(["wal", "wal_1", "w", "", "_", "7", "01", "٣", "x"])


@given(st.sets(st.lists(PARTS, min_size=1, max_size=3).map("_".join)), st.sampled_from(["wal", "wal_1", "w"]))
def test_the_topics_of_a_pool_are_found_without_a_search_among_those_of_all_others(
    names: set[str], prefix: str
) -> None:
    spec, view = TopicsSpec(prefix=prefix), make_kafka(*(make_topic(name) for name in sorted(names)))
    searched = sorted((index, name) for name in names if (index := spec.index_of(name)) is not None)
    assert wal_topics(spec, view) == [name for _, name in searched]
    assert wal_topics(spec, view) == wal_topics(spec, view)


def test_the_brokers_that_a_view_knows_stay_the_same() -> None:
    view = make_kafka(make_topic("wal_0", replicas=(1, 9)))
    assert view.known_brokers() == view.known_brokers() >= {1, 9}
    assert view == make_kafka(make_topic("wal_0", replicas=(1, 9))), "what was found out is no part of it"
