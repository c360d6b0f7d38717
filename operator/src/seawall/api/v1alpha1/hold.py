"""WALHold: a claim on topics, "keep from offset N", that a consumer, a backup or a person places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool, StrictStr

from seawall.api.duration import Duration, duration_rule
from seawall.api.instant import Instant
from seawall.api.meta import APIModel, Kind, PrinterColumn, Rule, StatusModel
from seawall.api.quantity import MAX_LARGE, LargeBytes, bytes_rule
from seawall.api.resource import Conditions, ObjectStatus, Resource
from seawall.api.stretch import Stretch
from seawall.api.v1alpha1.purge_template import ClusterRef

EARLIEST: Literal["earliest"] = "earliest"
"""Instead of an offset, for all topics: nothing is deleted while such a hold lives."""

ALL_TOPICS = "*"

_TOPIC = r"^[a-zA-Z0-9._-]{1,249}$"

MAX_OFFSET = 2**53 - 1
"""JSON keeps whole numbers up to here (RFC 8259, section 6); a log that gets a million records a second, 285 years."""
Offset = Annotated[int, Field(strict=True, ge=0, le=MAX_OFFSET)]
HeldFrom = Offset | Annotated[StrictStr, Field(pattern=f"^{EARLIEST}$", max_length=len(EARLIEST))]
MAX_NUMBERS = 32_768
"""Characters that the numbers of the topics of a grant on everything may take."""
HeldTopics = Annotated[dict[str, HeldFrom], Field(min_length=1, max_length=10_000)]


class HoldState(StrEnum):
    """What becomes of a hold, as the wal_status of a PostgreSQL slot; each member says what comes next."""

    REQUESTED = "Requested"
    """Not granted yet: it counts already, but a consumer must not start. Then Active, Lost or Released."""
    ACTIVE = "Active"
    """Granted, and nothing is kept for its sake alone. Then Extended, AtRisk, Lost or Released."""
    EXTENDED = "Extended"
    """Granted, and records are kept that the database itself needs no more. Then Active, AtRisk, Lost or Released."""
    AT_RISK = "AtRisk"
    """Granted, and near or beyond a limit (renew it, or let its consumer catch up), or its log is in doubt."""
    LOST = "Lost"
    """The end: asked for too late, expired, beyond a limit, or overtaken; records that it named may be gone."""
    RELEASED = "Released"
    """The end: its holder let it go."""

    @property
    def is_final(self) -> bool:
        """Whether the hold holds nothing any more."""
        return self in {HoldState.LOST, HoldState.RELEASED}


class WALHoldSpec(APIModel):
    """What is claimed, and for how long."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self.clusterRef == oldSelf.clusterRef", "clusterRef is immutable: create another WALHold"),
        Rule(
            f"self.topics.all(name, name == '*' || name.matches('{_TOPIC}'))",
            'topics are names of topics, or "*"',
            lambda hold: all(name == ALL_TOPICS or re.fullmatch(_TOPIC, name) for name in hold.topics),
        ),
        Rule(
            "self.topics.all(name, (name == '*') == (self.topics[name] == 'earliest'))",
            'topics: earliest goes with "*", an offset with the name of a topic',
            lambda hold: all((name == ALL_TOPICS) == (held == EARLIEST) for name, held in hold.topics.items()),
        ),
        # The API server takes an empty list for any text with a format, and asks no pattern of it.
        Rule(
            "!has(self.renewTime) || self.renewTime >= timestamp('0001-01-01T00:00:00Z')",
            "renewTime must be a time such as 2026-11-26T12:00:00Z",
        ),
        duration_rule("ttl"),
        duration_rule("maxLagAge"),
        bytes_rule("maxLagBytes", MAX_LARGE),
    )

    cluster_ref: ClusterRef
    """The WALCluster whose topics are held."""
    topics: HeldTopics
    """Topic → the first offset that is needed. `"*": earliest` stands for every topic: nothing is deleted."""
    ttl: Annotated[Duration, Field(json_schema_extra={"default": "24h"})] = timedelta(hours=24)
    """How long after renewTime the hold expires: renew it each third of that."""
    max_lag_bytes: LargeBytes | None = None
    """Beyond this many bytes from its offsets to the end of the topics the hold is given up; absent means never."""
    max_lag_age: Duration | None = None
    """Once a record that it keeps is older than this by its own timestamp, it is given up; absent means never."""
    reason: Annotated[str, Field(max_length=1024)] = ""
    """Who needs it and why, for people."""
    renew_time: Instant | None = None
    """When the holder last said that it is alive, as in a Lease; absent means at its creation."""
    release: StrictBool = False
    """Lets the hold go, and keeps the object to be read. Deleting it lets it go as well, once no finalizer keeps it."""


