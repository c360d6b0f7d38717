"""What a WALCluster's status says of a Kafka that Seawall runs (`status.managedKafka`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool

from seawall.api.meta import StatusModel
from seawall.api.resource import read_fitting
from seawall.api.v1alpha1.kafka_brokers import BrokerId
from seawall.api.v1alpha1.kafka_node_pools import NodeRole
from seawall.api.v1alpha1.rollout import RollStatus

MOST_NODES = 256


class NodeState(StrEnum):
    """How a node of Kafka is: what its pod says, and what Kafka says of its registration."""

    OFFLINE = "Offline"
    """There is no pod, or its process has not registered since it began: it waits, starts, or recovers its log."""
    FENCED = "Fenced"
    """It is registered and its pod runs, but Kafka does not hear from it: it leads nothing. Of a controller: it has
    lacked records for more than ten seconds."""
    ONLINE = "Online"
    """Kafka hears from it."""
    STOPPING = "Stopping"
    """Its pod ends; what it leads moves away first."""


class ManagedNodeStatus(StatusModel):
    """One node."""

    id: BrokerId
    """Its node id."""
    pool: Annotated[str, Field(max_length=20)]
    """The pool that it is of."""
    roles: Annotated[tuple[NodeRole, ...], Field(max_length=2)]
    """What it does."""
    state: NodeState
    """How it is."""
    outdated: StrictBool = False
    """Whether its pod is not what would be made of the spec now. It is restarted when its turn comes; if only a newer
    Seawall would make something else, not before `awaitingApproval` is approved."""
    old_certificate: StrictBool = False
    """Whether it began with another certificate, or other CAs, than are in its Secret now. It is restarted when its
    turn comes."""
    old_certificate_expires: datetime | None = None
    """When that other certificate ends: from then on nobody believes the node. Absent: it began with the one in its
    Secret, or its pod does not tell."""
    leaving: StrictBool = False
    """Whether it is to be taken out."""
    message: Annotated[str, Field(max_length=512)] = ""
    """What it waits for, or what is wrong with its volume; empty: nothing."""


class RemovalStage(StrEnum):
    """How far a node is out."""

    DRAINING = "Draining"
    """All replicas move away from it; ends when two looks, apart, find nothing on it, and nothing else is disrupted."""
    STOPPING = "Stopping"
    """It is stopped for good, and fenced by Kafka; then Kafka forgets it, and its objects go. There is no way back."""


class NodeRemoval(StatusModel):
    """A node that is taken out."""

    node: BrokerId
    """Its node id, which is not used again."""
    stage: RemovalStage
    """How far it is."""
    start_time: datetime
    """When it began."""
    refused: StrictBool = False
    """Whether it cannot go on unless somebody changes something; the message says what."""
    message: Annotated[str, Field(max_length=512)] = ""
    """What it waits for."""


class VoterStep(StrEnum):
    """What is to become of the vote of a controller's disk."""

    ADD = "Add"
    """It follows the metadata log, and is to vote."""
    REMOVE = "Remove"
    """Its vote is to go: the disk is lost, and before that no other disk of the same controller may vote; or the node
    is to be taken out."""


class VoterChange(StatusModel):
    """A controller whose vote is to change."""

    node: BrokerId
    """Its node id."""
    directory_id: Annotated[str, Field(max_length=64)]
    """The directory id of the disk whose vote it is."""
    step: VoterStep
    """What is to become of it."""
    start_time: datetime
    """When it began."""
    message: Annotated[str, Field(max_length=512)] = ""
    """What it waits for."""


class ManagedKafkaStatus(StatusModel):
    """A Kafka that Seawall runs."""

    cluster_id: Annotated[str, Field(max_length=64)] | None = None
    """The cluster id that was made for it; absent until then. Another one later starts nothing."""
    nodes: Annotated[
        tuple[ManagedNodeStatus, ...], Field(max_length=MOST_NODES, json_schema_extra={"map_keys": ["id"]})
    ] = ()
    """Its nodes, by id."""
    awaiting_approval: Annotated[str, Field(max_length=64)] | None = None
    """What `seawall.dev/approve-rollout` has to say before what only a newer Seawall would make of nodes is rolled
    out; absent: nothing waits for it."""
    roll: RollStatus | None = None
    """The restart of nodes one by one; absent: none was due yet."""
    removed: Annotated[tuple[BrokerId, ...], Field(max_length=1024)] = ()
    """Ids of nodes that were taken out. None is used again."""
    removal: NodeRemoval | None = None
    """The node that is taken out; absent: none is."""
    voter_change: VoterChange | None = None
    """The controller whose vote is to change; absent: all that are declared vote, and nobody else."""


def read_managed_kafka(raw: object) -> ManagedKafkaStatus | None:
    """What can be read of it, where something does not fit: pin and ids that were used first of all."""
    if not isinstance(raw, Mapping):
        return None
    found, wrong = read_fitting(ManagedKafkaStatus, raw)
    pin, removed = wrong.get("clusterId"), wrong.get("removed")
    ids = [each for each in removed if type(each) is int and each >= 0] if isinstance(removed, list) else []
    found = found if pin is None else found.model_copy(update={"cluster_id": str(pin)[:64]})
    return found if removed is None else found.model_copy(update={"removed": tuple(ids)})
