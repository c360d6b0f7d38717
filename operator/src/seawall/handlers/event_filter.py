"""Whom an event wakes: the object itself, and those of the same WALCluster that depend on it.

What is remembered here may be lost: a first listing fills it again, and every object is looked at once a while anyway.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seawall.api.meta import GROUP, ConditionType, Key
from seawall.api.v1alpha1.backup import WAL_BACKUP
from seawall.api.v1alpha1.backup_policy import WAL_BACKUP_POLICY
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.api.v1alpha1.hold import WAL_HOLD
from seawall.api.v1alpha1.policy import WAL_PURGE_POLICY
from seawall.api.v1alpha1.purge import WAL_PURGE
from seawall.api.v1alpha1.restore import WAL_RESTORE
from seawall.api.v1alpha1.subscription import WAL_SUBSCRIPTION
from seawall.api.v1alpha1.verification import WAL_VERIFICATION
from seawall.controllers.brokers import BROKERS

Body = Mapping[str, Any]
Fingerprint = tuple[Any, ...]

DEPENDENTS: Mapping[str, tuple[str, ...]] = {
    WAL_CLUSTER.kind: (
        WAL_PURGE_POLICY.kind,
        WAL_PURGE.kind,
        WAL_HOLD.kind,
        WAL_VERIFICATION.kind,
        WAL_BACKUP.kind,
        WAL_BACKUP_POLICY.kind,
        WAL_RESTORE.kind,
        WAL_SUBSCRIPTION.kind,
    ),
    WAL_PURGE_POLICY.kind: (),
    WAL_PURGE.kind: (WAL_CLUSTER.kind, WAL_PURGE_POLICY.kind, WAL_PURGE.kind),
    WAL_HOLD.kind: (
        WAL_CLUSTER.kind,
        WAL_PURGE.kind,
        WAL_VERIFICATION.kind,
        WAL_BACKUP.kind,
        WAL_BACKUP_POLICY.kind,
        WAL_SUBSCRIPTION.kind,
    ),
    WAL_VERIFICATION.kind: (WAL_CLUSTER.kind, WAL_PURGE.kind),
    WAL_BACKUP.kind: (WAL_CLUSTER.kind, WAL_BACKUP.kind, WAL_BACKUP_POLICY.kind),
    WAL_BACKUP_POLICY.kind: (),
    WAL_RESTORE.kind: (WAL_CLUSTER.kind, WAL_RESTORE.kind, WAL_BACKUP_POLICY.kind),
    WAL_SUBSCRIPTION.kind: (),
}
"""Kind → the kinds whose objects of the same WALCluster have to know: a policy waits for its run's end, and so on."""


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """Kind, namespace and name of an object, and its WALCluster as far as that is known."""

    kind: str
    key: Key
    family: Key | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class _Fingerprints:
    """What was last seen of an object.

    Attributes:
        own: what it must know itself.
        reported: what others must know.
        kafka: what was found out about the Kafka of a WALCluster; who looks at brokers must know.
        family: its WALCluster.
    """

    own: Fingerprint
    reported: Fingerprint
    kafka: Fingerprint
    family: Key | None


class EventFilter:
    """Tells events that matter from those that do not: most are caused by status writes, ours or another's."""

    def __init__(self) -> None:
        self._observed_before: dict[Subject, _Fingerprints] = {}
        self._families: defaultdict[Key, set[Subject]] = defaultdict(set)

    def wakes(self, kind: str, body: Body, *, deleted: bool) -> set[Subject]:
        """The objects to look at because of an event about an object of this kind."""
        metadata = body["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        now = _observe(kind, key, body)
        subject = Subject(kind, key, now.family)
        before = self._observed_before.get(subject)
        self._remember(subject, None if deleted else now)
        woken: set[Subject] = set()
        if deleted or before is None or before.own != now.own:
            woken.add(subject)
        if (deleted or before is None or before.reported != now.reported) and now.family is not None:
            woken.update(self._dependents(subject, now.family))
        if before is not None and before.kafka != now.kafka:
            woken.add(Subject(BROKERS, subject.key))
        return woken

    def has_heard(self, kind: str, metadata: Body) -> bool:
        """Whether the last event about this object was about it as it is in this metadata; from any thread."""
        before = self._observed_before.get(Subject(kind, Key(metadata["namespace"], metadata["name"])))
        return before is not None and before.own == fingerprint(metadata)

    def _dependents(self, subject: Subject, family: Key) -> set[Subject]:
        return {found for found in self._families.get(family, ()) if found.kind in DEPENDENTS[subject.kind]} - {subject}

    def _remember(self, subject: Subject, now: _Fingerprints | None) -> None:
        before = self._observed_before.pop(subject, None)
        if before is not None and before.family is not None:
            self._families[before.family].discard(subject)
            if not self._families[before.family]:
                del self._families[before.family]
        if now is not None:
            self._observed_before[subject] = now
            if now.family is not None:
                self._families[now.family].add(subject)


def _observe(kind: str, key: Key, body: Body) -> _Fingerprints:
    own = fingerprint(body["metadata"])
    kafka = _of_kafka(body.get("status") or {}) if kind == WAL_CLUSTER.kind else ()
    return _Fingerprints(own, _REPORTED.get(kind, _metadata_only)(body), kafka, _family(kind, key, body))


def fingerprint(metadata: Body) -> Fingerprint:
    """All that a tick reads of the object itself, the status excepted."""
    ours = sorted(item for item in (metadata.get("annotations") or {}).items() if item[0].startswith(f"{GROUP}/"))
    return (
        metadata.get("uid"),
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        tuple(metadata.get("finalizers") or ()),
        tuple(ours),
    )


def _metadata_only(body: Body) -> Fingerprint:
    return fingerprint(body["metadata"])


def _of_kafka(status: Body) -> Fingerprint:
    """Whether it answers, its topics, and how many brokers live."""
    brokers = (status.get("kafka") or {}).get("brokers") or {}
    reachable = [at["status"] for at in status.get("conditions") or () if at["type"] == ConditionType.KAFKA_REACHABLE]
    topics = sorted((status.get("topics") or {}).items())
    return (*reachable, *topics, brokers.get("total"), brokers.get("online"))


def _of_run(body: Body) -> Fingerprint:
    """Others wait for the stages of a purge, a verification, a backup or a restore."""
    return (*fingerprint(body["metadata"]), (body.get("status") or {}).get("stage"))


def _of_hold(body: Body) -> Fingerprint:
    """A renewal changes nothing for others; holders renew every few seconds."""
    metadata, spec = body["metadata"], dict(body.get("spec") or {})
    spec.pop("renewTime", None)
    claimed = hash(json.dumps(spec, sort_keys=True, default=str))
    return metadata.get("uid"), metadata.get("deletionTimestamp"), claimed, (body.get("status") or {}).get("state")


_REPORTED: Mapping[str, Callable[[Body], Fingerprint]] = {
    WAL_PURGE.kind: _of_run,
    WAL_HOLD.kind: _of_hold,
    WAL_VERIFICATION.kind: _of_run,
    WAL_BACKUP.kind: _of_run,
    WAL_RESTORE.kind: _of_run,
}


def _family(kind: str, key: Key, body: Body) -> Key | None:
    """The WALCluster that an object is, or refers to."""
    if kind == WAL_CLUSTER.kind:
        return key
    name = ((body.get("spec") or {}).get("clusterRef") or {}).get("name")
    return Key(key.namespace, name) if isinstance(name, str) else None
