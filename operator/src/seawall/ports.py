"""The outside, as Seawall needs it: small protocols.

Each has a real adapter and, in tests, a fake that passes the same contract tests.
All calls block, have a deadline, and raise only `seawall.domain.errors`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from seawall.api.meta import Key
from seawall.api.resource import AnyResource, Listing, Resource, ResourceT, SpecT, StatusT
from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.api.v1alpha1.wal_cluster import WALCluster
from seawall.api.v1alpha1.wal_purge import WALPurgeStatus
from seawall.api.v1alpha1.wal_verification import WALVerificationStatus
from seawall.domain.brokers.view import BrokersFound
from seawall.domain.dataplane.connection import DataPlaneConnection, NoDataPlane
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.metadata import MarkerMove, MetadataSnapshot
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.intent_shards import IntentShard, PoolId, UnreadableShard
from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NoKafka
from seawall.domain.kafka_log import (
    DeleteOutcome,
    DescribedTopic,
    EpochEnd,
    EpochUnknown,
    FirstSince,
    LogOffsets,
    LogSizes,
    TopicFailure,
)
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.ledger.numbers import LedgerNumbers
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.partitions import (
    Broker,
    Partition,
    PartitionId,
    Quorum,
    Rates,
    Reassigning,
    Sizes,
    ThrottledReplicas,
    Throttles,
)
from seawall.domain.rollout.workload import Eviction, Pod, StatefulSet
from seawall.domain.step import Event
from seawall.domain.topics.actions import ConfigChange, NewTopic
from seawall.domain.topics.pool import Pool
from seawall.domain.verification.spark import Driver, SparkApplication
from seawall.domain.walconfig.config_map import ConfigMap


class KafkaAdmin(Protocol):
    """One Kafka cluster. Every call is one batch: one request for a thousand topics, not a thousand requests.

    Topics of one request that Kafka does not refuse are created or altered, whatever becomes of the others.
    """

    def view(self) -> KafkaView | NoKafka:
        """Asks for the cluster's metadata; what hinders the answer is a value, with its sentence."""
        ...

    def describe_configs(self, topics: Sequence[str]) -> Mapping[str, Configs]:
        """The configs set on the topics themselves. A topic that vanished meanwhile is left out.

        Brokers learn of topics and changes one after another: right after a write, the answer may still be the old one.

        Raises:
            Refused: Kafka said no to some of them: an impossible name, or no right to describe.
            OutsideUnavailable: Kafka did not answer for all of them.
        """
        ...

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Creates topics with one partition each; one that exists already is no error.

        Raises:
            Refused: Kafka said no to some of them; the message is its sentence for the first.
            OutsideUnavailable: Kafka did not answer for some of them; they may exist or not.
        """
        ...

    def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Sets and resets configs (IncrementalAlterConfigs).

        Raises:
            Refused: Kafka said no to some of them; the message is its sentence for the first.
            OutsideUnavailable: Kafka did not answer for some of them.
        """
        ...

    def delete_topics(self, names: Sequence[str]) -> None:
        """Deletes topics; one that does not exist is no error.

        Raises:
            Refused: Kafka said no.
            OutsideUnavailable: Kafka did not answer for some of them.
        """
        ...


