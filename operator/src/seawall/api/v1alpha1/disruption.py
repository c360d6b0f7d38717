"""The one voluntary disruption of a WALCluster: in the status before the act, and finished by whoever comes next."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from seawall.api.meta import StatusModel

Count = Annotated[int, Field(ge=0)]
PodName = Annotated[str, Field(max_length=253)]
UID = Annotated[str, Field(max_length=64)]
KindName = Annotated[str, Field(max_length=64)]


class DisruptionKind(StrEnum):
    """What is disrupted, by which controller."""

    DATANODE_RESTART = "DatanodeRestart"
    """A datanode is restarted."""
    KAFKA_NODE_RESTART = "KafkaNodeRestart"
    """A node of a managed Kafka is restarted."""
    KAFKA_NODE_REMOVAL = "KafkaNodeRemoval"
    """A node of a managed Kafka is stopped for good."""
    KAFKA_VOTER_CHANGE = "KafkaVoterChange"
    """A controller of a managed Kafka gets, or loses, its vote."""


class RestartedDatanode(StatusModel):
    """What the database said of a datanode before its restart."""

    id: Count
    """Its id."""
    epoch: Annotated[int, Field()] | None = None
    """Its epoch modulo 2^53: only reports of another one count."""
    entries: Count | None = None
    """Entries that the restart reads, as it was estimated."""
    bytes: Count | None = None
    """The same in bytes."""
    expected_seconds: Count | None = None
    """How long that takes, as it was estimated."""


class Disruption(StatusModel):
    """The one pod that is disrupted by Seawall: two disruptions of a WALCluster cannot stand at a time."""

    # What another version knows of it stays as that version wrote it.
    model_config = ConfigDict(extra="allow")

    kind: KindName
    """DatanodeRestart, KafkaNodeRestart, KafkaNodeRemoval or KafkaVoterChange. A kind that this version does not know
    is another version's: nothing else is begun while it stands."""
    name: PodName
    """The pod's name."""
    uid: UID
    """The UID of the pod that goes; of a KafkaVoterChange the directory id of the disk whose vote it is."""
    start_time: datetime
    """When this was written."""
    gone_time: datetime | None = None
    """When the old pod was first seen to be gone, or going."""
    budget_seconds: Count
    """After how long people are called."""
    datanode: RestartedDatanode | None = None
    """Its datanode; absent: nobody knew it."""


def of_kind(entry: Disruption | None, kind: DisruptionKind) -> Disruption | None:
    """The entry, if it is of this kind."""
    return entry if entry is not None and entry.kind == kind else None


class Restarting(StatusModel):
    """The datanode that is restarted, as an older version wrote it."""

    name: PodName
    """Its name."""
    uid: UID
    """The UID of the pod that goes."""
    datanode: Count | None = None
    """The id of its datanode."""
    epoch: Annotated[int, Field()] | None = None
    """The datanode's epoch before."""
    start_time: datetime
    """When it was written."""
    gone_time: datetime | None = None
    """When the old pod was first seen to be gone, or going."""
    entries: Count | None = None
    """Entries that the restart reads, as it was estimated."""
    bytes: Count | None = None
    """The same in bytes."""
    expected_seconds: Count | None = None
    """How long that takes, as it was estimated."""
    budget_seconds: Count
    """After how long people are called."""


UNREADABLE = "Unreadable"
"""The kind of a disruption that cannot be read: it is nobody's to finish, and nothing else is begun."""

_SHARED = ("name", "uid", "startTime", "goneTime", "budgetSeconds")
_DATANODE = ("epoch", "entries", "bytes", "expectedSeconds")


def with_disruption(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """A status as it is stored; the restart of a datanode that an older version wrote is its disruption."""
    restart = status.get("restart")
    old = restart.get("restarting") if isinstance(restart, Mapping) else None
    if not isinstance(restart, Mapping) or not isinstance(old, Mapping):
        return status
    others = {name: value for name, value in restart.items() if name != "restarting"}
    return {**status, "restart": others, "disruption": status.get("disruption") or _lifted(old)}


def read_disruption(status: Mapping[str, Any]) -> Disruption | None:
    """The disruption of a status of which some part does not fit."""
    found = with_disruption(status).get("disruption")
    if found is None:
        return None
    try:
        return Disruption.model_validate(found)
    except ValidationError:
        began = datetime.fromtimestamp(0, UTC)
        return Disruption(kind=UNREADABLE, name="", uid="", start_time=began, budget_seconds=0)


def _lifted(old: Mapping[str, Any]) -> dict[str, Any]:
    found = {"kind": DisruptionKind.DATANODE_RESTART.value, **{name: old[name] for name in _SHARED if name in old}}
    if old.get("datanode") is not None:
        found["datanode"] = {"id": old["datanode"], **{name: old[name] for name in _DATANODE if name in old}}
    return found
