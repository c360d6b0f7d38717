"""The port `KafkaObjects` on the API server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.kafka_volumes import volume_size
from seawall.adapters.kube.objects import controller_reference
from seawall.adapters.kube.workloads import termination_of
from seawall.api.meta import Key
from seawall.api.quantity import format_bytes
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import Conflict, Refused
from seawall.domain.managed_kafka.found import REFUSALS, FoundKafka, FoundObject, FoundPod, InSync, Record
from seawall.domain.managed_kafka.names import (
    CERTIFICATE_ANNOTATION,
    IN_SYNC_GATE,
    KAFKA_LABEL,
    NODE_LABEL,
    SPEC_HASH_ANNOTATION,
    TAKEN_OUT_ANNOTATION,
    format_name,
    identity_name,
)
from seawall.domain.managed_kafka.objects import DIGESTED, Manifest, ObjectKind, spec_digest
from seawall.domain.managed_kafka.pods import CONFIG_VOLUME, CONTAINER, INIT_CONTAINER

_PLACES: Mapping[ObjectKind, tuple[str, str]] = {
    ObjectKind.STATEFUL_SET: ("apps/v1", "statefulsets"),
    ObjectKind.SERVICE: ("v1", "services"),
    ObjectKind.VOLUME: ("v1", "persistentvolumeclaims"),
    ObjectKind.BUDGET: ("policy/v1", "poddisruptionbudgets"),
    ObjectKind.CONFIG_MAP: ("v1", "configmaps"),
    ObjectKind.NETWORK_POLICY: ("networking.k8s.io/v1", "networkpolicies"),
}
"""The API version and the plural of each kind."""
_TROUBLE = 400
"""Characters of what Kubernetes says of a pod."""


class KubeKafkaObjects:
    """Lists by labels, and creates. Of records, the API server's resource version makes a write a compare-and-swap."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def find(self, cluster: Key) -> FoundKafka:
        """Lists each kind once, pods first: what they say is older than what is looked at after it."""
        query = urlencode({"labelSelector": f"{KAFKA_LABEL}={cluster.name}"})
        pods = self._api.list(f"/api/v1/namespaces/{cluster.namespace}/pods?{query}")
        found: dict[tuple[ObjectKind, str], FoundObject] = {}
        records: dict[str, Record] = {}
        for kind in ObjectKind:
            for raw in self._api.list(f"{_collection(kind, cluster.namespace)}?{query}"):
                name = raw["metadata"]["name"]
                if kind is ObjectKind.CONFIG_MAP and name in {identity_name(cluster.name), format_name(cluster.name)}:
                    records[name] = Record(raw.get("data") or {}, raw["metadata"]["resourceVersion"])
                else:
                    found[kind, name] = _object(kind, raw)
        return FoundKafka(
            found,
            _by_node([_pod(raw) for raw in pods]),
            records.get(identity_name(cluster.name)),
            records.get(format_name(cluster.name)),
        )

    def create(self, owner: WALCluster, manifest: Manifest) -> None:
        """Creates an object."""
        key = Key(owner.metadata.namespace, manifest.name)
        metadata: dict[str, Any] = _metadata(key, manifest.labels)
        if manifest.annotations:
            metadata["annotations"] = dict(manifest.annotations)
        if manifest.owned:
            metadata["ownerReferences"] = [controller_reference(owner, blocks=True)]
        body = {"apiVersion": _PLACES[manifest.kind][0], "kind": manifest.kind.value, "metadata": metadata}
        self._create(manifest.kind, key, {**body, **manifest.body}, manifest.labels)

    def renew_template(self, statefulset: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces all of the pod template: of a patch, what the new one does not have would stay."""
        path = f"{_collection(manifest.kind, namespace)}/{manifest.name}"
        raw = self._api.get(path)
        if raw is None or _object(manifest.kind, raw) != statefulset:
            raise Conflict(f"StatefulSet {manifest.name} changed")
        annotations = {**(raw["metadata"].get("annotations") or {}), **manifest.annotations}
        spec = {**raw["spec"], "template": manifest.body["spec"]["template"]}
        self._api.replace(path, {**raw, "metadata": {**raw["metadata"], "annotations": annotations}, "spec": spec})

    def change_budget(self, budget: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces all of its spec."""
        self._replace_spec(budget, namespace, manifest)

    def change_policy(self, policy: FoundObject, namespace: str, manifest: Manifest) -> None:
        """Replaces all of its spec."""
        self._replace_spec(policy, namespace, manifest)

    def _replace_spec(self, found: FoundObject, namespace: str, manifest: Manifest) -> None:
        path = f"{_collection(manifest.kind, namespace)}/{manifest.name}"
        raw = self._api.get(path)
        if raw is None or _object(manifest.kind, raw) != found:
            raise Conflict(f"{manifest.kind} {manifest.name} changed")
        self._api.replace(path, {**raw, "spec": manifest.body["spec"]})

    def grow(self, volume: FoundObject, namespace: str, size: int) -> None:
        """UID and resource version in the patch make it a compare-and-swap."""
        body = {
            "metadata": {"uid": volume.uid, "resourceVersion": volume.version},
            "spec": {"resources": {"requests": {"storage": format_bytes(size)}}},
        }
        self._api.merge(f"{_collection(volume.kind, namespace)}/{volume.name}", body)

    def stop(self, statefulset: FoundObject, namespace: str) -> None:
        """Replaces the number of its pods, and the mark."""
        path = f"{_collection(statefulset.kind, namespace)}/{statefulset.name}"
        raw = self._api.get(path)
        if raw is None or _object(statefulset.kind, raw) != statefulset:
            raise Conflict(f"StatefulSet {statefulset.name} changed")
        annotations = {**(raw["metadata"].get("annotations") or {}), TAKEN_OUT_ANNOTATION: statefulset.mark_of_stop}
        metadata, spec = {**raw["metadata"], "annotations": annotations}, {**raw["spec"], "replicas": 0}
        self._api.replace(path, {**raw, "metadata": metadata, "spec": spec})

    def delete(self, found: FoundObject, namespace: str) -> None:
        """By UID and resource version."""
        path = f"{_collection(found.kind, namespace)}/{found.name}"
        raw = self._api.get(path)
        if raw is not None and raw["metadata"]["uid"] == found.uid:
            self._api.delete(path, found.uid, found.version)

    def write_record(self, key: Key, labels: Mapping[str, str], data: Mapping[str, str], version: str | None) -> None:
        """Creates or replaces a record."""
        kind = ObjectKind.CONFIG_MAP
        metadata = _metadata(key, labels)
        body = {"apiVersion": _PLACES[kind][0], "kind": kind.value, "metadata": metadata, "data": dict(data)}
        if version is None:
            self._create(kind, key, body, labels)
            return
        metadata["resourceVersion"] = version
        self._api.replace(f"{_collection(kind, key.namespace)}/{key.name}", body)

    def _create(self, kind: ObjectKind, key: Key, body: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        """One that is there already is looked at: it may be somebody else's."""
        try:
            self._api.create(_collection(kind, key.namespace), body)
        except Conflict:
            found = self._api.get(f"{_collection(kind, key.namespace)}/{key.name}")
            has = (found or {}).get("metadata", {}).get("labels") or {}
            if found is not None and has.get(KAFKA_LABEL) != labels[KAFKA_LABEL]:
                raise Refused(f"{kind} {key.name} exists and is not Seawall's: rename or remove it") from None
            raise


def _collection(kind: ObjectKind, namespace: str) -> str:
    version, plural = _PLACES[kind]
    return f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{namespace}/{plural}"


def _metadata(key: Key, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"name": key.name, "namespace": key.namespace, "labels": dict(labels)}


def _object(kind: ObjectKind, raw: Mapping[str, Any]) -> FoundObject:
    metadata = raw["metadata"]
    owners: list[Mapping[str, Any]] = metadata.get("ownerReferences") or []
    owner = next((each for each in owners if each.get("controller")), {})
    return FoundObject(
        kind,
        metadata["name"],
        metadata["uid"],
        _node(metadata),
        owner.get("uid"),
        metadata.get("annotations") or {},
        is_terminating="deletionTimestamp" in metadata,
        version=metadata["resourceVersion"],
        replicas=int(raw["spec"].get("replicas", 1)) if kind is ObjectKind.STATEFUL_SET else None,
        spec_digest=spec_digest(raw.get("spec") or {}) if kind in DIGESTED else "",
        size=volume_size(raw) if kind is ObjectKind.VOLUME else None,
        generation=int(metadata.get("generation", 0)) if kind is ObjectKind.STATEFUL_SET else 0,
        created=_time(metadata.get("creationTimestamp")),
    )


def _node(metadata: Mapping[str, Any]) -> int | None:
    text = (metadata.get("labels") or {}).get(NODE_LABEL, "")
    return int(text) if text.isdecimal() else None


def _by_node(pods: list[FoundPod]) -> dict[int, FoundPod]:
    """One each: of two, the one that stays."""
    ordered = sorted(pods, key=lambda pod: (not pod.is_terminating, pod.uid))
    return {pod.node: pod for pod in ordered if pod.node >= 0}


def _pod(raw: Mapping[str, Any]) -> FoundPod:
    metadata, status = raw["metadata"], raw.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    formats = _container(status.get("initContainerStatuses"), INIT_CONTAINER)
    runs = _container(status.get("containerStatuses"), CONTAINER)
    node, gone_by = _node(metadata), metadata.get("deletionTimestamp")
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    return FoundPod(
        node=-1 if node is None else node,
        name=metadata["name"],
        uid=metadata["uid"],
        is_terminating="deletionTimestamp" in metadata,
        is_ready=conditions.get("ContainersReady", {}).get("status") == "True",
        is_started="running" in (runs.get("state") or {}),
        said=said_by(formats) or said_by(runs),
        trouble=_trouble(conditions, formats) or _trouble({}, runs),
        began=_began(runs),
        template=_template(raw),
        spec_hash=annotations.get(SPEC_HASH_ANNOTATION),
        certificate=annotations.get(CERTIFICATE_ANNOTATION),
        gone_by=_time(gone_by),
        last_termination=termination_of(runs),
        version=metadata["resourceVersion"],
        container=str(runs.get("containerID") or "") if "running" in (runs.get("state") or {}) else "",
        is_gated=any(each["conditionType"] == IN_SYNC_GATE for each in raw["spec"].get("readinessGates") or ()),
        in_sync=_in_sync(conditions.get(IN_SYNC_GATE)),
        placed=placed(conditions.get("PodScheduled")),
    )


def placed(scheduled: Mapping[str, Any] | None) -> datetime | None:
    """When a pod got its machine: the scheduler gives none to a pod whose claims are not there."""
    if scheduled is None or scheduled["status"] != "True":
        return None
    return _time(scheduled.get("lastTransitionTime"))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _in_sync(condition: Mapping[str, Any] | None) -> InSync | None:
    if condition is None:
        return None
    return InSync(condition["status"] == "True", condition.get("reason") or "", condition.get("message") or "")


def _template(pod: Mapping[str, Any]) -> str | None:
    """The end of the name of the ConfigMap that it mounts: it is named by the hash of all that the pod is made of."""
    prefix = f"{pod['metadata']['name'].rpartition('-')[0]}-"
    maps = (each.get("configMap") or {} for each in pod["spec"].get("volumes") or () if each["name"] == CONFIG_VOLUME)
    return next((name.removeprefix(prefix) for each in maps if (name := each.get("name", "")).startswith(prefix)), None)


def _container(statuses: list[Mapping[str, Any]] | None, name: str) -> Mapping[str, Any]:
    return next((each for each in statuses or () if each["name"] == name), {})


def _began(container: Mapping[str, Any]) -> datetime | None:
    return _time(((container.get("state") or {}).get("running") or {}).get("startedAt"))


def said_by(container: Mapping[str, Any]) -> str:
    """The last words of the entrypoint, unless the container did its work since: exit code 3 is its refusal."""
    now, before = container.get("state") or {}, container.get("lastState") or {}
    if container.get("name") == CONTAINER and "running" in now:
        return ""
    ended = now.get("terminated") or before.get("terminated") or {}
    message = str(ended.get("message") or "").strip()
    return message if ended.get("exitCode") == REFUSED and message.startswith(REFUSALS) else ""


REFUSED = 3
"""The exit code by which the entrypoint refuses a volume."""


def _trouble(conditions: Mapping[str, Mapping[str, Any]], container: Mapping[str, Any]) -> str:
    """Kubernetes' words: of the scheduler, or why a container waits or ended."""
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return str(scheduled.get("message") or scheduled.get("reason") or "")[:_TROUBLE]
    waiting = (container.get("state") or {}).get("waiting") or {}
    if waiting.get("reason") in {None, "PodInitializing", "ContainerCreating"}:
        return ""
    ended = ((container.get("lastState") or {}).get("terminated") or {}).get("message") or ""
    last = str(ended).strip().splitlines()[-1:] if ended else []
    return ": ".join(filter(None, (waiting["reason"], waiting.get("message", ""), *last)))[:_TROUBLE]