class KafkaLogs(Protocol):
    """The logs of partition 0 of many topics. Every call is a few requests, however many topics it is about.

    What Kafka does not tell of a topic is a value and leaves the other topics alone: when no broker answers, each topic
    is unanswered. A topic named twice counts once.

    All of them raise OutsideUnavailable when the connection makes no sense, as with a certificate that is none.
    """

    def describe_topics(self, topics: Collection[str]) -> Mapping[str, DescribedTopic | TopicFailure]:
        """The ids of topics, with replicas, in-sync replicas and leader as in a view."""
        ...

    def describe_offsets(self, topics: Collection[str]) -> Mapping[str, LogOffsets | TopicFailure]:
        """Log start, high watermark and leader epoch. The log start is read first: it is not ahead of the other."""
        ...

    def find_first_since(self, topics: Collection[str], since: datetime) -> Mapping[str, FirstSince | TopicFailure]:
        """The first record of each log whose timestamp is at or after `since`."""
        ...

    def describe_epoch_ends(self, epochs: Mapping[str, int]) -> Mapping[str, EpochEnd | EpochUnknown | TopicFailure]:
        """Where the given epoch of each topic ends now; worth asking when a leader epoch is not the one remembered."""
        ...

    def describe_sizes(self, topics: Collection[str]) -> Mapping[str, LogSizes | TopicFailure]:
        """Bytes on disk of every replica."""
        ...

    def delete_records(self, before: Mapping[str, int]) -> Mapping[str, DeleteOutcome]:
        """Deletes the records before each offset, which is exclusive: that record stays. One batch, see DELETE_BATCH.

        An offset below 1 or beyond the high watermark, which is read for it, is refused and not sent: to Kafka, -1
        means everything. Kafka addresses the topic by its name: whether it still is the same topic is for the caller
        to look at, right before.
        """
        ...


class PartitionReassigner(Protocol):
    """Where the partitions of one Kafka cluster are, and how they are moved. Every call is a few requests.

    All of them raise OutsideUnavailable when Kafka does not answer as a whole: what was asked for may have happened.
    All but `reassign` and `elect_preferred_leaders` raise Refused when Kafka says no, with its sentence.
    """

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers by id, online or fenced; `known_brokers` adds those that are only remembered."""
        ...

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, tuple[Partition, ...] | TopicFailure]:
        """All partitions of each topic, or of all topics that there are, in their order."""
        ...

    def min_insync_replicas(self, topics: Collection[str]) -> Mapping[str, int | TopicFailure]:
        """What is in force for each topic, be it set on the topic or a default of the brokers."""
        ...

    def ongoing(self) -> Mapping[PartitionId, Reassigning]:
        """Every reassignment of the cluster that is not done, whoever began it."""
        ...

    def reassign(self, targets: Mapping[PartitionId, tuple[int, ...] | None]) -> Mapping[PartitionId, TopicFailure]:
        """Gives each partition these replicas, the preferred leader first; None cancels what is on its way.

        A partition that has the replicas already, or is not on its way, is no failure. One that is cancelled has its
        replicas back, but in the order of the target: another preferred leader, until they are given once more. Kafka
        lets a new target take the place of an old one in mid-way; cancelling first is easier to reason about.

        Returns:
            What Kafka did not accept, each with its sentence.
        """
        ...

    def throttles(self, topics: Collection[str]) -> Throttles:
        """The rates in force, and what of these topics they apply to; a topic that does not exist is left out."""
        ...

    def alter_throttles(self, rates: Rates | None, replicas: Mapping[str, ThrottledReplicas]) -> None:
        """Sets the rates of all brokers, dead ones too, and what of these topics they apply to.

        Args:
            rates: exactly these, so that a None in them removes that one; None: they stay as they are.
            replicas: by topic; where nothing is throttled, the configs are removed, and a topic that does not exist is
                no error then. Other topics stay as they are.
        """
        ...

    def elect_preferred_leaders(self, partitions: Collection[PartitionId]) -> Mapping[PartitionId, TopicFailure]:
        """Lets the first replica of each lead; where it does already, nothing happens, and that is no failure.

        Returns:
            Where it does not lead: it is not in sync, say.
        """
        ...

    def sizes(self, topics: Collection[str] | None = None) -> Sizes:
        """Bytes on disk of every replica of these topics, or of all; what does not exist is left out."""
        ...

    def quorum(self) -> Quorum:
        """The controllers."""
        ...


class KafkaClusters(Protocol):
    """Connections to Kafka clusters, kept while what they were made from stays the same; equal ones may be one."""

    def connect(self, key: Key, connection: KafkaConnection) -> KafkaAdmin:
        """The connection of the object `key`; a changed address, certificate or password makes a new one."""
        ...

    def logs(self, key: Key, connection: KafkaConnection) -> KafkaLogs:
        """The logs of the same cluster. Deletes have connections of their own: nothing else waits for them."""
        ...

    def reassigner(self, key: Key, connection: KafkaConnection) -> PartitionReassigner:
        """The partitions of the same cluster. Its connections live for one call."""
        ...

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone, unless others use it."""
        ...


