"""The API server, and what Seawall keeps or runs there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from seawall.api.meta import Key
from seawall.api.resource import AnyResource, Listing, Resource, ResourceT, SpecT, StatusT
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.greptimedb_cluster import Absence, GreptimeDBCluster
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.shards import IntentShard, PoolId, UnreadableShard
from seawall.domain.rollout.workload import Eviction, Pod, StatefulSet
from seawall.domain.spark_job.application import Driver, SparkApplication
from seawall.domain.step import Event


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

    def replace_spec(self, obj: Resource[SpecT, Any], spec: SpecT) -> None:
        """Replaces the spec of `obj` as it was read.

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

    def delete_config_map(self, config_map: ConfigMap) -> None:
        """Deletes a ConfigMap as it was read; one that is gone is no error.

        Raises:
            Conflict: it changed since.
        """
        ...

    def get_secret(self, key: Key) -> Mapping[str, bytes] | None:
        """The data of a Secret; None when there is none."""
        ...

    def get_greptimedb_cluster(self, key: Key) -> GreptimeDBCluster | Absence:
        """Reads a GreptimeDBCluster of greptimedb-operator; where there is none, why.

        Raises:
            Forbidden: the operator may not read it.
        """
        ...

    def is_terminating(self, namespace: str) -> bool:
        """Whether the namespace is being deleted."""
        ...

    def post_event(self, obj: AnyResource, event: Event) -> bool:
        """Posts an Event about `obj`. Failing to do so is logged and no error: events are for people.

        Returns:
            Whether it was posted, now or a moment ago.
        """
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


class SparkApplications(Protocol):
    """SparkApplications of the Spark Operator, and their drivers. Reads are never cached."""

    def get(self, key: Key) -> SparkApplication | None:
        """Reads an application; None when there is none, as where there is no Spark Operator."""
        ...

    def create(self, owner: AnyResource, key: Key, spec: Mapping[str, Any], service_account: str) -> str:
        """Creates an application that `owner` controls, and takes along when it is deleted.

        Returns:
            Its UID.

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


class Workloads(Protocol):
    """StatefulSets and their pods, such as those of the datanodes. Reads are never cached."""

    def get(self, key: Key) -> StatefulSet | None:
        """Reads the StatefulSet; None when there is none."""
        ...

    def pods(self, statefulset: StatefulSet) -> tuple[Pod, ...]:
        """The pods that it controls, by their place; others that its selector fits are left out."""
        ...

    def has_pod(self, key: Key) -> bool:
        """Whether there is a pod of this name, whosesoever."""
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
