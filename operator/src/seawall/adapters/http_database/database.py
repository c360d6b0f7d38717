"""A database by the contract: the ports DataPlane, MetadataStore and MaintenanceSwitch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seawall.adapters.http_database import changes, wire
from seawall.adapters.http_database.changes import FLUSHES_AT_ONCE
from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.known_regions import KnownRegions
from seawall.adapters.http_database.reading import (
    read_metadata,
    read_nodes,
    read_reports,
    read_settings,
    store_id_of,
)
from seawall.adapters.times import FLUSH_SECONDS
from seawall.domain.dataplane.connection import NotReached, PartRefused
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node
from seawall.domain.dataplane.metadata import MarkerMove, MetadataSnapshot, StoredMaintenance, StoreHead, TableNames
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings

MOVES_AT_ONCE = 1000
"""What a request may hold at most."""
NO_FLUSH = FlushFailure("the database declares no flush", final=True)


class HTTPDataPlane:
    """Reports, and flushes."""

    def __init__(self, client: Client) -> None:
        """Sends nothing yet."""
        self._client = client

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every node."""
        found, used = self._client.get_sized("/reports", wire.Reports)
        return read_reports(found, used)

    def nodes(self) -> Sequence[Node]:
        """What the description lists."""
        return read_nodes(self._client.get("", wire.Description))

    def wal_settings(self) -> WALSettings:
        """What the description says, its capabilities too: whoever asks again before an act hears of a change."""
        return read_settings(self._client.get("", wire.Description))

    def datanode_settings(self, reports: Sequence[DatanodeReport]) -> Mapping[int, DatanodeSettings]:
        """The contract has none of single nodes."""
        del reports
        return {}

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Asks for many at once; of a database that declares no flush, none is asked for."""
        if not region_ids:
            return {}
        if not self._client.get("", wire.Description).capabilities.flush:
            return dict.fromkeys(region_ids, NO_FLUSH)
        failures: dict[int, FlushFailure] = {}
        for start in range(0, len(region_ids), FLUSHES_AT_ONCE):
            part = list(dict.fromkeys(region_ids[start : start + FLUSHES_AT_ONCE]))
            request = changes.FlushRequest(database=self._client.meant, regions=part)
            answer = self._client.send("POST", "/flush", request, changes.FlushAnswer, FLUSH_SECONDS)
            failures |= {each.region: FlushFailure(each.detail, final=each.final) for each in answer.failures}
        return failures


class HTTPMetadataStore:
    """Metadata, claims and markers."""

    def __init__(self, client: Client, known: KnownRegions | None = None) -> None:
        """Sends nothing yet; `known` are the regions that were read last, by whomever before."""
        self._client, self._known = client, KnownRegions() if known is None else known

    def head(self) -> StoreHead:
        """Which database this is, its newest revision, and who has claimed what."""
        found = self._client.get("/head", wire.Head)
        return StoreHead(store_id_of(found), found.revision, {one.prefix: one.owner for one in found.claims})

    def maintenance(self) -> StoredMaintenance:
        """Which database this is, and whether it is in maintenance."""
        found = self._client.get("/maintenance", wire.Maintenance)
        return StoredMaintenance(store_id_of(found), found.enabled)

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision."""
        asked = self._known.asking()
        found, used = self._client.get_sized("/metadata", wire.Metadata)
        snapshot = read_metadata(found, used)
        self._known.require_kept(found, asked)
        return snapshot

    def begin_anew(self) -> bool:
        """Forgets the metadata that were read before."""
        return self._known.begin_anew()

    def table_names(self) -> TableNames:
        """The contract has no tables: nobody who needs them can be declared beside such a database."""
        raise PartRefused(NotReached.UNEXPECTED_ANSWER, "the contract of databases has no tables")

    def claim(self, prefix: str, owner: str, before: str | None) -> bool:
        """Asks for the claim."""
        request = changes.ClaimRequest(database=self._client.meant, prefix=prefix, owner=owner, before=before)
        return self._client.send("POST", "/claims", request, changes.ClaimAnswer).written

    def advance_markers(self, moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        """Asks for many at once; each is compared and moved by itself."""
        refused: dict[str, str] = {}
        for start in range(0, len(moves), MOVES_AT_ONCE):
            part = [_move(each) for each in moves[start : start + MOVES_AT_ONCE]]
            request = changes.MarkersRequest(database=self._client.meant, prefix=prefix, owner=owner, moves=part)
            answer = self._client.send("POST", "/markers", request, changes.MarkersAnswer)
            refused |= {each.topic: each.detail for each in answer.refused}
        return refused


class HTTPMaintenance:
    """The switch of maintenance."""

    def __init__(self, client: Client) -> None:
        """Sends nothing yet."""
        self._client = client

    def set_maintenance(self, *, enabled: bool) -> None:
        """Turns it on or off, and believes only the answer."""
        request = changes.MaintenanceRequest(database=self._client.meant, enabled=enabled)
        if self._client.send("PUT", "/maintenance", request, wire.Maintenance).enabled is not enabled:
            switch = "enable" if enabled else "disable"
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, f"the database did not {switch} maintenance")

    def in_maintenance(self) -> bool:
        """Asks for the switch; that of another database says nothing of the one that is meant."""
        found = self._client.get("/maintenance", wire.Maintenance)
        if not self._client.may_mean(found.database):
            message = f"the switch of maintenance is that of database {store_id_of(found)}, which is not meant"
            raise PartRefused(NotReached.CONTRADICTION, message)
        return found.enabled


def _move(move: MarkerMove) -> changes.MarkerMove:
    recorded = move.recorded
    return changes.MarkerMove(
        topic=move.topic,
        marker=move.marker,
        recorded=wire.TopicMarker(topic=move.topic, marker=recorded.pruned_entry_id, revision=recorded.mod_revision),
        revision=move.revision,
    )