class Kube(Protocol):
    """The API server. Reads are never cached."""

    def get(self, resource: type[ResourceT], key: Key) -> ResourceT | None:
        """Reads an object of a kind; None when there is none."""
        ...

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        """All objects of a kind in a namespace, or in the operator's scope, as far as it may read them."""
        ...

    def list_claims(self, prefix: str) -> Listing[WALCluster]:
        """The WALClusters with this topic prefix in the operator's scope, as far as it may read them."""
        ...

    def create(
        self, resource: type[Resource[SpecT, Any]], key: Key, spec: SpecT, owner: AnyResource | None = None
    ) -> None:
        """Creates an object; `owner` will control it, and take it along when it is deleted.

        Raises:
            Conflict: there is one with this name.
        """
        ...

    def delete(self, obj: AnyResource) -> None:
        """Deletes `obj` as it was read; one that is gone is no error.

        Raises:
            Conflict: it changed since.
        """
        ...

    def replace_status(self, obj: Resource[Any, StatusT], status: StatusT) -> None:
        """Replaces the status of `obj` as it was read.

        Raises:
            Conflict: it changed since.
        """
        ...

    def set_finalizers(self, obj: AnyResource, finalizers: Sequence[str]) -> None:
        """Replaces the finalizers of `obj` as it was read.

        Raises:
            Conflict: it changed since.
        """
        ...

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap; None when there is none."""
        ...

    def write_config_map(self, owner: AnyResource, config_map: ConfigMap) -> None:
        """Creates the ConfigMap when its resource version is None, else replaces that version; `owner` will control it.

        Raises:
            Conflict: it changed, or appeared, since it was read.
        """
        ...

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """The data of a Secret; None when there is none."""
        ...

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted."""
        ...

    def post_event(self, obj: AnyResource, event: Event) -> None:
        """Posts an Event about `obj`. Failing to do so is logged and no error: events are for people."""
        ...


class SparkApplications(Protocol):
    """SparkApplications of the Spark Operator, and their drivers. Reads are never cached."""

    def get(self, key: Key) -> SparkApplication | None:
        """Reads an application; None when there is none, as where there is no Spark Operator."""
        ...

    def create(self, owner: AnyResource, key: Key, spec: Mapping[str, Any], service_account: str) -> None:
        """Creates an application that `owner` controls, and takes along when it is deleted.

        Raises:
            Conflict: there is one with this name.
            Refused: there is no Spark Operator, or no such service account; the message says what to install.
        """
        ...

    def delete(self, application: SparkApplication) -> None:
        """Deletes an application as it was read, and with it whatever of it runs; one that is gone is no error.

        Raises:
            Conflict: another one has its name now.
        """
        ...

    def describe_driver(self, application: SparkApplication) -> Driver:
        """How the driver's container ended, or why it does not start; None: it runs, or there is none."""
        ...


