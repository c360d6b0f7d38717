"""What to do about the topic pool: a list of actions in the order in which they keep data safe."""

from __future__ import annotations

from dataclasses import dataclass

from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain.kafka import ConfigChange, NewTopic
from seawall.domain.topics.actions import CreateTopics, GuardRetention, RepairConfigs, TopicAction
from seawall.domain.topics.pool import RETENTION_CONFIGS, Pool, TopicState, desired_configs


@dataclass(frozen=True, slots=True)
class Creation:
    """What may be created of the missing topics.

    Attributes:
        kept: those that must not be: they were written to, or nobody knows.
        readopted: those that were written to, and that a person lets be made again.
        grounds: why that person does.
    """

    kept: frozenset[str] = frozenset()
    readopted: tuple[str, ...] = ()
    grounds: str = ""


def plan_topics(spec: TopicsSpec, pool: Pool, creation: Creation | None) -> list[TopicAction]:
    """The actions that bring the pool to what is declared.

    First of all Kafka is stopped from removing WAL records, then missing topics are created (None: none, as there are
    too few brokers for their replicas, say), then the other configs are repaired.
    """
    actions: list[TopicAction] = []
    if pool.guards:
        actions.append(GuardRetention(pool.guards))
    missing = [name for name in pool.in_state(TopicState.MISSING) if creation and name not in creation.kept]
    if missing and creation is not None:
        configs = desired_configs(spec, spec.replication_factor)
        topics = tuple(NewTopic(name, spec.replication_factor, configs) for name in missing)
        actions.append(CreateTopics(topics, creation.readopted, creation.grounds))
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
