"""What is on the wire between Seawall and a database: version 1 of the contract (docs/any-database.md).

Each field is required, so a name that is misspelt is an answer that makes no sense, and nothing is deleted by it; all
but `routeRevision`, without which less is deleted.
Fields that are not listed are ignored: a later 1.x may add what a reader of an earlier one can do without.
`make crds` writes docs/database-contract.yaml (OpenAPI 3.1) of these models.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

VERSION = "1.0"
PROBLEM = "application/problem+json"
"""Of every answer that is an error: RFC 9457."""

EntryId = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""The offset of a record in partition 0 of the topic."""
RegionId = Annotated[int, Field(ge=0, le=2**64 - 1)]
NodeId = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""Exact as a number of JSON, as the status has it."""
Revision = Annotated[int, Field(ge=0, le=2**63 - 1)]
Topic = Annotated[str, StringConstraints(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$")]
Word = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[!-~]+$")]
"""Printable ASCII without spaces."""
Text = Annotated[str, StringConstraints(max_length=1000)]


class Message(BaseModel):
    """What all have in common: nothing is converted, and a number in quotes is none."""

    model_config = ConfigDict(
        strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class State(StrEnum):
    """What a node does with a region."""

    SERVING = "Serving"
    """It reads and writes."""
    OPENING = "Opening"
    """It is being opened: it replays, or is not there for readers yet."""
    MOVING = "Moving"
    """It is on its way to another node, or its leader is taken for dead."""
    FOLLOWER = "Follower"
    """A copy for reading: another node leads the region."""


class Capability(Message):
    """What the database can do. Without one of them Seawall does less, and says so in DataPlaneReachable."""

    markers: bool
    """Regions read the pruned marker of their topic when they open, and begin to read no earlier than behind it; and
    `POST /markers` and `POST /claims` are there. With it Seawall deletes what idle regions keep, too (mode B)."""
    durable_starts: bool
    """Each region, one that was made this moment too, has a flushed entry id that survives a crash, and reads nothing
    at or below it when it opens. Without markers this is what Seawall deletes by (mode C); without both it only
    reports."""
    flush: bool
    """`POST /flush` is there."""
    maintenance: bool
    """`PUT /maintenance` is there. Without it Seawall restarts no datanode."""


class WAL(Message):
    """Where the database keeps its log."""

    topic_prefix: Topic
    """Topics are called `<topicPrefix>_0`, `<topicPrefix>_1` and so on, with one partition each."""
    topic_count: Annotated[int, Field(ge=1, le=100_000)]
    """How many topics it may write to."""
    deletes_records: bool
    """Whether the database deletes records of these topics by itself. If so, Seawall deletes and grants nothing."""


class Node(Message):
    """A process that reads and writes regions."""

    id: NodeId
    """Its number, which it keeps when it starts anew."""
    address: Word
    """`host:port`. The host is that of its pod, where Seawall is to restart it."""
    version: Annotated[str, StringConstraints(max_length=64)]
    """What it runs; empty while it has not said so."""


class Description(Message):
    """Who answers, and what it can do."""

    contract: Annotated[str, StringConstraints(pattern=r"^1\.[0-9]{1,4}$")]
    """Version of this contract that is served: `1.0`."""
    database: Word
    """Identity: made once with the database, kept by backups of it, and never given to another one."""
    name: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """What the database is called, for people."""
    capabilities: Capability
    """What it can do."""
    wal: WAL
    """Where its log is."""
    nodes: Annotated[list[Node], Field(max_length=10_000)]
    """Its processes, those too that are away for a while."""


class RegionReport(Message):
    """What a node says of one region."""

    id: RegionId
    """The unit that replays; many may share a topic."""
    state: State
    """What the node does with it."""
    flushed_entry_id: EntryId | None
    """The greatest entry id at and below which everything of this region is durable outside of the log. 0: nothing is
    flushed. Null: it is not known, and nothing of the topic is deleted."""
    idle_entry_id: EntryId | None
    """The last entry of the topic when the region had nothing in memory and no write under way, sampled under its write
    lock; null: it was not seen idle. What it had in memory before is durable, so that a restart needs nothing up to
    here: rows that are put aside and may yet be given up are not. It is only used with markers."""
    memory_bytes: Annotated[int, Field(ge=0, le=2**63 - 1)]
    """What is in memory and not flushed yet, about."""


class NewestEntry(Message):
    """The greatest entry id of a topic that a node knows of."""

    topic: Topic
    """Name of the topic."""
    entry_id: EntryId
    """It is below the end of the log."""


class NodeReport(Message):
    """What one node said at one time."""

    id: NodeId
    """As in `nodes`."""
    address: Word
    """As in `nodes`."""
    epoch: Annotated[int, Field(ge=0, le=2**63 - 1)]
    """Another one each time when the process starts, and greater than all before."""
    reported_at: AwareDatetime
    """When the node said this, with an offset from UTC. It must go on by itself, at least every 10 seconds: the report
    of a node that is away keeps its time."""
    regions: Annotated[list[RegionReport], Field(max_length=200_000)]
    """All regions that it holds."""
    newest_entries: Annotated[list[NewestEntry], Field(max_length=100_000)]
    """Of the topics that it used lately."""


class Reports(Message):
    """The newest report of every node, also of those that are away."""

    database: Word
    """Identity, as in the description."""
    nodes: Annotated[list[NodeReport], Field(max_length=10_000)]
    """One report each."""


class TopicMarker(Message):
    """The pruned marker of a topic."""

    topic: Topic
    """Name of the topic."""
    marker: EntryId | None
    """No region needs anything at and below it. 0: nothing is pruned yet. Null is for a topic without regions: one that
    has regions has a marker, from its first region on, or nothing is ever deleted from it (`MarkerMissing`). It only
    rises: one that falls is taken for metadata of before, and stops all deletes until a person readopts."""
    revision: Revision
    """Of the last change of the marker."""


class Region(Message):
    """A region as the metadata have it."""

    id: RegionId
    """As in reports."""
    topic: Topic
    """Where its log is."""
    leader: NodeId | None
    """The node that may write; null: none."""
    followers: Annotated[list[NodeId], Field(max_length=1000)]
    """The nodes that have a copy for reading. Each reports it as `Follower`, with its own flushed entry id, which
    never goes back: what it still reads of the log is kept. One that leads next opens from there, even where the marker
    of the topic is above it."""
    state: State
    """`Serving`, unless it is being opened or moved. Never `Follower`."""
    checkpoint_entry_id: EntryId | None
    """A replay start that the metadata know, as `flushedEntryId`; null: none. A restart reads from behind the greater
    of the two."""
    revision: Revision
    """Of the last change of anything of this region, its creation included."""
    route_revision: Revision | None = None
    """Of the last change of `leader`, `followers` or `state`, the region's creation included: also where a leader went
    and came back. It may be left out, or be null: `revision` counts then. That costs something: the reports that a
    delete waits for begin anew with each change of it, so a region whose checkpoint is stored more often than its node
    has reported twice holds its topic back for ever (`AwaitingReports`)."""


class DroppedRegion(Message):
    """A region that was dropped, and may come back."""

    id: RegionId
    """Its id."""
    topic: Topic
    """Where its log is."""


class Claim(Message):
    """Who moves the markers of the topics with a prefix."""

    prefix: Topic
    """Of the topics."""
    owner: Word
    """The UID of a WALCluster."""


class NodeAddress(Message):
    """A node as the metadata have it: it is there before the node's first report."""

    id: NodeId
    """Its number."""
    address: Word
    """As in reports."""


