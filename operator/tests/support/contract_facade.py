"""The contract of databases, served over HTTP by a facade before any database that Seawall's ports reach.

Before the reference database it is one of the two servers that must pass the conformance; before the fakes it lets the
contract tests of the ports run over the wire.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from pydantic import ValidationError

from seawall.adapters.http_database import changes, wire
from seawall.domain.dataplane.connection import CONTRACT_ROOT, CONTRACT_STORE, PartRefused, PartUnavailable
from seawall.domain.dataplane.identity import NodeRole
from seawall.domain.dataplane.mapped_regions import map_regions
from seawall.domain.dataplane.metadata import LeaderState, MarkerMove, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.reports import InnerReport, RegionReport, RegionRole
from seawall.ports import DataPlane, MaintenanceSwitch, MetadataStore

MAX_BODY = 2**20
M = TypeVar("M", bound=wire.Message)
R = TypeVar("R", bound=changes.ChangeRequest)

_STATES = {
    RegionRole.LEADER: wire.State.SERVING,
    RegionRole.FOLLOWER: wire.State.FOLLOWER,
    RegionRole.STAGING: wire.State.OPENING,
    RegionRole.DOWNGRADING: wire.State.MOVING,
    RegionRole.UNKNOWN: wire.State.MOVING,
}
_LEADERS = {
    LeaderState.NORMAL: wire.State.SERVING,
    LeaderState.STAGING: wire.State.OPENING,
    LeaderState.DOWNGRADING: wire.State.MOVING,
    LeaderState.UNKNOWN: wire.State.MOVING,
}


class Wrong(Exception):  # noqa: N818 - an answer
    """An error that is answered."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = wire.Problem(type="about:blank", title=title, status=status, detail=detail)


