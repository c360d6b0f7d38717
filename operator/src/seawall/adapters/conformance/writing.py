"""What must be so of requests that change something: they are tried only where somebody allows it."""

from __future__ import annotations

from collections.abc import Iterable

from seawall.adapters.conformance.server import Server, Skipped, require
from seawall.adapters.http_database import changes, wire
from seawall.adapters.http_database.changes import FLUSHES_AT_ONCE

PREFIX = "seawall-conformance"
"""No topics have it: claims on it are nobody's."""
OWNER, OTHER = "conformance-1", "conformance-2"
UNKNOWN_REGION = 2**64 - 1


def flush_flushes(server: Server) -> None:
    """After a flush nothing is in memory, no id went back, and a region that there is not is a final failure."""
    server.writing(has=server.describe().capabilities.flush, capability="flush")
    before, database = _flushed(server), _identity(server)
    asked = [*before, UNKNOWN_REGION]
    parts = [asked[start : start + FLUSHES_AT_ONCE] for start in range(0, len(asked), FLUSHES_AT_ONCE)]
    requests = [changes.FlushRequest(database=database, regions=part) for part in parts]
    server.refuse_change("POST", "/flush", requests[0])
    answers = [server.send("POST", "/flush", request, changes.FlushAnswer) for request in requests]
    failed = {one.region: one for answer in answers for one in answer.failures}
    require(UNKNOWN_REGION in failed, f"a flush of region {UNKNOWN_REGION}, which there is not, did not fail")
    require(failed[UNKNOWN_REGION].final, f"a flush of region {UNKNOWN_REGION} must fail for good")
    others = sorted(failed.keys() - {UNKNOWN_REGION})
    require(not others, f"region {others[:1]} was not flushed: {failed[others[0]].detail if others else ''}")
    after = _flushed(server)
    for region, (flushed, _) in before.items():
        now = after.get(region, (flushed, 0))[0]
        require((now or 0) >= (flushed or 0), f"the flushed entry id of region {region} fell from {flushed} to {now}")


def _flushed(server: Server) -> dict[int, tuple[int | None, int]]:
    """By region that serves its flushed id, and what is in memory."""
    return {
        region.id: (region.flushed_entry_id, region.memory_bytes)
        for node in server.get("/reports", wire.Reports).nodes
        for region in node.regions
        if region.state is wire.State.SERVING
    }


def claims_compare(server: Server) -> None:
    """A claim is written only if it is as it was read, and each one that is written raises the revision."""
    server.writing(has=server.describe().capabilities.markers, capability="markers")
    before = _claim_of(server.get("/head", wire.Head).claims, PREFIX)
    _require_own_claim(server, before)
    start = server.get("/head", wire.Head).revision
    require(_claims(server, OWNER, before), "a claim that is as it was read was not written")
    head = server.get("/head", wire.Head)
    require(_claim_of(head.claims, PREFIX) == OWNER, "a claim that was written is not in the head")
    require(head.revision > start, "a claim was written, and the revision did not rise")
    require(not _claims(server, OTHER, None), "a claim was written over one that somebody else has")
    require(not _claims(server, OTHER, "nobody"), "a claim was written over another one than was read")
    require(
        _claim_of(server.get("/metadata", wire.Metadata).claims, PREFIX) == OWNER, "a refused claim changed something"
    )


def _identity(server: Server) -> str:
    return server.get("/head", wire.Head).database


def _require_own_claim(server: Server, before: str | None) -> None:
    """One on another database is not written."""
    request = changes.ClaimRequest(database=_identity(server), prefix=PREFIX, owner=OTHER, before=before)
    server.refuse_change("POST", "/claims", request)
    stays = _claim_of(server.get("/head", wire.Head).claims, PREFIX) == before
    require(stays, "a claim that means another database was written")


def _claims(server: Server, owner: str, before: str | None) -> bool:
    request = changes.ClaimRequest(database=_identity(server), prefix=PREFIX, owner=owner, before=before)
    return server.send("POST", "/claims", request, changes.ClaimAnswer).written


def _claim_of(claims: Iterable[wire.Claim], prefix: str) -> str | None:
    return next((one.owner for one in claims if one.prefix == prefix), None)


