"""A Kafka that Seawall runs for one WALCluster (`spec.kafka.managed`): node pools, as people declare them.

What this version does not do yet is refused here, and the rule says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictStr

from seawall.api.duration import Duration, duration_rule
from seawall.api.meta import APIModel, Rule
from seawall.api.text import SPACE
from seawall.api.v1alpha1.kafka_dynamic_configs import DYNAMIC_CONFIGS
from seawall.api.v1alpha1.kafka_node_pools import NodePool
from seawall.api.v1alpha1.managed_network import ManagedNetworkPolicy
from seawall.api.v1alpha1.managed_security import ManagedSecurity
from seawall.api.v1alpha1.topic_pool import CONFIG_KEY

CLIENT_PORT = 9092
INTERNAL_PORT = 9091
"""Where brokers find each other; of one that is secured Seawall, too, and whoever has a certificate."""

GUARDED_PROPERTIES = (
    "advertised[.]|allow[.]everyone|authorizer[.]|auto[.]create[.]topics|broker[.](id|rack|session)|config[.]providers"
    "|controller[.](listener|quorum)|cordoned[.]|early[.]start|inter[.]broker|listener|log[.]dir|metadata[.]log[.]dir|node[.]id|principal[.]|process[.]roles"
    "|sasl[.]|security[.]|ssl[.]|super[.]users|unclean[.]|unstable[.]"
)
"""How server properties begin that Seawall sets itself, or that would make records go."""

SHORTEST_DWELL = timedelta(seconds=10)
"""Where records matter: brokers are fenced within nine seconds."""

_PROPERTY_VALUE = r"^[^\r\n\\]*$"
"""One line of a properties file, and no more."""


class ManagedRollout(APIModel):
    """How nodes are restarted one by one when what they are made of changes."""

    RULES: ClassVar[tuple[Rule, ...]] = (duration_rule("startBudget"), duration_rule("dwell"))

    start_budget: Annotated[Duration, Field(json_schema_extra={"default": "10m"})] = timedelta(minutes=10)
    """How long a node may take from when its pod goes until it is Online and in sync. After that people are called, and
    no other node is restarted. Recovering the logs of a node that crashed takes longest."""
    dwell: Annotated[Duration, Field(json_schema_extra={"default": "15s"})] = timedelta(seconds=15)
    """For so long each look has to show a node Online and in sync before the next one goes. At least 10s: a broker that
    is cut off answers what was true up to nine seconds before. Less is only for tests, with security.insecure."""


class ManagedDeletionPolicy(StrEnum):
    """What becomes of the volumes when the WALCluster is deleted."""

    RETAIN = "Retain"
    """Volumes and identity stay; the same WALCluster, applied again, goes on with them."""


def _pool_rules() -> tuple[Rule, ...]:
    return (
        Rule(
            "self.nodePools.filter(p, p.roles.exists(r, r == 'controller')).size() == 1",
            "nodePools: exactly one has the role controller in its roles",
            lambda kafka: sum(pool.is_controller for pool in kafka.node_pools) == 1,
        ),
        Rule(
            "self.nodePools.exists(p, p.roles.exists(r, r == 'broker'))",
            "a pool has the role broker",
            lambda kafka: any(pool.is_broker for pool in kafka.node_pools),
        ),
        Rule(
            "self.nodePools.all(p, self.nodePools.exists_one(q, q.firstId == p.firstId))",
            "firstId is another one in each pool",
            lambda kafka: len({pool.first_id for pool in kafka.node_pools}) == len(kafka.node_pools),
        ),
        Rule(
            "self.nodePools.filter(p, p.roles.exists(r, r == 'broker')).map(p, p.replicas).sum() <= 32",
            "at most 32 brokers",
            lambda kafka: len(tuple(kafka.broker_ids)) <= MOST_BROKERS,
        ),
        Rule(
            "oldSelf.nodePools.all(q, self.nodePools.exists(p, p.name == q.name))",
            "nodePools may only become more: lower replicas, down to 1, to take nodes out",
        ),
    )


MOST_BROKERS = 32


class ManagedKafka(APIModel):
    """A Kafka that Seawall runs."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *_pool_rules(),
        Rule(
            f"!has(self.config) || self.config.all(key, key.matches('{CONFIG_KEY}'))",
            "config keys are Kafka's server properties such as num.io.threads",
            lambda kafka: all(re.fullmatch(CONFIG_KEY, key) for key in kafka.config),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !key.matches('^({GUARDED_PROPERTIES})'))",
            "config must not set what Seawall sets itself: ids, roles, listeners, quorum, directories, security,"
            " unclean elections",
            lambda kafka: not any(re.match(GUARDED_PROPERTIES, key) for key in kafka.config),
        ),
        Rule(
            "self.security.insecure || !has(self.rollout) || !has(self.rollout.dwell)"
            " || duration(self.rollout.dwell) >= duration('10s')",
            "rollout.dwell must be at least 10s: a broker that is cut off answers what was true up to nine seconds"
            " before; less is for tests, with security.insecure",
            lambda kafka: kafka.security.insecure or kafka.rollout.dwell >= SHORTEST_DWELL,
        ),
    )

    version: Annotated[StrictStr, Field(max_length=16, pattern=r"^4[.][123][.][0-9]{1,3}$")]
    """Kafka's version, 4.1 to 4.3. Another one restarts nodes one by one. An older one is possible until the features
    of the newer are finalized (`kafka-features.sh upgrade`), which Seawall leaves to people. With `image`, edit
    both."""
    image: Annotated[StrictStr, Field(min_length=1, max_length=512, pattern=rf"^[^{SPACE}]+$")] | None = None
    """Its image: /opt/kafka/libs, Java and a POSIX shell are needed. Default: apache/kafka:<version>. A change restarts
    nodes one by one."""
    node_pools: Annotated[
        tuple[NodePool, ...], Field(min_length=1, max_length=8, json_schema_extra={"map_keys": ["name"]})
    ]
    """Its nodes. Pools of brokers may be added."""
    config: Annotated[
        dict[str, Annotated[StrictStr, Field(max_length=512, pattern=_PROPERTY_VALUE)]], Field(max_length=64)
    ] = Field(default_factory=dict)
    """More server properties, of all nodes. What Kafka takes while it runs is set as a default of all brokers
    (docs/kafka.md#configs); a change of all else restarts nodes one by one."""
    security: ManagedSecurity
    """Who may connect."""
    network_policy: ManagedNetworkPolicy = ManagedNetworkPolicy()
    """Whose connections reach its pods. A change restarts nothing."""
    rollout: ManagedRollout = ManagedRollout()
    """How changes get to nodes that run."""
    deletion_policy: ManagedDeletionPolicy = ManagedDeletionPolicy.RETAIN
    """What becomes of the volumes when this WALCluster is deleted."""

    def without(self, gone: frozenset[int]) -> ManagedKafka:
        """The same Kafka, no node of which has one of these ids."""
        return self.model_copy(update={"node_pools": tuple(pool.without(gone) for pool in self.node_pools)})

    @property
    def nodes(self) -> Iterator[tuple[int, NodePool]]:
        """Every node id and its pool, by id."""
        return iter(sorted((node, pool) for pool in self.node_pools for node in pool.node_ids))

    @property
    def broker_ids(self) -> Iterator[int]:
        """The ids of the brokers."""
        return iter(sorted(node for pool in self.node_pools if pool.is_broker for node in pool.node_ids))

    @property
    def controller_ids(self) -> Iterator[int]:
        """The ids of the controllers."""
        return iter(sorted(node for pool in self.node_pools if pool.is_controller for node in pool.node_ids))

    @property
    def dynamic_config(self) -> Mapping[str, str]:
        """What brokers take while they run."""
        return {key: value for key, value in self.config.items() if key in DYNAMIC_CONFIGS}

    @property
    def static_config(self) -> Mapping[str, str]:
        """What stands in the files of nodes, which read it at their start."""
        return {key: value for key, value in self.config.items() if key not in DYNAMIC_CONFIGS}

    @property
    def effective_image(self) -> str:
        """The image of its pods."""
        return self.image or f"apache/kafka:{self.version}"


def node_name(cluster: str, node: int) -> str:
    """What the StatefulSet and the Service of a node are called."""
    return f"{cluster}-{node}"


def node_host(namespace: str, cluster: str, node: int) -> str:
    """The host name of a node; it outlives its pods."""
    return f"{node_name(cluster, node)}.{namespace}.svc"


def client_servers(namespace: str, cluster: str, kafka: ManagedKafka, port: int = CLIENT_PORT) -> tuple[str, ...]:
    """Where clients find the brokers, host:port."""
    return tuple(f"{node_host(namespace, cluster, node)}:{port}" for node in kafka.broker_ids)