class Renewal(StatusModel):
    """The last renewal that the operator saw. Ages are counted from then on, so a holder's clock may be wrong."""

    renew_time: datetime | None = None
    """The renewTime of the spec; absent when it had none."""
    seen_time: datetime
    """When the operator first saw it, by its own clock or the API server's, whichever is later."""


class GrantedLogs(StatusModel):
    """Which logs were granted: a topic that is deleted and created again has another one."""

    topics: Annotated[int, Field(ge=0)]
    """How many."""
    digest: Annotated[str, Field(max_length=64)]
    """A digest of their names and of the ids that Kafka gave them."""
    numbers: (
        Annotated[str, Field(max_length=MAX_NUMBERS, pattern=r"^[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*$")]
        | None
    ) = None
    """The numbers of the topics, as 0-63,70, of a hold on all: of a pool that has grown these are compared."""


class WALHoldStatus(ObjectStatus):
    """What was granted."""

    conditions: Conditions = ()
    """Ready, Reconciling and Stalled (kstatus), Granted, AtRisk, Lost, and ExpiryJudged: whether its limits count."""
    state: HoldState | None = None
    """What became of the hold; absent until it is first looked at, which counts as Requested."""
    granted: Annotated[dict[str, HeldFrom], Field(max_length=10_000)] = Field(default_factory=dict)
    """Topic → what was granted. It stands until an edited spec is granted in its place."""
    granted_logs: GrantedLogs | None = None
    """The logs of what was granted: when they are others, the hold is Lost."""
    granted_prefix: Annotated[str, Field(max_length=200)] | None = None
    """The prefix of the topics on which it was granted: a later WALCluster of the same name may have others."""
    granted_cluster_id: Annotated[str, Field(max_length=200)] | None = None
    """The id of the Kafka on which it was granted: a later one may be on another, with topics of the same names."""
    renewal: Renewal | None = None
    """The last renewal that the operator saw."""
    unrenewed: Stretch | None = None
    """That it was not renewed for half of its ttl; absent: it was. It expires when that was observed for as long."""
    at_risk_time: datetime | None = None
    """Since when the hold is AtRisk; it is not Lost before it was seen to be."""
    topics: Annotated[int, Field(ge=0)] | None = None
    """How many topics are held."""
    expire_time: datetime | None = None
    """When the hold expires unless it is renewed, by two clocks that agree; later if nobody can observe it. It binds
    only once the state is Lost."""
    lag_entries: Annotated[int, Field(ge=0)] | None = None
    """Entries from its offsets to the end of the topics; until an edit is granted from the lower of both."""
    lag_bytes: Annotated[int, Field(ge=0)] | None = None
    """Bytes from its offsets to the end of the topics, estimated from their sizes; until an edit is granted from the
    lower of both."""

    @property
    def is_final(self) -> bool:
        """Whether it was looked at, and holds nothing any more."""
        return self.state is not None and self.state.is_final


WAL_HOLD = Kind(
    kind="WALHold",
    plural="walholds",
    short_names=("walh",),
    description='A claim on topics, "keep from offset N", that a consumer, a backup or a person places.',
    spec=WALHoldSpec,
    status=WALHoldStatus,
    columns=(
        PrinterColumn("Cluster", "string", ".spec.clusterRef.name", "WALCluster whose topics are held"),
        PrinterColumn("State", "string", ".status.state", "What became of the hold"),
        PrinterColumn(
            "Granted", "string", '.status.conditions[?(@.type=="Granted")].status', "Whether it may be relied on"
        ),
        PrinterColumn("Topics", "integer", ".status.topics", "Topics that are held"),
        PrinterColumn("Expires", "string", ".status.expireTime", "When it expires unless it is renewed"),
        PrinterColumn("Lag", "integer", ".status.lagBytes", "Bytes from its offsets to the end of the topics"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp", "Time since creation"),
        PrinterColumn("Reason", "string", ".spec.reason", "Who needs it and why", priority=1),
        PrinterColumn(
            "Message", "string", '.status.conditions[?(@.type=="Ready")].message', "Why, in one sentence", priority=1
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WALHold(Resource[WALHoldSpec, WALHoldStatus]):
    """A WALHold as read from the API server."""

    KIND = WAL_HOLD
    KEPT = frozenset({"state", "granted"})
