"""The outside, as Seawall needs it: small protocols.

Each has a real adapter and, in tests, a fake that passes the same contract tests.
All calls block, have a deadline, and raise only `seawall.domain.errors`.
"""

from seawall.ports.clocks import Clock, Stopwatch
from seawall.ports.data_plane import DataPlane, DataPlaneParts, DataPlanes, Ledgers, MaintenanceSwitch, MetadataStore
from seawall.ports.kafka import KafkaAdmin, KafkaClusters, KafkaLogs, PartitionReassigner
from seawall.ports.kube import Datanodes, IntentStore, Kube, SparkApplications
from seawall.ports.meters import (
    BackupMeter,
    BackupPolicyMeter,
    BrokerMeter,
    HoldMeter,
    LedgerMeter,
    PolicyMeter,
    ReassignmentMeter,
    RestartMeter,
    RunMeter,
    SubscriptionMeter,
    TopicMeter,
    VerificationMeter,
)
from seawall.ports.object_store import ObjectStore, ObjectStores
from seawall.ports.strimzi import Strimzi

__all__ = [
    "BackupMeter",
    "BackupPolicyMeter",
    "BrokerMeter",
    "Clock",
    "DataPlane",
    "DataPlaneParts",
    "DataPlanes",
    "Datanodes",
    "HoldMeter",
    "IntentStore",
    "KafkaAdmin",
    "KafkaClusters",
    "KafkaLogs",
    "Kube",
    "LedgerMeter",
    "Ledgers",
    "MaintenanceSwitch",
    "MetadataStore",
    "ObjectStore",
    "ObjectStores",
    "PartitionReassigner",
    "PolicyMeter",
    "ReassignmentMeter",
    "RestartMeter",
    "RunMeter",
    "SparkApplications",
    "Stopwatch",
    "Strimzi",
    "SubscriptionMeter",
    "TopicMeter",
    "VerificationMeter",
]