@dataclass(frozen=True)
class Facade:
    """Answers of the contract about one database.

    Attributes:
        data_plane, store, switch: the database.
        name: what it is called.
        capabilities: what it declares.
    """

    data_plane: DataPlane
    store: MetadataStore
    switch: MaintenanceSwitch
    name: str = "facade"
    capabilities: wire.Capability = field(
        default_factory=lambda: wire.Capability(markers=True, durable_starts=True, flush=True, maintenance=True)
    )

    @property
    def identity(self) -> str:
        """The id of the database as it is pinned."""
        return f"{CONTRACT_STORE}{self._database()}"

    def _database(self) -> str:
        return _word(self.store.head().store_id)

    def answer(self, method: str, path: str, body: bytes) -> wire.Message:
        """The answer to a request.

        Raises:
            Wrong: it is an error.
        """
        routes = self._routes()
        if path not in {each for _, each in routes}:
            raise Wrong(404, "there is no such path", f"there is no {path}")
        if (method, path) not in routes:
            raise Wrong(405, "the path has no such method", f"{path} has no {method}")
        try:
            return routes[method, path](body)
        except (PartUnavailable, PartRefused) as error:
            raise Wrong(503, "the database does not answer", str(error)[:1000]) from error

    def _routes(self) -> Mapping[tuple[str, str], Callable[[bytes], wire.Message]]:
        found: dict[tuple[str, str], Callable[[bytes], wire.Message]] = {
            ("GET", ""): lambda _: self._description(),
            ("GET", "/reports"): lambda _: self._reports(),
            ("GET", "/head"): lambda _: self._head(),
            ("GET", "/metadata"): lambda _: self._metadata(),
        }
        if self.capabilities.flush:
            found["POST", "/flush"] = self._flush
        if self.capabilities.markers:
            found |= {("POST", "/claims"): self._claim, ("POST", "/markers"): self._markers}
        if self.capabilities.maintenance:
            found |= {("GET", "/maintenance"): lambda _: self._maintenance(), ("PUT", "/maintenance"): self._switch}
        return found

    def _description(self) -> wire.Description:
        wal, head = self.data_plane.wal_settings(), self.store.head()
        nodes = [node for node in self.data_plane.nodes() if node.role is NodeRole.DATANODE]
        return wire.Description(
            contract=wire.VERSION,
            database=_word(head.store_id),
            name=self.name,
            capabilities=self.capabilities,
            wal=wire.WAL(
                topic_prefix=wal.topic_name_prefix or "wal",
                topic_count=wal.num_topics or 1,
                deletes_records=wal.deletes,
            ),
            nodes=[wire.Node(id=node.node_id, address=node.address, version=node.version) for node in nodes],
        )

    def _reports(self) -> wire.Reports:
        nodes = [
            wire.NodeReport(
                id=node.datanode_id,
                address=node.address,
                epoch=node.node_epoch,
                reported_at=node.reported_at,
                regions=[_reported(region) for region in node.regions],
                newest_entries=[wire.NewestEntry(topic=topic, entry_id=at) for topic, at in node.newest_ids.items()],
            )
            for node in self.data_plane.reports()
        ]
        return wire.Reports(database=_word(self.store.head().store_id), nodes=nodes)

    def _head(self) -> wire.Head:
        found = self.store.head()
        return wire.Head(database=_word(found.store_id), revision=found.revision, claims=_claims(found.claims))

    def _metadata(self) -> wire.Metadata:
        found = self.store.snapshot()
        return wire.Metadata(
            database=_word(found.store_id),
            revision=found.revision,
            topics=[
                wire.TopicMarker(topic=topic, marker=marker.pruned_entry_id, revision=marker.mod_revision)
                for topic, marker in found.topics.items()
            ],
            regions=_regions(found),
            dropped=[
                wire.DroppedRegion(id=number, topic=topic)
                for number, topics in found.tombstoned_topics.items()
                for topic in topics
            ],
            nodes=[wire.NodeAddress(id=node, address=address) for node, address in found.datanodes.items()],
            claims=_claims(found.claims),
        )

    def _flush(self, body: bytes) -> changes.FlushAnswer:
        failures = self.data_plane.flush_regions(self._meant(changes.FlushRequest, body).regions)
        return changes.FlushAnswer(
            failures=[
                changes.FlushFailure(region=region, detail=one.message[:1000], final=one.final)
                for region, one in failures.items()
            ]
        )

    def _claim(self, body: bytes) -> changes.ClaimAnswer:
        asked = self._meant(changes.ClaimRequest, body)
        return changes.ClaimAnswer(written=self.store.claim(asked.prefix, asked.owner, asked.before))

    def _markers(self, body: bytes) -> changes.MarkersAnswer:
        asked = self._meant(changes.MarkersRequest, body)
        refused = [
            changes.RefusedMove(topic=each.topic, detail="the marker only rises")
            for each in asked.moves
            if each.marker <= (each.recorded.marker or 0)
        ]
        falling = {each.topic for each in refused}
        moves = [
            MarkerMove(
                each.topic, each.marker, TopicMarker(each.recorded.marker, each.recorded.revision), each.revision
            )
            for each in asked.moves
            if each.topic not in falling
        ]
        left = self.store.advance_markers(moves, asked.prefix, asked.owner) if moves else {}
        return changes.MarkersAnswer(
            refused=[*refused, *(changes.RefusedMove(topic=topic, detail=why[:1000]) for topic, why in left.items())]
        )

    def _maintenance(self) -> wire.Maintenance:
        found = self.store.maintenance()
        return wire.Maintenance(database=_word(found.store_id), enabled=found.is_on)

    def _switch(self, body: bytes) -> wire.Maintenance:
        self.switch.set_maintenance(enabled=self._meant(changes.MaintenanceRequest, body).enabled)
        return self._maintenance()

    def _meant(self, model: type[R], body: bytes) -> R:
        """The request, if it is for this database, whose identity never changes."""
        asked, mine = _read(model, body), self._database()
        if asked.database != mine:
            raise Wrong(409, "another database is meant", f"{asked.database} is meant, and this is {mine}")
        return asked


def _reported(region: RegionReport) -> wire.RegionReport:
    """The metric engine's two regions are one here: it needs what either of them needs."""
    return wire.RegionReport(
        id=region.region_id,
        state=_STATES[region.role],
        flushed_entry_id=_least(region.inner(), lambda inner: inner.flushed_entry_id),
        idle_entry_id=_least(region.inner(), lambda inner: inner.idle_entry_id),
        memory_bytes=region.memtable_bytes,
    )