class Datanodes(Protocol):
    """The StatefulSet of the datanodes, and its pods. Reads are never cached."""

    def get(self, key: Key) -> StatefulSet | None:
        """Reads the StatefulSet; None when there is none."""
        ...

    def pods(self, statefulset: StatefulSet) -> tuple[Pod, ...]:
        """The pods that it controls, by their place; others that its selector fits are left out."""
        ...

    def evict(self, pod: Pod) -> Eviction:
        """Lets the pod end, and no later one of its name, as far as PodDisruptionBudgets allow it.

        Doing it again is harmless: a pod that ends already ends.

        Raises:
            OutsideUnavailable: the API server did not answer; the pod may end, and no later one does.
        """
        ...

    def set_partition(self, statefulset: StatefulSet, partition: int) -> None:
        """Sets the partition of the RollingUpdate of the StatefulSet as it was read.

        Raises:
            Conflict: it changed since, or is gone.
        """
        ...

    def set_config_hash(self, statefulset: StatefulSet, config_hash: str, partition: int | None) -> None:
        """Writes the configuration's hash into the pod template, and the partition with it unless that is None.

        Raises:
            Conflict: it changed since, or is gone.
        """
        ...


class DataPlane(Protocol):
    """The database that writes the WAL."""

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every datanode, of dead ones too: how old each is, it says itself.

        Raises:
            PartUnavailable: the metasrv did not answer.
            PartRefused: what answered is no metasrv, or its answer makes no sense.
        """
        ...

    def check_frontend(self) -> None:
        """Asks the frontend whether it is there.

        Raises:
            PartUnavailable: it did not answer.
            PartRefused: what answered is no frontend.
        """
        ...

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Asks for flushes, a few at a time, and waits for each; returns those that were not flushed.

        A flush of an empty memtable is no failure, and moves no flushed entry id.

        Raises:
            PartUnavailable: the frontend did not answer for one; it and others may have been flushed.
            PartRefused: what answered is no frontend, or it does not let us in.
        """
        ...

    def set_maintenance(self, *, enabled: bool) -> None:
        """Enters or leaves maintenance: no failover and no balancing while it lasts. It is one switch for all.

        Raises:
            PartUnavailable: the metasrv did not answer; it may have happened.
            PartRefused: it said no.
        """
        ...

    def in_maintenance(self) -> bool:
        """Whether maintenance is on, by whomever.

        Raises:
            PartUnavailable: the metasrv did not answer.
            PartRefused: what answered is no metasrv.
        """
        ...


class MetadataStore(Protocol):
    """Where the database keeps its metadata."""

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision, read whole or not at all.

        Raises:
            PartUnavailable: it did not answer, or the revision was compacted while it was read.
            PartRefused: it does not let us in, a page is truncated, or a key or value makes no sense.
        """
        ...

    def advance_markers(self, moves: Sequence[MarkerMove]) -> Mapping[str, str]:
        """Moves pruned markers up, each in one transaction with its two comparisons; a transaction may hold several.

        The marker is as it was `seen`, and nothing under the topic's region keys is newer than `revision`, at which the
        decision's snapshot was read.

        Returns:
            By topic why its marker did not move: a comparison failed. Read again and decide again.

        Raises:
            PartUnavailable: no answer; any may have moved. Doing it again is harmless: the comparisons fail.
            PartRefused: it does not let us in or write.
        """
        ...


@dataclass(frozen=True, slots=True)
class DataPlaneParts:
    """The parts of one database."""

    data_plane: DataPlane
    metadata_store: MetadataStore


class DataPlanes(Protocol):
    """Connections to databases, kept while what they were made from stays the same."""

    def connect(self, key: Key, connection: DataPlaneConnection) -> DataPlaneParts:
        """The parts of the object `key`'s database; nothing is sent yet.

        Raises:
            PartRefused: a certificate or key makes no sense.
        """
        ...

    def forget(self, key: Key) -> None:
        """Drops the connections of an object that is gone."""
        ...


class DataPlaneLooks(Protocol):
    """Looks at data planes in the background: a tick never waits for a database."""

    def latest(self, key: Key, connection: DataPlaneConnection) -> DataPlaneView | NoDataPlane | None:
        """What the last finished look of the object `key` found, and begins another if that is a while ago.

        None: there was none yet by this connection. The object is woken when a look finds something new.
        """
        ...

    def forget(self, key: Key) -> None:
        """Ends the looks of an object that is gone, or has no data plane any more."""
        ...


class Ledgers(Protocol):
    """The newest looks at ledgers, made by somebody else: a tick never waits for one."""

    def latest(self, key: Key) -> LedgerPage | CannotLook | None:
        """What the newest look at the ledger of the object `key` found; None: there was none yet."""
        ...


class IntentStore(Protocol):
    """The intents of deletes and the identity fence's records, in shards that outlive their WALCluster; uncached."""

    def read(self, pool: PoolId, shards: Collection[int]) -> Mapping[int, IntentShard | UnreadableShard]:
        """Reads shards; one that was never written is empty, and one that cannot be trusted says so."""
        ...

    def write(self, pool: PoolId, shard: int, content: IntentShard) -> None:
        """Replaces one shard, if it still is at the version in `content`.

        Raises:
            Conflict: it is not: read again, and decide again.
        """
        ...


