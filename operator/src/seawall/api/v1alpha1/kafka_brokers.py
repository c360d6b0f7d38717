"""What a WALCluster's status says of Kafka's brokers and controllers, and what its spec asks of Kafka's own topics."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictBool

from seawall.api.meta import APIModel, Rule, StatusModel
from seawall.api.stretch import Stretch

MOST_BROKERS = 512
MOST_VOTERS = 64

BrokerId = Annotated[int, Field(ge=0)]


class InternalTopicsSpec(APIModel):
    """What is expected of Kafka's own topics, `__consumer_offsets` and `__transaction_state`."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.minInSyncReplicas) || !has(self.replicationFactor)"
            " || self.minInSyncReplicas < self.replicationFactor"
            " || (self.replicationFactor == 1 && self.minInSyncReplicas == 1)",
            "minInSyncReplicas must be below replicationFactor (or both 1): else one lost broker stops transactions",
            lambda spec: (
                spec.min_in_sync_replicas is None
                or spec.replication_factor is None
                or spec.min_in_sync_replicas < spec.replication_factor
                or spec.replication_factor == spec.min_in_sync_replicas == 1
            ),
        ),
    )

    replication_factor: Annotated[int, Field(strict=True, ge=1, le=32)] | None = None
    """Replicas that each of their partitions should have at least. Default: topics.replicationFactor."""
    min_in_sync_replicas: Annotated[int, Field(strict=True, ge=1, le=32)] | None = None
    """What their min.insync.replicas should be at least. Default: any, if it is below their replication factor."""
    repair: StrictBool = False
    """Whether Seawall gives them the replicas that they lack, by the run that moves replicas of the pool, and corrects
    their min.insync.replicas. excludeBrokers then is for them as well."""


class BrokerState(StrEnum):
    """How a broker is, as far as Kafka tells."""

    ONLINE = "Online"
    """Registered, and heard of in the last seconds."""
    FENCED = "Fenced"
    """Registered, but leads nothing: it starts, stops, or is down; Kafka does not tell these apart."""
    OFFLINE = "Offline"
    """Not registered, yet named by replica lists. Before Kafka 4.0, which does not tell of fenced ones, these too."""


class BrokerStatus(StatusModel):
    """One broker."""

    id: BrokerId
    """Its node id."""
    rack: Annotated[str, Field(max_length=256)] | None = None
    """Its broker.rack, if it has one."""
    state: BrokerState
    """How it is."""
    leaders: Annotated[int, Field(ge=0)]
    """Partitions that it leads, of all topics that Seawall's user may describe."""
    replicas: Annotated[int, Field(ge=0)]
    """Replicas that are on it."""
    under_replicated: Annotated[int, Field(ge=0)]
    """Replicas on it that are not in sync; those that are only being made do not count."""
    under_min_in_sync_replicas: Annotated[int, Field(ge=0)]
    """Partitions with a replica on it that have fewer in-sync replicas than min.insync.replicas."""
    log_dir_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes of all logs on it, as it last told. Written with other changes, or when a tenth more or less."""
    drained: StrictBool | None = None
    """Only of those in reassignment.excludeBrokers. True: nothing is on it, of whatever topic; it may be removed."""
    throttle_bytes_per_second: Annotated[int, Field(ge=0)] | None = None
    """Bytes a second that somebody lets this one broker send or fetch for throttled replicas, the lesser of both; it
    wins over the throttle of a run. Absent: it has none of its own."""


class QuorumStatus(StatusModel):
    """Kafka's controllers (KRaft)."""

    leader: BrokerId
    """Node id of the one that leads."""
    voters: Annotated[tuple[BrokerId, ...], Field(max_length=MOST_VOTERS)]
    """Node ids of those that vote."""
    behind: Annotated[tuple[BrokerId, ...], Field(max_length=MOST_VOTERS)] = ()
    """Voters that have lacked records for more than ten seconds: down, or cut off."""
    max_lag: Annotated[int, Field(ge=0)]
    """Records that the last of the voters lacks, rounded down to 10, 100, 1000 …; 0 for fewer than 10."""


class BrokersStatus(StatusModel):
    """Brokers of the Kafka cluster."""

    total: Annotated[int, Field(ge=0)]
    """Known brokers: the live ones and those that replica lists name."""
    online: Annotated[int, Field(ge=0)]
    """Brokers that Kafka reports as alive."""
    items: Annotated[
        tuple[BrokerStatus, ...], Field(max_length=MOST_BROKERS, json_schema_extra={"map_keys": ["id"]})
    ] = ()
    """Each broker, when they were last looked at."""


class KafkaStatus(StatusModel):
    """What Kafka says of itself."""

    cluster_id: Annotated[str, Field(max_length=64)]
    """Cluster id, pinned at first contact. Another id later stops every write."""
    brokers: BrokersStatus
    """Brokers of the Kafka cluster."""
    quorum: QuorumStatus | None = None
    """Kafka's controllers, when they were last looked at."""
    eligible_leader_replicas: StrictBool | None = None
    """Whether Kafka keeps a replica whose disk was emptied from leading (KIP-966); absent: it does not tell."""
    unanswered: Stretch | None = None
    """That Kafka cannot be asked while the WALCluster is being deleted, which leaves the topics and goes on when that
    lasts; absent: it answered, or nothing is deleted."""