def _least(inner: tuple[InnerReport, ...], of: Callable[[InnerReport], int | None]) -> int | None:
    found = [number for each in inner if (number := of(each)) is not None]
    return min(found) if len(found) == len(inner) else None


def _regions(found: MetadataSnapshot) -> list[wire.Region]:
    """One of which the metadata contradict themselves is being made or dropped: nobody may rely on it."""
    torn = frozenset(map_regions(found).torn)
    optioned = {(topic, number) for number, topics in found.wal_topics.items() for topic in topics}
    keys = {each: RegionKey(None, None, found.revision) for each in sorted(optioned)} | dict(found.region_keys)
    return [_region(topic, number, key, found, torn) for (topic, number), key in keys.items()]


def _region(topic: str, number: int, key: RegionKey, found: MetadataSnapshot, torn: frozenset[str]) -> wire.Region:
    route = found.routes.get(number, Route(None, LeaderState.UNKNOWN, 0))
    stored = [each for each in (key.checkpoint_entry_id, key.metadata_entry_id) if each is not None]
    return wire.Region(
        id=number,
        topic=topic,
        leader=route.leader,
        followers=list(route.followers),
        state=wire.State.OPENING if topic in torn else _LEADERS[route.state],
        checkpoint_entry_id=min(stored, default=None),
        revision=key.mod_revision,
        route_revision=route.mod_revision,
    )


def _claims(claims: Mapping[str, str]) -> list[wire.Claim]:
    return [wire.Claim(prefix=prefix, owner=owner) for prefix, owner in claims.items()]


def _word(store_id: str) -> str:
    return store_id.strip("/") or "none"


def _read(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(json.dumps(json.loads(body, parse_float=_number)))
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise Wrong(422, "the request is no JSON", type(error).__name__) from error
        first = error.errors(include_url=False, include_input=False)[0]
        detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:1000]
        raise Wrong(422, "the request is not as the contract says", detail) from error


def _number(text: str) -> float:
    """To JSON Schema 7.0 is an integer, too."""
    number = float(text)
    return int(number) if number.is_integer() else number


Served = tuple[int, str, Any]
"""Status, content type, and what becomes JSON."""
Ask = Callable[[str, str, bytes], Served]


def served(facade: Facade) -> Ask:
    """Its answers as they go over the wire."""

    def ask(method: str, path: str, body: bytes) -> Served:
        try:
            return 200, "application/json", facade.answer(method, path, body).model_dump(mode="json", by_alias=True)
        except Wrong as wrong:
            return wrong.problem.status, wire.PROBLEM, wrong.problem.model_dump(mode="json", by_alias=True)

    return ask


@contextmanager
def serving(ask: Ask, require: str | None = None, heard: list[Mapping[str, str]] | None = None) -> Iterator[str]:
    """A real HTTP server on loopback; gives its URL.

    `require`: the Authorization header that it wants. `heard`: gets the headers of each request.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version, wbufsize = "HTTP/1.1", 2**16
        """An answer is sent at once: its body would wait for the acknowledgement of its headers."""

        def _serve(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY))
            path = self.path.partition("?")[0]
            if heard is not None:
                heard.append(dict(self.headers))
            if require is not None and self.headers.get("Authorization") != require:
                problem = {"type": "about:blank", "title": "no entry", "status": 401, "detail": "who are you?"}
                status, kind, found = 401, wire.PROBLEM, problem
            elif not path.startswith(CONTRACT_ROOT):
                problem = {"type": "about:blank", "title": "no such path", "status": 404, "detail": f"no {path}"[:900]}
                status, kind, found = 404, wire.PROBLEM, problem
            else:
                status, kind, found = ask(self.command, path.removeprefix(CONTRACT_ROOT), body)
            text = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            if status == 405:
                self.send_header("Allow", "GET, POST, PUT")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - as http.server looks for them
        do_PATCH = do_HEAD = do_OPTIONS = do_TRACE = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
