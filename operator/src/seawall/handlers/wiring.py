"""All controllers of one operator process, on the ports that they are given: real ones, or those of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.controllers.backup import WALBackupController
from seawall.controllers.backup_policy import WALBackupPolicyController
from seawall.controllers.brokers import BrokersController
from seawall.controllers.cluster import WALClusterController
from seawall.controllers.datanodes import RestartController
from seawall.controllers.hold import WALHoldController
from seawall.controllers.kafka_config import KafkaConfigController
from seawall.controllers.kafka_in_sync import KafkaInSyncController
from seawall.controllers.kafka_removal import KafkaRemovalController
from seawall.controllers.kafka_roll import KafkaRollController
from seawall.controllers.kafka_security import KafkaSecurityController
from seawall.controllers.kafka_volumes import KafkaVolumesController
from seawall.controllers.kafka_voters import KafkaVotersController
from seawall.controllers.ledger import LedgerWatch
from seawall.controllers.managed_kafka import ManagedKafkaController
from seawall.controllers.policy import WALPurgePolicyController
from seawall.controllers.purge import WALPurgeController
from seawall.controllers.reassignment import ReplicationController
from seawall.controllers.restore import WALRestoreController
from seawall.controllers.schedule import VerificationScheduleController
from seawall.controllers.subscription import WALSubscriptionController
from seawall.controllers.topic_deletion import TopicDeletion
from seawall.controllers.verification import WALVerificationController
from seawall.observe.chains import ChainObserver
from seawall.observe.datanodes import DatanodeObserver
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import ClusterOpener
from seawall.observe.partitions import PartitionObserver
from seawall.observe.shared_brokers import BrokersObserver
from seawall.observe.subscription import SubscriptionObserver
from seawall.observe.subscription_parts import SubscriptionReader
from seawall.ports import (
    BackupMeter,
    BackupPolicyMeter,
    BrokerMeter,
    Clock,
    DataPlanes,
    HoldMeter,
    IntentStore,
    KafkaClusters,
    KafkaObjects,
    KafkaPods,
    Kube,
    LedgerMeter,
    ObjectStores,
    PolicyMeter,
    ReassignmentMeter,
    RestartMeter,
    RestoreMeter,
    RunMeter,
    SparkApplications,
    Stopwatch,
    Strimzi,
    SubscriptionMeter,
    TopicMeter,
    VerificationMeter,
    Workloads,
)
from seawall.reconciler import Controller

QUEUES = len(RESOURCES) + 12
"""One of each kind, and those of the ledgers, the schedules, the replicas, the brokers, the restarts, and of the nodes
of managed Kafkas, their restarts, their removal, their votes, their readiness, their volumes and their users."""


class WALMeter(
    LedgerMeter,
    PolicyMeter,
    RunMeter,
    HoldMeter,
    VerificationMeter,
    BackupMeter,
    RestoreMeter,
    BackupPolicyMeter,
    Protocol,
):
    """Where numbers of ledgers and of what works on them go."""


@dataclass(frozen=True, slots=True)
class Meters:
    """Where numbers go."""

    topics: TopicMeter
    wal: WALMeter
    reassignments: ReassignmentMeter
    restarts: RestartMeter
    brokers: BrokerMeter
    subscriptions: SubscriptionMeter


@dataclass(frozen=True, slots=True)
class Outside:
    """All that a process reaches."""

    kube: Kube
    kafka_clusters: KafkaClusters
    data_planes: Callable[[], DataPlanes]
    """Makes clients of databases, which remember what they read; all else here remembers nothing of objects."""
    intents: IntentStore
    applications: SparkApplications
    workloads: Workloads
    kafka_pods: KafkaPods
    clock: Clock
    stopwatch: Stopwatch
    object_stores: ObjectStores
    operator_namespace: str
    """The namespace of this process."""
    strimzi: Strimzi | None = None
    kafka_objects: KafkaObjects | None = None
    """None: this process may not run a Kafka; the chart gives the rights for it together with the setting."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """The controllers, and what pages of the process show.

    Attributes:
        controllers: all of them, each with a queue of its own.
        beside: the kinds of those that look at WALClusters beside the controller of that name: an event wakes them all.
    """

    controllers: tuple[Controller[Any, Any, Any, Any], ...]
    beside: tuple[str, ...]
    ledgers: LedgerObserver
    watch_of_ledgers: LedgerWatch
    replication: ReplicationController


def wire(
    outside: Outside, meters: Meters, wake_wal_cluster: Callable[[Key], None], wake_hold: Callable[[Key], None]
) -> Wiring:
    """Makes the controllers of a process, with nothing in their memory.

    Args:
        outside: its ports.
        meters: where its numbers go.
        wake_wal_cluster: told the key of a WALCluster of which a look at its ledger found something new.
        wake_hold: told the key of a WALHold whose records are gone.
    """
    kube, clock, stopwatch, strimzi = outside.kube, outside.clock, outside.stopwatch, outside.strimzi
    clusters, applications, wal = outside.kafka_clusters, outside.applications, meters.wal
    opener = ClusterOpener(kube, clusters, outside.data_planes())
    ledgers = LedgerObserver(opener, outside.intents, clock, stopwatch)
    watch_of_ledgers = LedgerWatch(kube, ledgers, wake_wal_cluster, wake_hold, wal)
    partitions = PartitionObserver(kube, clusters, strimzi)
    replication = ReplicationController(kube, partitions, clock, meters.reassignments)
    observer = DatanodeObserver(kube, outside.workloads, opener.data_planes, ledgers, partitions, clock)
    kafkas, buckets = SubscriptionObserver(kube, clusters, opener), ChainObserver(kube, outside.object_stores)
    reader_of_subscriptions = SubscriptionReader(kube, applications, kafkas, buckets, ledgers, clock, stopwatch)
    beside: tuple[Controller[Any, Any, Any, Any], ...] = (
        watch_of_ledgers,
        VerificationScheduleController(kube, clock, wal),
        replication,
        BrokersController(kube, clusters, clock, BrokersObserver(stopwatch), meters.brokers, strimzi),
        RestartController(kube, outside.workloads, observer, stopwatch, meters.restarts),
        ManagedKafkaController(kube, outside.kafka_objects, clusters, clock, stopwatch, outside.operator_namespace),
        KafkaRemovalController(kube, outside.kafka_objects, clusters, clock, stopwatch),
        KafkaVotersController(kube, outside.kafka_objects, clusters, clock, stopwatch),
        KafkaRollController(
            kube, outside.kafka_objects, outside.workloads, clusters, ledgers, clock, stopwatch, meters.restarts
        ),
        KafkaInSyncController(kube, outside.kafka_objects, outside.kafka_pods, clusters, clock, stopwatch),
        KafkaVolumesController(kube, outside.kafka_objects, clock),
        KafkaSecurityController(kube, clusters, clock, outside.kafka_objects is not None),
        KafkaConfigController(kube, clusters, clock, outside.kafka_objects is not None),
    )
    deletion = TopicDeletion(kube, ledgers, strimzi)
    controllers: tuple[Controller[Any, Any, Any, Any], ...] = (
        WALClusterController(kube, clusters, watch_of_ledgers, clock, meters.topics, deletion),
        *beside,
        WALPurgePolicyController(kube, clock, watch_of_ledgers, wal),
        WALPurgeController(kube, ledgers, clock, stopwatch, wal),
        WALHoldController(kube, ledgers, clock, wal),
        WALVerificationController(kube, applications, ledgers, clock, wal),
        WALBackupController(kube, applications, ledgers, clock, wal),
        WALBackupPolicyController(kube, clock, wal),
        WALRestoreController(
            kube, applications, clusters, outside.workloads, ledgers, clock, stopwatch, wal, strimzi=strimzi
        ),
        WALSubscriptionController(kube, applications, kafkas, reader_of_subscriptions, clock, meters.subscriptions),
    )
    return Wiring(controllers, tuple(each.kind for each in beside), ledgers, watch_of_ledgers, replication)
