"""The objects of managed Kafkas in memory. It passes the KafkaObjects contract."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import Conflict, Refused
from seawall.domain.managed_kafka.found import FoundKafka, FoundObject, FoundPod, Record, VolumeSize
from seawall.domain.managed_kafka.names import KAFKA_LABEL, NODE_LABEL, TAKEN_OUT_ANNOTATION, format_name, identity_name
from seawall.domain.managed_kafka.objects import DIGESTED, Manifest, ObjectKind, spec_digest
from tests.fakes.ids import new_uid
from tests.support.clock import Time

Place = tuple[ObjectKind, Key]


def _size(claim: Manifest) -> VolumeSize:
    """Before it is bound."""
    return VolumeSize(int(claim.body["spec"]["resources"]["requests"]["storage"]))


@dataclass
class FakeKafkaObjects:
    """The KafkaObjects port.

    Attributes:
        made: the objects, as they were created.
        meta: what the API server says of each.
        records: the ConfigMaps that nobody owns, and their versions.
        pods: of each WALCluster, by node; the kubelet puts them here.
        foreign: names that others have.
        refuses: by name the sentence by which the API server (a quota, say) refuses an object, or that it grows.
        time: the API server's; None: objects do not tell when they were made.
    """

    made: dict[Place, Manifest] = field(default_factory=dict)
    meta: dict[Place, FoundObject] = field(default_factory=dict)
    records: dict[Key, Record] = field(default_factory=dict)
    pods: dict[Key, dict[int, FoundPod]] = field(default_factory=dict)
    foreign: set[Place] = field(default_factory=set)
    refuses: dict[str, str] = field(default_factory=dict)
    time: Time | None = None
    _versions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def find(self, cluster: Key) -> FoundKafka:
        """All that is there."""
        found = {
            (kind, key.name): meta
            for (kind, key), meta in self.meta.items()
            if key.namespace == cluster.namespace and self.made[kind, key].labels[KAFKA_LABEL] == cluster.name
        }
        identity, tokens = (Key(cluster.namespace, name(cluster.name)) for name in (identity_name, format_name))
        pods = dict(self.pods.get(cluster, {}))
        return FoundKafka(found, pods, self.records.get(identity), self.records.get(tokens))

    def create(self, owner: WALCluster, manifest: Manifest) -> None:
        """Creates an object."""
        place = (manifest.kind, Key(owner.metadata.namespace, manifest.name))
        self._require_free(place)
        if (sentence := self.refuses.get(manifest.name)) is not None:
            raise Refused(sentence)
        node = manifest.labels.get(NODE_LABEL)
        self.made[place] = manifest
        self.meta[place] = FoundObject(
            manifest.kind,
            manifest.name,
            new_uid(),
            None if node is None else int(node),
            owner.metadata.uid if manifest.owned else None,
            dict(manifest.annotations),
            version=str(next(self._versions)),
            replicas=manifest.body["spec"]["replicas"] if manifest.kind is ObjectKind.STATEFUL_SET else None,
            generation=1 if manifest.kind is ObjectKind.STATEFUL_SET else 0,
            size=_size(manifest) if manifest.kind is ObjectKind.VOLUME else None,
            spec_digest=spec_digest(manifest.body["spec"]) if manifest.kind in DIGESTED else "",
            created=None if self.time is None else self.time.time,
        )

    def renew_template(self, statefulset: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces the pod template."""
        place = (manifest.kind, Key(namespace, manifest.name))
        found = self.meta.get(place)
        if found is None or found != statefulset:
            raise Conflict(f"StatefulSet {manifest.name} changed")
        body = {**self.made[place].body}
        body["spec"] = {**body["spec"], "template": manifest.body["spec"]["template"]}
        annotations = {**found.annotations, **manifest.annotations}
        self.made[place] = replace(self.made[place], body=body, annotations=annotations)
        version, generation = str(next(self._versions)), found.generation + 1
        self.meta[place] = replace(found, annotations=annotations, version=version, generation=generation)

    def change_budget(self, budget: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces its spec."""
        self._replace_spec(budget, namespace, manifest)

    def change_policy(self, policy: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces its spec."""
        self._replace_spec(policy, namespace, manifest)

    def _replace_spec(self, read: FoundObject, namespace: str, manifest: Manifest) -> None:
        place = (manifest.kind, Key(namespace, manifest.name))
        found = self.meta.get(place)
        if found is None or found != read:
            raise Conflict(f"{manifest.kind} {manifest.name} changed")
        self.made[place] = replace(self.made[place], body={"spec": manifest.body["spec"]})
        digest = spec_digest(manifest.body["spec"])
        self.meta[place] = replace(found, spec_digest=digest, version=str(next(self._versions)))

    def grow(self, volume: FoundObject, namespace: str, size: int) -> None:
        """Only of one that is bound, as the API server has it."""
        place = (volume.kind, Key(namespace, volume.name))
        found = self.meta.get(place)
        if found is None or (found.uid, found.version) != (volume.uid, volume.version):
            raise Conflict(f"PersistentVolumeClaim {volume.name} changed")
        if (sentence := self.refuses.get(volume.name)) is not None:
            raise Refused(sentence)
        assert found.size is not None
        if found.size.capacity is None or size < found.size.requested:
            raise Refused("spec is immutable after creation except resources.requests for bound claims")
        self.resize(place, requested=size)

    def stop(self, statefulset: FoundObject, namespace: str) -> None:
        """Replaces the number of its pods, and the mark."""
        place = (statefulset.kind, Key(namespace, statefulset.name))
        found = self.meta.get(place)
        if found is None or found != statefulset:
            raise Conflict(f"StatefulSet {statefulset.name} changed")
        self.scale(place, 0, {TAKEN_OUT_ANNOTATION: found.mark_of_stop})

    def delete(self, found: FoundObject, namespace: str) -> None:
        """By UID and version."""
        place = (found.kind, Key(namespace, found.name))
        there = self.meta.get(place)
        if there is None or there.uid != found.uid:
            return
        if there.version != found.version:
            raise Conflict(f"{found.kind} {found.name} changed")
        self.remove(*place)

    def write_record(
        self,
        key: Key,
        labels: Mapping[str, str],  # noqa: ARG002 - the port has it
        data: Mapping[str, str],
        version: str | None,
    ) -> None:
        """Creates or replaces a record."""
        found = self.records.get(key)
        if version is None:
            self._require_free((ObjectKind.CONFIG_MAP, key))
        if (None if found is None else found.version) != version:
            raise Conflict(f"ConfigMap {key} changed")
        self.records[key] = Record(dict(data), str(next(self._versions)))

    def _require_free(self, place: Place) -> None:
        kind, key = place
        if place in self.foreign:
            raise Refused(f"{kind} {key.name} exists and is not Seawall's: rename or remove it")
        if place in self.made or (kind is ObjectKind.CONFIG_MAP and key in self.records):
            raise Conflict(f"{kind} {key} exists")

    # --- what people, and other parts of Kubernetes, do

    def remove(self, kind: ObjectKind, key: Key) -> None:
        """Somebody deletes an object."""
        self.made.pop((kind, key), None)
        self.meta.pop((kind, key), None)

    def scale(self, place: Place, replicas: int, marks: Mapping[str, str] | None = None) -> None:
        """Somebody scales a StatefulSet."""
        found, made = self.meta[place], self.made[place]
        self.made[place] = replace(made, body={**made.body, "spec": {**made.body["spec"], "replicas": replicas}})
        annotations = {**found.annotations, **(marks or {})}
        version, generation = str(next(self._versions)), found.generation + (found.replicas != replicas)
        changed = replace(found, annotations=annotations, version=version, generation=generation)
        self.meta[place] = replace(changed, replicas=replicas)

    def resize(self, place: Place, **changes: object) -> None:
        """The storage driver, or somebody, changes the size of a volume, or says how that goes."""
        found = self.meta[place]
        assert found.size is not None
        size = replace(found.size, **changes)  # type: ignore[arg-type]
        if size != found.size:
            self.meta[place] = replace(found, size=size, version=str(next(self._versions)))

    def collect_garbage(self, owner_uid: str) -> None:
        """The garbage collector removes what a WALCluster owned."""
        for place in [place for place, meta in self.meta.items() if meta.owner_uid == owner_uid]:
            self.remove(*place)

    def put_pod(self, cluster: Key, pod: FoundPod) -> None:
        """The kubelet says how a pod is."""
        self.pods.setdefault(cluster, {})[pod.node] = replace(pod, version=str(next(self._versions)))

    def update_pod(self, cluster: Key, node: int, **changes: object) -> None:
        """The same, of one that is there."""
        before = self.pods[cluster][node]
        after = replace(before, **changes)  # type: ignore[arg-type]
        if after != before:
            self.put_pod(cluster, after)
