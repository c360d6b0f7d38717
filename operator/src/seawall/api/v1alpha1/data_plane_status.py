"""What a WALCluster's status says of the database that writes the WAL (`status.dataPlane`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StrictBool

from seawall.api.meta import StatusModel


class DataPlaneStatus(StatusModel):
    """What the database that writes the WAL says of itself, when it last answered."""

    identity: Annotated[str, Field(max_length=512)] | None = None
    """Which metadata store it has, by the store's own id (etcd/<cluster id>/<prefix>,
    postgresql/<system identifier>/<database oid>.<table oid>/<prefix>,
    mysql/<server uuid>/<database>.<table>@<second in which the table was made>/<prefix>, or http/<id> as a database
    says that serves the contract of docs/any-database.md), pinned at first contact.
    Another id later stops deletes, grants and restarts until seawall.dev/readopt."""
    claimed: StrictBool = False
    """Whether the UID of this WALCluster was found in the metadata store, at seawall/claim/<topics.prefix>: only the
    owner of the claim announces pruned markers."""
    readopted: Annotated[int, Field(ge=0)] | None = None
    """The seawall.dev/readopt that was met last, as a checksum: it adopts a database once."""
    version: Annotated[str, Field(max_length=64)] | None = None
    """The oldest version that any datanode or metasrv runs; absent while not all have said their own."""
    datanodes: Annotated[int, Field(ge=0)] | None = None
    """Datanodes that the metadata or the reports name."""
    reporting: Annotated[int, Field(ge=0)] | None = None
    """Datanodes that reported in the last minute."""
    regions: Annotated[int, Field(ge=0)] | None = None
    """Regions that write to a WAL topic, dropped ones that may come back included."""
    topics_in_use: Annotated[int, Field(ge=0)] | None = None
    """WAL topics that a region writes to."""
    followers: Annotated[int, Field(ge=0)] | None = None
    """Read replicas and hot standbys of regions that the routes name; absent: there are none."""
    silent_followers: Annotated[int, Field(ge=0)] | None = None
    """Those of them that have not said where they are: their topics are left alone (safety.countFollowers)."""
    follower_lag: Annotated[int, Field(ge=0)] | None = None
    """Entries from the slowest follower to its leader, rounded up to a power of two."""
    reads_marker_at_open: StrictBool | None = None
    """Whether a region that opens reads its topic's pruned marker (GreptimeDB 1.1 or newer; of `http`, as it says)."""


def read_pinned_database(found: object) -> DataPlaneStatus | None:
    """What is pinned of the database; what cannot be read is pinned as text that no store has as its id."""
    identity = found.get("identity") if isinstance(found, Mapping) else None
    if identity is None:
        return None
    claimed = isinstance(found, Mapping) and found.get("claimed") is True
    return DataPlaneStatus(identity=str(identity)[:512], claimed=claimed)