class Clock(Protocol):
    """Wall clock time, in UTC."""

    def now(self) -> datetime:
        """The current time."""
        ...


class Stopwatch(Protocol):
    """A clock that only rises: for how long ago something was seen. It means nothing to another process."""

    def milliseconds(self) -> int:
        """The time since an arbitrary moment."""
        ...


class TopicMeter(Protocol):
    """Where the metrics of topic pools go."""

    def measure(self, key: Key, pool: Pool | None) -> None:
        """Replaces the metrics of one object's pool; None clears them, because nothing is known."""
        ...

    def forget(self, key: Key) -> None:
        """Removes the metrics of an object that is gone."""
        ...


class BrokerMeter(Protocol):
    """Where the metrics of brokers and controllers go."""

    def measure_brokers(self, key: Key, found: BrokersFound | None) -> None:
        """Replaces the metrics of one WALCluster's brokers; None clears them, because nothing is known."""
        ...

    def forget_brokers(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, or whose Kafka cannot be asked."""
        ...


class ReassignmentMeter(Protocol):
    """Where the metrics of reassignments go."""

    def measure_reassignment(self, key: Key, run: ReassignmentStatus | None, throttled_topics: int | None) -> None:
        """Replaces the metrics of one WALCluster's run, and how many topics are throttled; None: nobody asked."""
        ...

    def forget_reassignment(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone."""
        ...


class LedgerMeter(Protocol):
    """Where the metrics of ledgers go."""

    def measure_ledger(self, key: Key, numbers: LedgerNumbers | None) -> None:
        """Replaces the metrics of one WALCluster's ledger; None: nobody can look, and only that is known."""
        ...

    def forget_ledger(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, or has no data plane."""
        ...


class RunMeter(Protocol):
    """Where the metrics of runs go."""

    def count_run(self, cluster: Key, status: WALPurgeStatus) -> None:
        """Counts a run of this WALCluster that has just ended."""
        ...


class HoldMeter(Protocol):
    """Where the metrics of holds go that a look does not show, because they are over."""

    def count_lost_hold(self, cluster: Key) -> None:
        """Counts a hold on this WALCluster that was just written Lost."""
        ...


class VerificationMeter(Protocol):
    """Where the metrics of verifications go."""

    def count_verification(self, cluster: Key, status: WALVerificationStatus) -> None:
        """Counts a verification of this WALCluster that has just ended."""
        ...

    def measure_verified(self, cluster: Key, ended: datetime) -> None:
        """Tells of a verification that completed; the newest one counts."""
        ...


class PolicyMeter(Protocol):
    """Where the metrics of policies go."""

    def measure_policy(self, key: Key, last_success: datetime, period: timedelta | None) -> None:
        """Replaces the metrics of one policy; without a period no run is expected, and there are none.

        Args:
            key: the policy.
            last_success: when a run last completed; before that, when the policy was made.
            period: time from one run to the next.
        """
        ...

    def forget_policy(self, key: Key) -> None:
        """Removes the metrics of a policy that is gone."""
        ...
