"""What a WALCluster's status says of the database that writes the WAL (`status.dataPlane`)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StrictBool

from seawall.api.meta import StatusModel
from seawall.api.resource import read_fitting


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
    """The seawall.dev/readopt that was met last, as a checksum: it adopts a database, and begins lost records, once."""
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


def readoption_token(annotation: str) -> int:
    """By what a seawall.dev/readopt is told from any other."""
    return zlib.crc32(annotation.strip().encode())


def read_pinned_database(raw: object, readopt: str | None) -> DataPlaneStatus | None:
    """What can be read of it, where something does not fit.

    An id that cannot be read is pinned as text that no store has as its id. Where it cannot be read which readoption
    was met, the one that stands (`readopt`) was.
    """
    if not isinstance(raw, Mapping):
        return None
    found, wrong = read_fitting(DataPlaneStatus, raw)
    guards: dict[str, object] = {}
    if wrong.get("identity") is not None:
        guards["identity"] = str(wrong["identity"])[:512]
    if "readopted" in wrong and readopt is not None:
        guards["readopted"] = readoption_token(readopt)
    return found.model_copy(update=guards)
