"""Objects for tests, with everything that a test does not care about filled in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from seawall.api.meta import ObjectMeta
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.topic_pool import TopicsSpec
from seawall.domain import decision
from seawall.domain.cluster.actions import ClusterAction
from seawall.domain.cluster.decide import decide
from seawall.domain.cluster.going import LogNow, PoolNow, records_to_decide
from seawall.domain.cluster.lost import MissingTopics
from seawall.domain.cluster.observed import Needs, Observed
from seawall.domain.decision import Failure
from seawall.domain.kafka import Configs, KafkaView, Topic
from seawall.domain.kafka_log import LogOffsets
from seawall.domain.step import Act, Record, Step, Wait
from seawall.domain.topics.pool import desired_configs, observe_pool

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CLUSTER_ID = "cluster-1"
PINNED = WALClusterStatus(kafka=KafkaStatus(cluster_id=CLUSTER_ID, brokers=BrokersStatus(total=3, online=3)))


def make_spec(topics: Mapping[str, Any] | None = None, **spec: Any) -> WALClusterSpec:
    """A spec with a pool of two topics `wal_0` and `wal_1`, RF 3, unless told otherwise."""
    external = {"bootstrapServers": ["kafka:9092"], **spec.pop("external", {})}
    pool = {"prefix": "wal", "count": 2, **(topics or {})}
    return WALClusterSpec.model_validate({"kafka": {"external": external}, "topics": pool, **spec})


def make_cluster(
    spec: WALClusterSpec | None = None, status: WALClusterStatus | None = None, **metadata: Any
) -> WALCluster:
    """A WALCluster `default/db`."""
    meta = {
        "namespace": "default",
        "name": "db",
        "uid": "uid-1",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": NOW,
        **metadata,
    }
    return WALCluster(ObjectMeta.model_validate(meta), spec or make_spec(), status or WALClusterStatus())


def next_step(
    cluster: WALCluster, observed: Observed, failure: Failure | None = None
) -> Step[WALClusterStatus, ClusterAction]:
    """What one tick does; `failure`: what became of its actions."""
    return decision.settle(cluster, decide(cluster, observed), failure)


def settle(
    cluster: WALCluster, observed: Observed, failure: Failure | None = None
) -> tuple[WALCluster, Act[ClusterAction] | Wait]:
    """The first step that is no Record, and the WALCluster as the records before it left it."""
    step = next_step(cluster, observed, failure)
    for _ in range(3):
        if not isinstance(step, Record):
            return cluster, step
        cluster = replace(cluster, status=step.status)
        step = next_step(cluster, observed, failure)
    raise AssertionError(f"a step that is recorded for ever: {step}")


def make_topic(name: str, replicas: Sequence[int] = (1, 2, 3), **other: Any) -> Topic:
    """A healthy topic."""
    values = {"partitions": 1, "isr": tuple(replicas), "leader": replicas[0], **other}
    return Topic(name, replicas=tuple(replicas), **values)


def make_kafka(*topics: Topic, online: Sequence[int] = (1, 2, 3), cluster_id: str = CLUSTER_ID) -> KafkaView:
    """A cluster with these topics."""
    return KafkaView(cluster_id, frozenset(online), {topic.name: topic for topic in topics})


def good_configs(spec: TopicsSpec, replication_factor: int = 3, **overrides: str | None) -> Configs:
    """The declared configs; overrides have `_` for `.`, and None removes."""
    configs: dict[str, str] = desired_configs(spec, replication_factor)
    for name, value in overrides.items():
        key = name.replace("_", ".")
        configs.pop(key, None)
        if value is not None:
            configs[key] = value
    return configs


def make_log(name: str, end: int = 0) -> LogNow:
    """A log."""
    return LogNow(f"id-of-{name}", LogOffsets(0, end, 0))


def make_pool(names: Iterable[str]) -> PoolNow:
    """Empty logs, which were decided to go with the WALCluster of `make_cluster`."""
    logs = {name: make_log(name) for name in names}
    return PoolNow(logs, records_to_decide(make_cluster(), PoolNow(logs)))


def observe(
    spec: WALClusterSpec, kafka: KafkaView, configs: Mapping[str, Configs] | None = None, **other: Any
) -> Observed:
    """What a tick sees; topics without an entry in `configs` have the declared ones, and nobody needs them.

    No missing topic was ever in use, and all logs were decided to go with a WALCluster that is deleted.
    """
    found = {name: good_configs(spec.topics) for name in kafka.topics} | dict(configs or {})
    other.setdefault("needs", Needs(holds=(), observation=None, pool=make_pool(name for name in kafka.topics)))
    other.setdefault("missing", MissingTopics())
    return Observed(now=NOW, kafka=kafka, pool=observe_pool(spec.topics, kafka, found), **other)
