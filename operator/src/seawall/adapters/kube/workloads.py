"""The port `Workloads` on the API server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.rollout.workload import (
    CONFIG_HASH_ANNOTATION,
    RESTART_ANNOTATION,
    RESTARTED_AT_ANNOTATION,
    BudgetForbids,
    Evicted,
    Eviction,
    NotThere,
    Pod,
    StatefulSet,
    Template,
    Termination,
    UpdateStrategy,
)

REVISION_LABEL = "controller-revision-hash"
BUDGET_CAUSE = "DisruptionBudget"

_PROBE_TRIES, _PROBE_PERIOD = 3, 10
"""Kubernetes' defaults of failureThreshold and periodSeconds."""

_ANSWERS = (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS)


class KubeWorkloads:
    """Reads and patches the StatefulSet, reads and evicts its pods."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def get(self, key: Key) -> StatefulSet | None:
        """Reads the StatefulSet."""
        raw = self._api.get(_path(key))
        return None if raw is None else _statefulset(key, raw)

    def pods(self, statefulset: StatefulSet) -> tuple[Pod, ...]:
        """Lists by its selector what it controls."""
        query = quote(statefulset.selector, safe="")
        raws = self._api.list(f"/api/v1/namespaces/{statefulset.key.namespace}/pods?labelSelector={query}")
        mine = [raw for raw in raws if _controller(raw["metadata"]).get("uid") == statefulset.uid]
        found = [_pod(statefulset, raw) for raw in mine]
        return tuple(sorted(found, key=lambda pod: pod.ordinal))

    def has_pod(self, key: Key) -> bool:
        """Reads it."""
        return self._api.get(_pod_path(key)) is not None

    def evict(self, pod: Pod) -> Eviction:
        """Evicts a pod. Another one of its name is looked for before, although its UID is a precondition.

        The API server (1.34) takes a wrong UID for two writes at once and tries again for ten seconds, which is beyond
        our deadline. So a pod that is replaced in this very moment is not evicted, and that goes unanswered.
        """
        path = _pod_path(pod.key)
        found = self._api.get(path)
        if found is None or found["metadata"]["uid"] != pod.uid:
            return NotThere()
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.key.name, "namespace": pod.key.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        answer = self._api.try_create(f"{path}/eviction", body, _ANSWERS)
        match answer.get("code"):
            case HTTPStatus.NOT_FOUND:
                return NotThere()
            case HTTPStatus.TOO_MANY_REQUESTS:
                return _forbidden(answer)
            case _:
                return Evicted()

    def set_partition(self, statefulset: StatefulSet, partition: int) -> None:
        """Patches the partition."""
        self._patch(statefulset, {"updateStrategy": _partitioned(partition)})

    def set_config_hash(self, statefulset: StatefulSet, config_hash: str, partition: int | None) -> None:
        """Patches the template's annotation, and the partition with it."""
        template = {"metadata": {"annotations": {CONFIG_HASH_ANNOTATION: config_hash}}}
        strategy = {} if partition is None else {"updateStrategy": _partitioned(partition)}
        self._patch(statefulset, {"template": template, **strategy})

    def _patch(self, statefulset: StatefulSet, spec: Mapping[str, Any]) -> None:
        """UID and resource version in the patch make it a compare-and-swap."""
        metadata = {"uid": statefulset.uid, "resourceVersion": statefulset.resource_version}
        self._api.merge(_path(statefulset.key), {"metadata": metadata, "spec": spec})


def _path(key: Key) -> str:
    return f"/apis/apps/v1/namespaces/{key.namespace}/statefulsets/{key.name}"


def _pod_path(key: Key) -> str:
    return f"/api/v1/namespaces/{key.namespace}/pods/{key.name}"


def _partitioned(partition: int) -> dict[str, Any]:
    return {"type": UpdateStrategy.ROLLING_UPDATE.value, "rollingUpdate": {"partition": partition}}


def _forbidden(answer: Mapping[str, Any]) -> BudgetForbids:
    """429 is also what an API server says that has too much to do."""
    causes = (answer.get("details") or {}).get("causes") or ()
    for cause in causes:
        if cause.get("reason") == BUDGET_CAUSE:
            return BudgetForbids(f"{answer.get('message')} {cause.get('message', '')}".strip())
    raise OutsideUnavailable(f"evicting: 429 {answer.get('message')}")


