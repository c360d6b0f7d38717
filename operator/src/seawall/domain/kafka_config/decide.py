"""What the controller of configs decides: a pure function of the object and of what was observed.

what is ours is written down → Kafka has what is declared, and what is not declared any more is taken back

A config is in the status before Kafka has it, so that one that leaves the spec is found again. What others set stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seawall.api.meta import PAUSED_ANNOTATION, Condition, ConditionType
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.kafka_config_status import KafkaConfigStatus
from seawall.api.v1alpha1.managed_kafka import ManagedKafka
from seawall.domain.clocks import TrustedTime
from seawall.domain.conditions import (
    ConditionBuilder,
    Outlook,
    Verdict,
    find_condition,
    loss_event,
    of_kinds,
    status_of,
    with_own,
)
from seawall.domain.decision import UNANSWERED, Decision, Published, silent
from seawall.domain.kafka import MIN_ISR, Configs, command_without
from seawall.domain.kafka_config.actions import ChangeConfigs
from seawall.domain.kafka_config.reasons import ConfigReason
from seawall.domain.managed_kafka.properties import default_min_isr
from seawall.domain.text import few
from seawall.domain.times import MANAGED_KAFKA_IDLE_SECONDS, MANAGED_KAFKA_POLL_SECONDS
from seawall.domain.topics.pool import is_same_value

KIND = ConditionType.KAFKA_CONFIG_APPLIED
ConfigDecision = Decision[WALClusterStatus, ChangeConfigs]
_UNKNOWN = frozenset({ConfigReason.NOT_ASKED, ConfigReason.PAUSED})


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees.

    Attributes:
        kafka: the defaults of all brokers; a sentence: why it was not asked, or did not answer.
        own: by broker what was set on it alone, of what is declared.
    """

    time: TrustedTime
    kafka: Configs | str = "nobody has asked it"
    own: Mapping[int, Configs] = field(default_factory=dict)


def recorded_keys(cluster: WALCluster) -> tuple[str, ...]:
    """The configs in the status."""
    found = cluster.status.kafka_config
    return () if found is None else found.keys


def decide(cluster: WALCluster, observed: Observed) -> ConfigDecision:
    """What one tick decides."""
    managed, recorded = cluster.managed_kafka, recorded_keys(cluster)
    if managed is None or not (managed.dynamic_config or recorded):
        return silent(cluster, "no config is declared that brokers take while they run")
    if cluster.metadata.deletion_timestamp is not None:
        return silent(cluster, "the WALCluster goes")
    wanted = _wanted(managed, recorded)
    gone = [key for key in recorded if key not in managed.dynamic_config]
    keys = tuple(sorted({*managed.dynamic_config, *(key for key in gone if not _has(observed, key, wanted[key]))}))
    status = cluster.status.model_copy(update={"kafka_config": KafkaConfigStatus(keys=keys) if keys else None})
    actions = _actions(observed, wanted)
    verdict = _verdict(observed, actions, managed)
    is_paused = cluster.metadata.is_paused
    if is_paused and actions:
        verdict = Verdict(Outlook.PAUSED, ConfigReason.PAUSED, f"{PAUSED_ANNOTATION} is set; {verdict.message}")

    def publish(found: Verdict) -> Published[WALClusterStatus]:
        return _published(cluster, status, observed, found)

    return Decision(status, verdict, () if is_paused else actions, publish, publishes_first=True, published_in=KIND)


def _wanted(managed: ManagedKafka, recorded: tuple[str, ...]) -> dict[str, str | None]:
    """What is declared, and that what was is taken back; Kafka lets nobody take min.insync.replicas back."""
    wanted: dict[str, str | None] = dict.fromkeys(recorded)
    if MIN_ISR in wanted:
        wanted[MIN_ISR] = str(default_min_isr(managed))
    return wanted | dict(managed.dynamic_config)


def _has(observed: Observed, key: str, wanted: str | None) -> bool:
    """Whether Kafka is known to have it so."""
    if isinstance(observed.kafka, str):
        return False
    found = observed.kafka.get(key)
    return found is wanted if found is None or wanted is None else is_same_value(found, wanted)


def _actions(observed: Observed, wanted: dict[str, str | None]) -> tuple[ChangeConfigs, ...]:
    if isinstance(observed.kafka, str):
        return ()
    changes = tuple((key, value) for key, value in sorted(wanted.items()) if not _has(observed, key, value))
    before = tuple((key, observed.kafka[key]) for key, _ in changes if key in observed.kafka)
    return (ChangeConfigs(changes, before),) if changes else ()


def _verdict(observed: Observed, actions: tuple[ChangeConfigs, ...], managed: ManagedKafka) -> Verdict:
    if isinstance(observed.kafka, str):
        return Verdict(Outlook.PROGRESSING, ConfigReason.NOT_ASKED, observed.kafka, MANAGED_KAFKA_POLL_SECONDS)
    if actions:
        said = f"set or taken back of all brokers: {few(key for key, _ in actions[0].changes)}"
        return Verdict(Outlook.PROGRESSING, ConfigReason.CHANGING, said, 0.0)
    if (overridden := _overridden(observed, managed)) is not None:
        return Verdict(Outlook.STALLED, ConfigReason.OVERRIDDEN, overridden, MANAGED_KAFKA_IDLE_SECONDS)
    said = f"all brokers have {few(sorted(managed.dynamic_config))} as declared"
    return Verdict(Outlook.READY, ConfigReason.APPLIED, said, MANAGED_KAFKA_IDLE_SECONDS)


def _overridden(observed: Observed, managed: ManagedKafka) -> str | None:
    """Which broker has something else than is declared, and how that ends; the first of them."""
    for broker, configs in sorted(observed.own.items()):
        other = {
            key: value
            for key, value in sorted(configs.items())
            if key in managed.dynamic_config and not is_same_value(value, managed.dynamic_config[key])
        }
        if other:
            has = few(f"{key}={value}" for key, value in other.items())
            return f"broker {broker} has {has} of its own, which wins; take it back: {command_without(broker, other)}"
    return None


def _published(
    cluster: WALCluster, status: WALClusterStatus, observed: Observed, found: Verdict
) -> Published[WALClusterStatus]:
    """The status with the condition, which goes with the last config."""
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, observed.time.now)
    own = () if status.kafka_config is None else (build(KIND, status_of(found, _UNKNOWN), found.reason, found.message),)
    conditions = with_own(cluster.status.conditions, own, (KIND,))
    event = loss_event(cluster.status.conditions, conditions, KIND, "Kafka has its configs")
    is_worth_an_event = event is not None and event.reason != ConfigReason.CHANGING
    full = status.model_copy(update={"conditions": conditions})
    return Published(full, (event,) if event is not None and is_worth_an_event else ())


def own_conditions(status: WALClusterStatus) -> tuple[Condition, ...]:
    """What is said of configs, as it was written."""
    return of_kinds(status.conditions, KIND)


def standing(cluster: WALCluster) -> Verdict | None:
    """What keeps a declared config from being in force; None: nothing, or it is not known."""
    found = find_condition(cluster.status.conditions, KIND)
    if found is None or found.status != "False":
        return None
    outlook = Outlook.PROGRESSING if found.reason in {ConfigReason.CHANGING, UNANSWERED} else Outlook.STALLED
    return Verdict(outlook, found.reason, found.message, MANAGED_KAFKA_POLL_SECONDS)