class Head(Message):
    """Where the metadata are: two numbers that are cheap to read."""

    database: Word
    """Identity, as in the description."""
    revision: Revision
    """Of the metadata: it rises with every change of them, and never falls."""
    claims: Annotated[list[Claim], Field(max_length=1000)]
    """All of them; empty without markers."""


class Metadata(Message):
    """All metadata as they were at one revision, read whole or not at all."""

    database: Word
    """Identity, as in the description."""
    revision: Revision
    """At which all of this was read."""
    topics: Annotated[list[TopicMarker], Field(max_length=100_000)]
    """The markers, of each topic that has regions; empty without markers."""
    regions: Annotated[list[Region], Field(max_length=200_000)]
    """All regions that there are. A region that is missing here needs nothing of its topic any more."""
    dropped: Annotated[list[DroppedRegion], Field(max_length=200_000)]
    """Those that may come back: their records are kept."""
    nodes: Annotated[list[NodeAddress], Field(max_length=10_000)]
    """All nodes."""
    claims: Annotated[list[Claim], Field(max_length=1000)]
    """As in the head."""


class Maintenance(Message):
    """The switch of maintenance: while it is on nothing fails over, and nothing is balanced."""

    database: Word
    """Identity, as in the description."""
    enabled: bool
    """Whether it is on, by whomever."""


class Problem(Message):
    """An error (RFC 9457)."""

    type: Annotated[str, StringConstraints(max_length=256)]
    """A URI, or `about:blank`."""
    title: Text
    """What is wrong, the same for every such error."""
    status: Annotated[int, Field(ge=400, le=599)]
    """As that of the answer."""
    detail: Text
    """What is wrong here, in one sentence that names no secret."""
