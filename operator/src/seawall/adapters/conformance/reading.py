"""What must be so of answers that only read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from seawall.adapters.conformance.server import Broken, Server, Skipped, require
from seawall.adapters.http_database import wire
from seawall.adapters.times import CONFORMANCE_REPORT_SECONDS

T = TypeVar("T")

_POLL_SECONDS = 1.0
_ATTEMPTS = 3


def description_fits(server: Server) -> None:
    """The description fits the document, and names nodes, each once."""
    found = server.describe()
    ids = [node.id for node in found.nodes]
    require(found.nodes, "no node is described")
    require(len(ids) == len(set(ids)), "a node is described twice")


def can_be_purged(server: Server) -> None:
    """It declares markers or durable starts, and deletes nothing itself: else Seawall only reports."""
    found = server.describe()
    can = found.capabilities
    require(
        can.markers or can.durable_starts, "neither markers nor durableStarts is declared: nothing would be deleted"
    )
    require(not found.wal.deletes_records, "wal.deletesRecords is true: nothing would be deleted or granted")


def identity_stays(server: Server) -> None:
    """Every answer names the same database, again and again."""
    found = {server.describe().database for _ in range(2)}
    found |= {server.get("/head", wire.Head).database, server.get("/metadata", wire.Metadata).database}
    found.add(server.get("/reports", wire.Reports).database)
    if server.describe().capabilities.maintenance:
        found.add(server.get("/maintenance", wire.Maintenance).database)
    require(len(found) == 1, f"the identity is not always the same: {', '.join(sorted(found))}")


def reports_fit(server: Server) -> None:
    """Reports fit the document: each node once, each region once by a node."""
    found = server.get("/reports", wire.Reports).nodes
    ids = [node.id for node in found]
    require(len(ids) == len(set(ids)), "a node reports twice")
    for node in found:
        regions = [region.id for region in node.regions]
        require(len(regions) == len(set(regions)), f"node {node.id} reports a region twice")


def reports_go_on(server: Server) -> None:
    """Every node that is there reports again by itself, and its epoch stays while it does not start anew."""
    first = {node.id: node for node in server.get("/reports", wire.Reports).nodes}
    require(first, "no node reports")
    waited = 0.0
    while waited <= CONFORMANCE_REPORT_SECONDS:
        server.pause(_POLL_SECONDS)
        waited += _POLL_SECONDS
        for node in server.get("/reports", wire.Reports).nodes:
            before = first.get(node.id)
            if before is None or node.reported_at <= before.reported_at:
                continue
            require(node.epoch == before.epoch, f"the epoch of node {node.id} changes while it runs")
            first.pop(node.id)
        if not first:
            return
    require(not first, f"node {min(first)} did not report again within {CONFORMANCE_REPORT_SECONDS:g} s")


def one_database(server: Server) -> None:
    """Description, reports and metadata have the same nodes, at the same addresses."""
    _agreed(server, _nodes)


def _nodes(server: Server) -> None:
    described = {node.id: node.address for node in server.describe().nodes}
    stored = {node.id: node.address for node in server.get("/metadata", wire.Metadata).nodes}
    for node in server.get("/reports", wire.Reports).nodes:
        _require_agreed(
            stored.get(node.id) == node.address, f"node {node.id} at {node.address} reports and is not in the metadata"
        )
        known = described.get(node.id, node.address)
        _require_agreed(known == node.address, f"node {node.id} at {node.address} reports and is described at {known}")


def metadata_fit(server: Server) -> None:
    """Metadata fit the document, and nothing in them is newer than their revision."""
    found = server.get("/metadata", wire.Metadata)
    names = [one.topic for one in found.topics]
    require(len(names) == len(set(names)), "a topic has two markers")
    regions = [one.id for one in found.regions]
    require(len(regions) == len(set(regions)), "a region is there twice")
    routes = (one.route_revision or 0 for one in found.regions)
    newest = max([0, *(one.revision for one in found.topics), *(one.revision for one in found.regions), *routes])
    require(newest <= found.revision, f"something is of revision {newest}, and the metadata of {found.revision}")
    followers = [one.id for one in found.regions if one.state is wire.State.FOLLOWER]
    require(not followers, f"region {followers[:1]} is Follower in the metadata, which say what its leader does")


def metadata_stay(server: Server) -> None:
    """Metadata of one revision say the same of topics, regions and claims, however often they are asked for."""
    known: dict[int, dict[str, dict[str, object]]] = {}
    for _ in range(_ATTEMPTS):
        found = server.get("/metadata", wire.Metadata)
        now = _parts(found)
        before = known.setdefault(found.revision, now)
        for what, parts in now.items():
            other = sorted(name for name in before[what] | parts if before[what].get(name) != parts.get(name))
            require(not other, f"{what} {other[:1]} changed, and the metadata are of revision {found.revision} still")
        server.pause(_POLL_SECONDS)
    if len(known) == _ATTEMPTS:
        raise Skipped("the metadata changed each time: ask while nothing happens")


def _parts(found: wire.Metadata) -> dict[str, dict[str, object]]:
    """By name what the revision counts, in whatever order it comes: nodes come and go without it."""
    regions = {str(one.id): one.model_copy(update={"followers": sorted(one.followers)}) for one in found.regions}
    return {
        "topic": {one.topic: one for one in found.topics},
        "region": regions | {str(one.id): one for one in found.dropped},
        "claim": {one.prefix: one for one in found.claims},
    }


def routes_have_revisions(server: Server) -> None:
    """A region that another node leads or follows, or whose state is another, has another revision of its route."""
    before = _routes(server)
    server.pause(_POLL_SECONDS)
    for number, (revision, route) in sorted(_routes(server).items()):
        was, known = before.get(number, (revision, route))
        has_risen = route == known or revision > was
        require(has_risen, f"the route of region {number} changed, and its revision did not rise from {was}")


def _routes(server: Server) -> dict[int, tuple[int, object]]:
    """By region the revision of its route, which is the region's where it has none of its own, and the route."""
    found = server.get("/metadata", wire.Metadata).regions
    revisions = {one.id: one.revision if one.route_revision is None else one.route_revision for one in found}
    return {one.id: (revisions[one.id], (one.leader, sorted(one.followers), one.state)) for one in found}


