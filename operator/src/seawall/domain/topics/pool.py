"""How the topics that exist compare with the pool that is declared, and what to do about it, in a safe order.

Kafka keeps some values in a form of its own: `TRUE` becomes `true`, ` 5` and `+005` become `5`, `a, b` becomes `a,b`
(seen on 4.3.1). Comparing texts would find drift for ever and repair it for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from seawall.api.v1alpha1.topic_pool import (
    COPY_DISABLE,
    DELETE_ON_DISABLE,
    GUARDED_CONFIGS,
    REASSIGNMENT_CONFIGS,
    REMOTE_STORAGE,
    TopicsSpec,
)
from seawall.domain.kafka import MIN_ISR, ConfigChange, Configs, KafkaView, NewTopic, Topic
from seawall.domain.min_isr import NO_LIMITS, Limit, Limits, most_min_isr
from seawall.domain.topics.actions import CreateTopics, GuardRetention, RepairConfigs, TopicAction


def is_same_value(one: str, other: str) -> bool:
    """Whether Kafka takes both texts for one value."""
    return one == other or _canonical(one) == _canonical(other)


def _canonical(text: str) -> tuple[str | float, ...]:
    return tuple(_canonical_item(item.strip()) for item in text.split(","))


def _canonical_item(item: str) -> str | float:
    if item.lower() in {"true", "false"}:
        return item.lower()
    try:
        return int(item)
    except ValueError:
        pass
    try:
        return float(item)
    except ValueError:
        return item


RETENTION_CONFIGS = ("cleanup.policy", "retention.ms", "retention.bytes")
"""The guarded configs whose absence lets Kafka itself remove records."""

LOCAL_RETENTION = {"local.retention.ms": "-2", "local.retention.bytes": "-2"}
"""As long as the retention. While copying is disabled, Kafka refuses any other retention than the local one."""


class TopicState(StrEnum):
    """State of one topic of the pool. A topic in several of them is in the first."""

    MISSING = "Missing"
    """Does not exist yet. Leaves when Kafka shows it."""
    PARTITIONS_DIFFER = "PartitionsDiffer"
    """Has more than one partition: reported, never changed, because entry ids are offsets of partition 0."""
    LEADERLESS = "Leaderless"
    """Has no leader: just created, or all its brokers are gone."""
    REPLICATION_FACTOR_DIFFERS = "ReplicationFactorDiffers"
    """Has another number of replicas than declared. Leaves when a reassignment has moved it."""
    DRIFTED = "Drifted"
    """A config differs. Leaves when it was repaired."""
    UNDER_MIN_ISR = "UnderMinISR"
    """Has fewer in-sync replicas than min.insync.replicas: Kafka refuses writes."""
    READY = "Ready"
    """As declared, and accepts writes."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The topic pool as observed.

    `states` has every topic of the pool by name; `changes` the config changes of the drifted ones; `guards` the changes
    that stop Kafka from removing records, foreign topics included.
    """

    states: Mapping[str, TopicState]
    guards: tuple[ConfigChange, ...]
    changes: tuple[ConfigChange, ...]
    foreign: tuple[str, ...]
    under_replicated: int

    def in_state(self, *states: TopicState) -> list[str]:
        """The names of the topics in one of the states, in the order of the pool."""
        return [name for name, state in self.states.items() if state in states]

    def without(self, names: Collection[str]) -> Pool:
        """The pool but for topics that are not to be changed."""
        if not names:
            return self
        return replace(
            self,
            states={name: state for name, state in self.states.items() if name not in names},
            guards=tuple(guard for guard in self.guards if guard.topic not in names),
            changes=tuple(change for change in self.changes if change.topic not in names),
        )


def desired_configs(spec: TopicsSpec, replication_factor: int) -> dict[str, str]:
    """The configs that a topic with this many replicas should have.

    min.insync.replicas stands only while it is below the topic's actual replication factor (or both are 1): a topic
    whose min.insync.replicas equals its replicas refuses all writes when one broker is down.
    """
    desired = {key: str(value) for key, value in spec.config.items()}
    desired |= GUARDED_CONFIGS
    desired["max.message.bytes"] = str(spec.max_message_bytes)
    desired["segment.bytes"] = str(spec.segment_bytes)
    min_isr = spec.effective_min_in_sync_replicas()
    if min_isr <= most_min_isr(replication_factor):
        desired[MIN_ISR] = str(min_isr)
    return desired


def observe_pool(
    spec: TopicsSpec, kafka: KafkaView, configs: Mapping[str, Configs], limits: Limits = NO_LIMITS
) -> Pool:
    """Compares what is declared with what Kafka shows.

    `configs` has the existing topics with the prefix; one without an entry is too new for all brokers to know it.
    `limits` is what a reassignment that may take replicas away lets min.insync.replicas be.
    """
    known = {name: kafka.topics[name] for name in wal_topics(spec, kafka)}
    specs = {name: _lowered(spec, limits.of(name)) for name in known}
    drift = {
        name: _drift(specs[name], topic, configs[name], limits.of(name))
        for name, topic in known.items()
        if name in configs
    }
    pool = spec.topic_names()
    wanted = set(pool)
    return Pool(
        states={name: _state(specs.get(name, spec), known.get(name), drift.get(name)) for name in pool},
        guards=tuple(guard for name in drift if (guard := _guard(name, configs[name]))),
        changes=tuple(drift[name] for name in pool if name in drift and drift[name].is_needed()),
        foreign=tuple(name for name in known if name not in wanted),
        under_replicated=sum(len(known[n].isr) < len(known[n].replicas) for n in pool if n in known),
    )


def _lowered(spec: TopicsSpec, limit: Limit | None) -> TopicsSpec:
    """What is declared, of a topic whose replicas go back: with as many in sync as its original ones can have."""
    if limit is None or not limit.is_lowered or limit.most >= spec.effective_min_in_sync_replicas():
        return spec
    return spec.model_copy(update={"min_in_sync_replicas": limit.most})


def wal_topics(spec: TopicsSpec, kafka: KafkaView) -> list[str]:
    """The existing topics `<prefix>_<index>`, of the pool and beyond it, by index."""
    indexed = ((spec.index_of(name), name) for name in kafka.topics_of(spec.prefix))
    return [name for _, name in sorted((index, name) for index, name in indexed if index is not None)]


def _guard(name: str, configs: Configs) -> ConfigChange | None:
    unsafe = {key: GUARDED_CONFIGS[key] for key in RETENTION_CONFIGS if not _has(configs, key, GUARDED_CONFIGS[key])}
    if unsafe and _has(configs, COPY_DISABLE, "true"):
        unsafe |= LOCAL_RETENTION
    unsafe |= _kept_on_disable(configs)
    return ConfigChange(name, set=unsafe) if unsafe else None


def _kept_on_disable(configs: Configs) -> dict[str, str]:
    """What lets tiered records stay whoever turns remote storage off; nothing for a Kafka that does not show it."""
    is_off = is_same_value(configs.get(DELETE_ON_DISABLE, "false"), "false")
    return {} if is_off else {DELETE_ON_DISABLE: "false"}


def _has(configs: Configs, key: str, value: str) -> bool:
    return key in configs and is_same_value(configs[key], value)


def _drift(spec: TopicsSpec, topic: Topic, configs: Configs, limit: Limit | None) -> ConfigChange:
    desired = desired_configs(spec, len(topic.replicas))
    if MIN_ISR in desired and _would_stop_writes(topic, _number(configs.get(MIN_ISR)), int(desired[MIN_ISR]), limit):
        del desired[MIN_ISR]
    if not _has(desired, REMOTE_STORAGE, "true"):  # turned off, it has Kafka delete what is tiered, or refuse
        desired.pop(REMOTE_STORAGE, None)
    keep = {*desired, *spec.ignored_configs, *REASSIGNMENT_CONFIGS, MIN_ISR, REMOTE_STORAGE, DELETE_ON_DISABLE}
    if COPY_DISABLE in keep and _has({**configs, **desired}, COPY_DISABLE, "true"):  # Kafka refuses any other then
        keep |= LOCAL_RETENTION.keys()
    desired |= _kept_on_disable(configs)
    return ConfigChange(
        topic.name,
        set={key: value for key, value in desired.items() if not _has(configs, key, value)},
        reset=tuple(sorted(key for key in configs if key not in keep)),
    )


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.strip().isdigit() else None


def _would_stop_writes(topic: Topic, now: int | None, desired: int, limit: Limit | None) -> bool:
    """Whether min.insync.replicas would be raised beyond what is in sync, or will be when a run took replicas back.

    While replicas are added, Kafka shows them among the others long before they are in sync.
    """
    if limit is not None and limit.forbids(now, desired):
        return True
    return desired > len(topic.isr) and (now is None or now < desired)


def _state(spec: TopicsSpec, topic: Topic | None, drift: ConfigChange | None) -> TopicState:
    if topic is None:
        return TopicState.MISSING
    findings = (
        (topic.partitions != 1, TopicState.PARTITIONS_DIFFER),
        (topic.leader is None or drift is None, TopicState.LEADERLESS),
        (len(topic.replicas) != spec.replication_factor, TopicState.REPLICATION_FACTOR_DIFFERS),
        (drift is not None and drift.is_needed(), TopicState.DRIFTED),
        (len(topic.isr) < spec.effective_min_in_sync_replicas(), TopicState.UNDER_MIN_ISR),
    )
    return next((state for holds, state in findings if holds), TopicState.READY)


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
    guarded = {guard.topic: guard.set for guard in pool.guards}
    repairs = tuple(rest for change in pool.changes if (rest := _beyond_guard(change, guarded)).is_needed())
    if repairs:
        actions.append(RepairConfigs(repairs))
    return actions


def _beyond_guard(change: ConfigChange, guarded: Mapping[str, Mapping[str, str]]) -> ConfigChange:
    done = guarded.get(change.topic, {})
    return replace(change, set={key: value for key, value in change.set.items() if key not in done})
