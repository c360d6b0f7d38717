"""The outside, as Seawall needs it: small protocols.

Each has a real adapter and, in tests, a fake that passes the same contract tests.
All calls block, have a deadline, and raise only `seawall.domain.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterStatus
from seawall.domain.dataplane.connection import DataPlaneConnection, NoDataPlane
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.metadata import MetadataSnapshot, TopicMarker
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.kafka import Configs, KafkaConnection, KafkaView, NoKafka
from seawall.domain.step import Event
from seawall.domain.topics.actions import ConfigChange, NewTopic
from seawall.domain.topics.pool import Pool
from seawall.domain.wal_cluster.rival import Claims
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


class KafkaClusters(Protocol):
    """Connections to Kafka clusters, kept while what they were made from stays the same; equal ones may be one."""

    def connect(self, key: Key, connection: KafkaConnection) -> KafkaAdmin:
        """The connection of the object `key`; a changed address, certificate or password makes a new one."""
        ...

    def forget(self, key: Key) -> None:
        """Closes the connection of an object that is gone, unless others use it."""
        ...


class Kube(Protocol):
    """The API server. Reads are never cached."""

    def get_wal_cluster(self, key: Key) -> WALCluster | None:
        """Reads a WALCluster; None when there is none."""
        ...

    def list_claims(self, prefix: str) -> Claims:
        """The WALClusters with this topic prefix in the operator's scope, as far as it may read them."""
        ...

    def replace_wal_cluster_status(self, cluster: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status of `cluster` as it was read.

        Raises:
            Conflict: it changed since.
        """
        ...

    def set_finalizers(self, cluster: WALCluster, finalizers: Sequence[str]) -> None:
        """Replaces the finalizers of `cluster` as it was read.

        Raises:
            Conflict: it changed since.
        """
        ...

    def get_config_map(self, key: Key) -> ConfigMap | None:
        """Reads a ConfigMap; None when there is none."""
        ...

    def write_config_map(self, owner: WALCluster, config_map: ConfigMap) -> None:
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

    def post_event(self, cluster: WALCluster, event: Event) -> None:
        """Posts an Event about `cluster`. Failing to do so is logged and no error: events are for people."""
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

    def advance_marker(self, topic: str, pruned_entry_id: int, *, seen: TopicMarker, revision: int) -> None:
        """Moves a topic's pruned marker up, in one transaction with two comparisons.

        The marker is as it was `seen`, and nothing under the topic's region keys is newer than `revision`, at which the
        decision's snapshot was read: a region that was born in between would open above rows that it needs.

        Raises:
            ValueError: the marker would not rise.
            Conflict: one comparison failed: read again and decide again.
            PartUnavailable: no answer; it may have happened. Doing it again is harmless: the comparison fails.
            PartRefused: it does not let us in or write.
        """
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


class Clock(Protocol):
    """Wall clock time, in UTC."""

    def now(self) -> datetime:
        """The current time."""
        ...


class TopicMeter(Protocol):
    """Where the metrics of topic pools go."""

    def measure(self, key: Key, pool: Pool | None) -> None:
        """Replaces the metrics of one object's pool; None clears them, because nothing is known."""
        ...

    def forget(self, key: Key) -> None:
        """Removes the metrics of an object that is gone."""
        ...