def markers_compare(server: Server) -> None:
    """A marker stays if it, its topic's regions, the claim or the database is not as it was read; it never falls."""
    server.writing(has=server.describe().capabilities.markers, capability="markers")
    move, owner = _possible(server)
    recorded, at = move.recorded, move.revision
    topic, region_revision = move.topic, _newest_region(server, move.topic)
    older = recorded.model_copy(update={"revision": recorded.revision + 1})
    attempts = {
        "the marker is of another revision than was read": (move.model_copy(update={"recorded": older}), owner),
        "a region of the topic is newer": (move.model_copy(update={"revision": region_revision - 1}), owner),
        "the claim is somebody else's": (move, OTHER),
    }
    if recorded.marker is not None and recorded.marker > 1:
        attempts["it would fall"] = (move.model_copy(update={"marker": recorded.marker - 1}), owner)
        attempts["it would not rise"] = (move.model_copy(update={"marker": recorded.marker}), owner)
    for why, (attempt, who) in attempts.items():
        refused = {one.topic for one in _moves(server, attempt, who).refused}
        require(topic in refused, f"the marker of {topic} was moved although {why}")
        stays = _marker(server, topic)
        require(stays == recorded, f"the marker of {topic} changed although {why}: {stays}")
    server.refuse_change("POST", "/markers", _request(server, move, owner))
    stays = _marker(server, topic)
    require(stays == recorded, f"the marker of {topic} changed although another database was meant: {stays}")
    require(server.get("/head", wire.Head).revision >= at, "the revision fell")


def markers_move(server: Server) -> None:
    """A marker moves when all is as it was read, once; asked for again it stays, and is refused."""
    server.writing(has=server.describe().capabilities.markers, capability="markers")
    move, owner = _possible(server)
    answer = _moves(server, move, owner)
    require(not answer.refused, f"the marker of {move.topic} did not move: {answer.refused[:1]}")
    moved = _marker(server, move.topic)
    require(
        moved.marker == move.marker, f"the marker of {move.topic} is {moved.marker}, and was moved to {move.marker}"
    )
    require(moved.revision > move.recorded.revision, f"the marker of {move.topic} moved, and its revision did not rise")
    require(_moves(server, move, owner).refused, f"the marker of {move.topic} moved twice by one comparison")


def _possible(server: Server) -> tuple[changes.MarkerMove, str]:
    """A move that Seawall could make, too: up to what every region of the topic has flushed."""
    prefix = server.describe().wal.topic_prefix
    claim = _claim_of(server.get("/head", wire.Head).claims, prefix)
    if claim is None:
        request = changes.ClaimRequest(database=_identity(server), prefix=prefix, owner=OWNER, before=None)
        require(server.send("POST", "/claims", request, changes.ClaimAnswer).written, "the topics cannot be claimed")
    flushed, found = _flushed(server), server.get("/metadata", wire.Metadata)
    for topic in found.topics:
        ids = [flushed.get(one.id, (None, 0))[0] for one in found.regions if one.topic == topic.topic]
        least = min((each for each in ids if each is not None), default=0)
        if ids and None not in ids and topic.marker is not None and least > topic.marker:
            move = changes.MarkerMove(topic=topic.topic, marker=least, recorded=topic, revision=found.revision)
            return move, claim or OWNER
    raise Skipped("no marker can rise: write to each region, and flush it")


def _newest_region(server: Server, topic: str) -> int:
    regions = server.get("/metadata", wire.Metadata).regions
    newest = max(one.revision for one in regions if one.topic == topic)
    if newest == 0:
        raise Skipped(f"the regions of {topic} have revision 0, before which there is none")
    return newest


def _request(server: Server, move: changes.MarkerMove, owner: str) -> changes.MarkersRequest:
    prefix = server.describe().wal.topic_prefix
    return changes.MarkersRequest(database=_identity(server), prefix=prefix, owner=owner, moves=[move])


def _moves(server: Server, move: changes.MarkerMove, owner: str) -> changes.MarkersAnswer:
    return server.send("POST", "/markers", _request(server, move, owner), changes.MarkersAnswer)


def _marker(server: Server, topic: str) -> wire.TopicMarker:
    found = [one for one in server.get("/metadata", wire.Metadata).topics if one.topic == topic]
    require(found, f"topic {topic} has no marker any more")
    return found[0]


def maintenance_stays(server: Server) -> None:
    """The switch is as it was turned, until it is turned again; it is left as it was found."""
    server.writing(has=server.describe().capabilities.maintenance, capability="maintenance")
    before, database = server.get("/maintenance", wire.Maintenance).enabled, _identity(server)
    server.refuse_change("PUT", "/maintenance", changes.MaintenanceRequest(database=database, enabled=not before))
    found = server.get("/maintenance", wire.Maintenance).enabled
    require(found is before, f"maintenance was turned to {found} although another database was meant")
    for enabled in (True, True, False, before):
        request = changes.MaintenanceRequest(database=database, enabled=enabled)
        said = server.send("PUT", "/maintenance", request, wire.Maintenance).enabled
        require(said is enabled, f"maintenance was turned to {enabled}, and the answer says {said}")
        found = server.get("/maintenance", wire.Maintenance).enabled
        require(found is enabled, f"maintenance was turned to {enabled}, and is {found}")