def _controller(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    owners = metadata.get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), {})


def _statefulset(key: Key, raw: Mapping[str, Any]) -> StatefulSet:
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    strategy = spec.get("updateStrategy") or {}
    owner = _controller(metadata)
    return StatefulSet(
        key=key,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        replicas=int(spec.get("replicas", 1)),
        strategy=UpdateStrategy(strategy.get("type") or UpdateStrategy.ROLLING_UPDATE.value),
        partition=int((strategy.get("rollingUpdate") or {}).get("partition") or 0),
        update_revision=status.get("updateRevision") or "",
        observed=int(status.get("observedGeneration") or 0) >= int(metadata["generation"]),
        template=_template(spec["template"]),
        selector=_selector(spec["selector"]),
        first_ordinal=int((spec.get("ordinals") or {}).get("start") or 0),
        generation=int(metadata["generation"]),
        controller=f"{owner['kind']} {owner['name']}" if owner else None,
    )


def _template(raw: Mapping[str, Any]) -> Template:
    annotations = (raw.get("metadata") or {}).get("annotations") or {}
    probe = raw["spec"]["containers"][0].get("startupProbe")
    return Template(
        config_hash=annotations.get(CONFIG_HASH_ANNOTATION),
        restarted_at=annotations.get(RESTARTED_AT_ANNOTATION),
        startup_seconds=None if probe is None else _allowed_seconds(probe),
    )


def _allowed_seconds(probe: Mapping[str, Any]) -> int:
    tries, period = probe.get("failureThreshold", _PROBE_TRIES), probe.get("periodSeconds", _PROBE_PERIOD)
    return int(probe.get("initialDelaySeconds", 0)) + int(tries) * int(period)


def _selector(raw: Mapping[str, Any]) -> str:
    """A label selector as a query has it."""
    parts = [f"{label}={value}" for label, value in (raw.get("matchLabels") or {}).items()]
    for rule in raw.get("matchExpressions") or ():
        label, values = rule["key"], ",".join(rule.get("values") or ())
        match rule["operator"]:
            case "In":
                parts.append(f"{label} in ({values})")
            case "NotIn":
                parts.append(f"{label} notin ({values})")
            case "Exists":
                parts.append(label)
            case "DoesNotExist":
                parts.append(f"!{label}")
    return ",".join(parts)


def _pod(statefulset: StatefulSet, raw: Mapping[str, Any]) -> Pod:
    metadata, status = raw["metadata"], raw.get("status") or {}
    annotations, name = metadata.get("annotations") or {}, metadata["name"]
    gone_by = metadata.get("deletionTimestamp")
    container = raw["spec"]["containers"][0]["name"]
    state: Mapping[str, Any] = next(
        (each for each in status.get("containerStatuses") or () if each["name"] == container), {}
    )
    return Pod(
        key=Key(metadata["namespace"], name),
        uid=metadata["uid"],
        ordinal=int(name.rpartition("-")[2]) - statefulset.first_ordinal,
        revision=(metadata.get("labels") or {}).get(REVISION_LABEL, ""),
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ()),
        address=status.get("podIP"),
        gone_by=None if gone_by is None else datetime.fromisoformat(gone_by),
        restarts=int(state.get("restartCount", 0)),
        waiting=((state.get("state") or {}).get("waiting") or {}).get("reason") or "",
        last_termination=termination_of(state),
        restart=annotations.get(RESTART_ANNOTATION),
        config_hash=annotations.get(CONFIG_HASH_ANNOTATION),
        restarted_at=annotations.get(RESTARTED_AT_ANNOTATION),
    )


def termination_of(container: Mapping[str, Any]) -> Termination | None:
    """The newest end: of the container that is there, or of the one before."""
    now, before = container.get("state") or {}, container.get("lastState") or {}
    ended = now.get("terminated") or before.get("terminated")
    if ended is None:
        return None
    return Termination(ended.get("reason") or "", ended.get("message") or "", int(ended["exitCode"]), _lasted(ended))


def _lasted(ended: Mapping[str, Any]) -> timedelta | None:
    started, finished = ended.get("startedAt"), ended.get("finishedAt")
    if not started or not finished:
        return None
    return datetime.fromisoformat(finished) - datetime.fromisoformat(started)