def regions_are_mapped(server: Server) -> None:
    """Each region that reports is in the metadata, and each in the metadata is reported by its leader."""
    _agreed(server, _regions)


def _regions(server: Server) -> None:
    metadata = server.get("/metadata", wire.Metadata)
    mapped = {one.id: one for one in metadata.regions}
    reported = _reported(server)
    if not mapped and not reported:
        raise Skipped("the database has no regions: make one, and write to it")
    dropped = {one.id for one in metadata.dropped}
    for region, node in sorted(reported):
        _require_agreed(
            region in mapped or region in dropped, f"node {node} reports region {region}, which the metadata lack"
        )
    for number, one in sorted(mapped.items()):
        if one.leader is not None and one.state is wire.State.SERVING:
            _require_agreed(
                (number, one.leader) in reported, f"region {number} is not reported by its leader, node {one.leader}"
            )


class _Disagreed(Broken):
    """Two answers do not fit together, each of which may be right."""


def _require_agreed(is_so: object, what: str) -> None:
    if not is_so:
        raise _Disagreed(what)


def _agreed(server: Server, compare: Callable[[Server], T]) -> T:
    """What is compared of two answers, which are of two moments.

    Between them a region may move or open anew, or a node start elsewhere. So what they disagree about is asked again;
    whoever never agrees breaks the promise.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return compare(server)
        except _Disagreed:
            server.pause(_POLL_SECONDS)
    return compare(server)


def followers_report(server: Server) -> None:
    """Each follower is another node than the leader, reports the region as Follower, and its position never falls."""
    first = _agreed(server, _followers)
    server.pause(_POLL_SECONDS)
    later = _reported(server)
    for (number, node), said in sorted(first.items()):
        now = later.get((number, node))
        if now is None or not said.state is now.state is wire.State.FOLLOWER:
            continue
        before, position = said.flushed_entry_id or 0, now.flushed_entry_id or 0
        require(position >= before, f"the follower of region {number} on node {node} fell from {before} to {position}")


def _followers(server: Server) -> dict[tuple[int, int], wire.RegionReport]:
    metadata = server.get("/metadata", wire.Metadata)
    followed = {one.id: one for one in metadata.regions if one.followers}
    if not followed:
        raise Skipped("no region has followers")
    nodes = {node.id for node in metadata.nodes}
    found = _reported(server)
    for number, one in sorted(followed.items()):
        require(len(one.followers) == len(set(one.followers)), f"region {number} has a follower twice")
        require(one.leader not in one.followers, f"region {number} has its leader, node {one.leader}, as a follower")
        for node in one.followers:
            require(node in nodes, f"region {number} has a follower on node {node}, which the metadata lack")
            said = found.get((number, node))
            _require_agreed(said, f"region {number} is not reported by its follower, node {node}")
            is_one = said is not None and said.state is wire.State.FOLLOWER
            _require_agreed(is_one, f"node {node} follows region {number} and does not report it as Follower")
    return found


def _reported(server: Server) -> dict[tuple[int, int], wire.RegionReport]:
    """By region and node what is said of it."""
    found = server.get("/reports", wire.Reports).nodes
    return {(region.id, node.id): region for node in found for region in node.regions}


def topics_are_the_pools(server: Server) -> None:
    """Topics have the names that the description says."""
    wal, found = server.describe().wal, server.get("/metadata", wire.Metadata)
    names = {f"{wal.topic_prefix}_{number}" for number in range(wal.topic_count)}
    used = {one.topic for one in found.regions} | {one.topic for one in found.dropped}
    other = sorted((used | {one.topic for one in found.topics}) - names)
    require(not other, f"topic {other[:1]} is none of {wal.topic_prefix}_0 to {wal.topic_prefix}_{wal.topic_count - 1}")


def starts_are_known(server: Server) -> None:
    """With durable starts every region that serves has a flushed entry id, or a checkpoint."""
    if not server.describe().capabilities.durable_starts:
        raise Skipped("the server declares no durableStarts")
    checkpoints = {
        one.id for one in server.get("/metadata", wire.Metadata).regions if one.checkpoint_entry_id is not None
    }
    for node in server.get("/reports", wire.Reports).nodes:
        for region in node.regions:
            known = region.flushed_entry_id is not None or region.id in checkpoints
            require(
                known or region.state is not wire.State.SERVING, f"region {region.id} serves and has no durable start"
            )


def markers_are_known(server: Server) -> None:
    """With markers every topic that has regions has one: 0 before anything is pruned, and never null."""
    if not server.describe().capabilities.markers:
        raise Skipped("the server declares no markers")
    found = server.get("/metadata", wire.Metadata)
    known = {one.topic for one in found.topics if one.marker is not None}
    missing = sorted({one.topic for one in found.regions} - known)
    require(not missing, f"topic {missing[:1]} has regions and no marker: nothing would ever be deleted from it")


def head_is_not_behind(server: Server) -> None:
    """Neither head nor metadata have a lower revision than was read before; of one both have the same claims."""
    metadata = server.get("/metadata", wire.Metadata)
    head = server.get("/head", wire.Head)
    require(head.revision >= metadata.revision, f"the head is at {head.revision}, behind {metadata.revision}")
    if head.revision == metadata.revision:
        same = {(one.prefix, one.owner) for one in head.claims} == {(one.prefix, one.owner) for one in metadata.claims}
        require(same, "head and metadata of one revision have different claims")
    later = server.get("/metadata", wire.Metadata).revision
    require(later >= head.revision, f"metadata are at {later}, behind {head.revision} of the head that was read before")


def errors_are_problems(server: Server) -> None:
    """What there is not is an error with a problem of RFC 9457; so is a change of whichever database answers."""
    server.refuse("GET", "/no-such-path")
    server.refuse("GET", "/flush")
    said = server.describe()
    can, meant = said.capabilities, {"database": said.database}
    if can.flush:
        server.refuse("POST", "/flush", _json(meant, regions="all"))
        server.refuse("POST", "/flush", b"not JSON")
        server.refuse("POST", "/flush", _json(regions=[]))
    if can.markers:
        server.refuse("POST", "/markers", _json(meant))
        server.refuse("POST", "/markers", _json(prefix="a", owner="b", moves=[]))
        server.refuse("POST", "/claims", _json(meant, prefix="a", owner=7, before=None))
    if can.maintenance:
        server.refuse("PUT", "/maintenance", _json(meant, enabled="yes"))


def _json(meant: Mapping[str, str] | None = None, **fields: object) -> bytes:
    return json.dumps({**(meant or {}), **fields}).encode()
