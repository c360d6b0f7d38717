"""What to do about the topic pool: a list of actions in the order in which they keep data safe."""

from __future__ import annotations

from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.topics.actions import (
    ConfigChange,
    CreateTopics,
    GuardRetention,
    NewTopic,
    RepairConfigs,
    TopicAction,
)
from seawall.domain.topics.pool import RETENTION_CONFIGS, Pool, TopicState, desired_configs


def plan_topics(spec: TopicsSpec, pool: Pool, *, may_create: bool) -> list[TopicAction]:
    """The actions that bring the pool to what is declared.

    First of all Kafka is stopped from removing WAL records, then missing topics are created (unless there are too few
    brokers for their replicas), then the other configs are repaired.
    """
    actions: list[TopicAction] = []
    if pool.guards:
        actions.append(GuardRetention(pool.guards))
    missing = pool.in_state(TopicState.MISSING)
    if missing and may_create:
        configs = desired_configs(spec, spec.replication_factor)
        actions.append(CreateTopics(tuple(NewTopic(name, spec.replication_factor, configs) for name in missing)))
    guarded = {guard.topic for guard in pool.guards}
    repairs = tuple(rest for change in pool.changes if (rest := _beyond_guard(change, guarded)).is_needed())
    if repairs:
        actions.append(RepairConfigs(repairs))
    return actions


def _beyond_guard(change: ConfigChange, guarded: set[str]) -> ConfigChange:
    if change.topic not in guarded:
        return change
    rest = {key: value for key, value in change.set.items() if key not in RETENTION_CONFIGS}
    return ConfigChange(change.topic, rest, change.reset)
