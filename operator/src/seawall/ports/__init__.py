"""The outside, as Seawall needs it: small protocols.

Each has a real adapter and, in tests, a fake that passes the same contract tests.
All calls block, have a deadline, and raise only `seawall.domain.errors`.
"""

from seawall.ports.access import Access, AccessReviews, PathAccess
from seawall.ports.clocks import Clock, Stopwatch
from seawall.ports.data_plane import DataPlane, DataPlaneParts, DataPlanes, Ledgers, MaintenanceSwitch, MetadataStore
from seawall.ports.kafka import KafkaAdmin, KafkaLogs
from seawall.ports.kafka_clusters import KafkaClusters
from seawall.ports.kafka_pods import KafkaPods
from seawall.ports.kafka_users import KafkaUsers
from seawall.ports.kube import IntentStore, Kube, SparkApplications, Workloads
from seawall.ports.managed_kafka import KafkaObjects
from seawall.ports.meters import (
    BackupMeter,
    BackupPolicyMeter,
    BrokerMeter,
    HoldMeter,
    LedgerMeter,
    PolicyMeter,
    ReassignmentMeter,
    RestartMeter,
    RestoreMeter,
    RunMeter,
    SubscriptionMeter,
    TopicMeter,
    VerificationMeter,
)
from seawall.ports.object_store import ObjectStore, ObjectStores
from seawall.ports.partition_reassigner import PartitionReassigner
from seawall.ports.strimzi import Strimzi

__all__ = [
    "Access",
    "AccessReviews",
    "BackupMeter",
    "BackupPolicyMeter",
    "BrokerMeter",
    "Clock",
    "DataPlane",
    "DataPlaneParts",
    "DataPlanes",
    "HoldMeter",
    "IntentStore",
    "KafkaAdmin",
    "KafkaClusters",
    "KafkaLogs",
    "KafkaObjects",
    "KafkaPods",
    "KafkaUsers",
    "Kube",
    "LedgerMeter",
    "Ledgers",
    "MaintenanceSwitch",
    "MetadataStore",
    "ObjectStore",
    "ObjectStores",
    "PartitionReassigner",
    "PathAccess",
    "PolicyMeter",
    "ReassignmentMeter",
    "RestartMeter",
    "RestoreMeter",
    "RunMeter",
    "SparkApplications",
    "Stopwatch",
    "Strimzi",
    "SubscriptionMeter",
    "TopicMeter",
    "VerificationMeter",
    "Workloads",
]
