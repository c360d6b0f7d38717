"""The database: regions with memtables on datanodes that die, wake up late, and move their regions about.

Everything that is acknowledged is remembered, so that what the operator does to the log can be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.region_reports import EPOCH
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole
from seawall.domain.ledger.mode import Mode
from tests.domain.ledger.simulation.log import Log

STANDBY = 9
"""The node that has a copy of some regions and leads none."""
KEPT_REPORTS = 3
"""The metasrv keeps the newest few of each node."""


@dataclass
class Inner:
    """An inner region in a process's memory; `flushed` is what it knows of its manifest."""

    flushed: int
    memtable: set[int] = field(default_factory=set)
    idle: int | None = None


@dataclass
class OpenRegion:
    """A region that a process has open; `leads` says whether it may write, `stages` where to."""

    inner: list[Inner]
    leads: bool
    stages: bool = False
    """What is flushed goes to files that no restart finds, until the repartition succeeds."""
    staged: list[set[int]] = field(default_factory=lambda: [set(), set()])
    """By inner region the rows in such files."""


@dataclass
class Process:
    """A datanode process."""

    node: int
    epoch: int
    skew: int
    regions: dict[int, OpenRegion] = field(default_factory=dict)
    outbox: list[DatanodeReport] = field(default_factory=list)
    beats: int = 0
    alive: bool = True


@dataclass
class Region:
    """What is durable of a region: its manifest, and which rows are in files. One entry for each inner region."""

    region_id: int
    topic: str
    flushed: list[int]
    acknowledged: list[set[int]]
    durable: list[set[int]]
    checkpoint: list[int | None]
    key_revision: int
    is_tombstone: bool = False
    is_gone: bool = False
    gone_at: int = 0

    def needed(self) -> Iterator[tuple[int, int]]:
        """Rows (inner region, offset) that only the log has."""
        for number, rows in enumerate(self.acknowledged):
            for offset in rows - self.durable[number]:
                yield number, offset


@dataclass
class Opening:
    """A process that has read where to start and has not replayed yet."""

    process: Process
    region_id: int
    starts: list[int]
    leads: bool


@dataclass
class Standby:
    """A follower that replays the log by itself, on a disk of its own; `positions` are how far it got."""

    positions: list[int]


class Database:
    """Regions of a few topics on a few nodes."""

    def __init__(self, mode: Mode, logs: dict[str, Log], nodes: int = 2, *, keeps_tombstones: bool = True) -> None:
        self.mode, self.logs = mode, logs
        self.keeps_tombstones = keeps_tombstones and mode.reads_marker
        self.now = 1_000
        self.revision = 1
        self.markers: dict[str, TopicMarker] = {name: TopicMarker(0, 1) for name in logs}
        self.regions: dict[int, Region] = {}
        self.routes: dict[int, Route] = {}
        self.processes: dict[int, Process] = {node: Process(node, 1, node * 3_600_000) for node in range(nodes)}
        self.former: list[Process] = []
        self.openings: list[Opening] = []
        self.delivered: list[DatanodeReport] = []
        self.failed_opens: list[str] = []
        self.standbys: dict[int, Standby] = {}
        self.any_change_may_stage = False
        """As with GreptimeDB, which only says how often a route was changed; else, by the contract, staging alone."""
        self.cut_off: set[int] = set()
        """Nodes that nobody hears of; what they do they do all the same."""

    # --- metadata

    def touch(self) -> int:
        """One more transaction of the metadata store; its revision."""
        self.revision += 1
        return self.revision

    def snapshot(self) -> MetadataSnapshot:
        """Everything at one revision."""
        living = [region for region in self.regions.values() if not region.is_gone]
        keyed = [region for region in living if not region.is_tombstone]
        return MetadataSnapshot(
            revision=self.revision,
            topics=dict(self.markers),
            region_keys={
                (one.topic, one.region_id): RegionKey(one.checkpoint[0], one.checkpoint[-1], one.key_revision)
                for one in keyed
            },
            wal_topics={one.region_id: frozenset({one.topic}) for one in keyed},
            tombstoned_topics={one.region_id: frozenset({one.topic}) for one in living if one.is_tombstone},
            without_topic=frozenset(),
            routes={
                one.region_id: replace(
                    self.routes[one.region_id], followers=(STANDBY,) if one.region_id in self.standbys else ()
                )
                for one in keyed
            },
            datanodes={},
            store_id="etcd/1/",
        )

    def announce(self, topic: str, expected: int, marker: int, revision: int) -> bool:
        """The transaction of mode B."""
        is_newer = any(
            one.key_revision > revision for one in self.regions.values() if one.topic == topic and not one.is_gone
        )
        if self.markers[topic].pruned_entry_id != expected or is_newer:
            return False
        self.markers[topic] = TopicMarker(marker, self.touch())
        return True

    def prune_by_itself(self, topic: str) -> None:
        """Mode A: the database moves its marker to what its regions allow; what only tombstones name counts too."""
        found: list[int] = []
        for region in self.regions.values():
            if region.topic != topic or region.is_gone:
                continue
            held = self._leader(region.region_id)
            if region.is_tombstone or held is None or self.routes[region.region_id].state is not LeaderState.NORMAL:
                return
            for number, inner in enumerate(held.inner):
                known = (region.flushed[number], region.checkpoint[number], inner.idle)
                found.append(max(value for value in known if value is not None))
        marker = self.markers[topic].pruned_entry_id or 0
        if found and min(found) > marker:
            self.markers[topic] = TopicMarker(min(found), self.touch())

    # --- regions

    def create(self, region_id: int, topic: str, node: int, inner: int, start: int) -> None:
        """A region is born: its keys, and a leader that will open it; `start` is its durable start."""
        none: list[int | None] = [None] * inner
        rows = [set[int]() for _ in range(inner)]
        files = [set[int]() for _ in range(inner)]
        region = Region(region_id, topic, [start] * inner, rows, files, none, self.touch())
        self.regions[region_id] = region
        self.routes[region_id] = Route(node, LeaderState.NORMAL, self.revision, may_have_staged=False)
        self.begin_open(node, region_id, leads=True)

    def write(self, region_id: int, inner: int) -> int | None:
        """A row that is acknowledged, if the region has a leader; its offset."""
        held, region = self._leader(region_id), self.regions[region_id]
        if held is None or not held.leads or region.is_tombstone or region.is_gone:
            return None
        number = inner % len(held.inner)
        offset = self.logs[region.topic].append()
        held.inner[number].memtable.add(offset)
        region.acknowledged[number].add(offset)
        return offset

    def flush(self, region_id: int, only: int | None = None) -> None:
        """The leader makes its memtable durable, or that of one inner region; nobody else can write a manifest."""
        held, region = self._leader(region_id), self.regions[region_id]
        if held is None or not held.leads:
            return
        for number, inner in enumerate(held.inner):
            if only not in {None, number}:
                continue
            if held.stages:
                held.staged[number] |= inner.memtable
                inner.memtable.clear()
                continue
            if inner.memtable:  # of what a failed repartition left staged the manifest now says that it is flushed
                region.acknowledged[number] -= held.staged[number]
                held.staged[number].clear()
            region.durable[number] |= inner.memtable
            region.flushed[number] = inner.flushed = max(region.flushed[number], *inner.memtable, 0)
            inner.memtable.clear()

    def sample_idle(self, node: int) -> None:
        """A process samples all of its idle regions: also those that it leads no more, which it does not know."""
        for region_id, held in self.processes[node].regions.items():
            for inner in held.inner:
                if not inner.memtable:
                    inner.idle = self.logs[self.regions[region_id].topic].high_watermark - 1

    def checkpoint(self, region_id: int) -> None:
        """An idle sample becomes durable: a transaction that compares the route."""
        held, region = self._leader(region_id), self.regions[region_id]
        if held is None or not held.leads or region.is_tombstone or region.is_gone:
            return
        for number, inner in enumerate(held.inner):
            if not inner.memtable and not held.staged[number]:  # GreptimeDB's does so all the same, and loses the rows
                high = self.logs[region.topic].high_watermark - 1
                region.checkpoint[number] = max(region.checkpoint[number] or 0, high)
        region.key_revision = self.touch()

    def restore_manifest(self, region_id: int) -> None:
        """Somebody puts back an older copy of a region's files; rows that the log still has are needed again."""
        region = self.regions[region_id]
        log, marker = self.logs[region.topic], self.markers[region.topic].pruned_entry_id or 0
        self.kill(self.routes[region_id].leader or 0)
        for number in range(len(region.flushed)):
            back = region.flushed[number] // 2
            region.flushed[number], region.checkpoint[number] = back, None
            region.durable[number] = {row for row in region.durable[number] if row <= back}
            skipped = marker if self.mode.reads_marker else 0
            kept = {row for row in region.acknowledged[number] if row > skipped and row >= log.log_start}
            region.acknowledged[number] = kept | region.durable[number]

    # --- followers

    def add_standby(self, region_id: int) -> None:
        """A follower begins with the leader's files, and needs no row of the region that they, or nobody, has."""
        region, marker = self.regions[region_id], self.markers[self.regions[region_id].topic].pruned_entry_id or 0
        if region_id in self.standbys or region.is_tombstone or region.is_gone:
            return
        known = zip(region.flushed, region.checkpoint, strict=True)
        skipped = marker if self.mode.reads_marker else 0
        self.standbys[region_id] = Standby([max(flushed, kept or 0, skipped) for flushed, kept in known])
        self.processes.setdefault(STANDBY, Process(STANDBY, 1, 0))
        self._rewrite_route(region_id)

    def replay_on_standby(self, region_id: int) -> None:
        """It reads on, to where its leader has flushed."""
        if (standby := self.standbys.get(region_id)) is not None:
            flushed = self.regions[region_id].flushed
            standby.positions = [max(pair) for pair in zip(standby.positions, flushed, strict=True)]

    def remove_standby(self, region_id: int) -> None:
        """Nobody reads from there any more."""
        if self.standbys.pop(region_id, None) is not None:
            self._rewrite_route(region_id)

    def _change_route(self, region_id: int, leader: int | None, state: LeaderState) -> None:
        had = self.routes[region_id].may_have_staged or self.any_change_may_stage
        staged = had or state is LeaderState.STAGING
        self.routes[region_id] = Route(leader, state, self.touch(), may_have_staged=staged)

    def _rewrite_route(self, region_id: int) -> None:
        self.routes[region_id] = replace(self.routes[region_id], mod_revision=self.touch())

    # --- drops

    def drop(self, region_id: int) -> None:
        """A table is dropped: what is left of it can be put back until `finish_drop`."""
        region = self.regions[region_id]
        if region.is_tombstone or region.is_gone:
            return
        region.is_tombstone = self.keeps_tombstones
        region.is_gone = not region.is_tombstone  # an http database keeps no tombstones: it puts back within one grace
        region.gone_at, region.key_revision = self.now, self.touch()
        self.standbys.pop(region_id, None)
        for process in self.processes.values():
            process.regions.pop(region_id, None)
        self.openings = [opening for opening in self.openings if opening.region_id != region_id]

    def roll_back_drop(self, region_id: int, within: int) -> None:
        """The table comes back."""
        region = self.regions[region_id]
        if not (region.is_tombstone or (region.is_gone and self.now - region.gone_at < within)):
            return
        region.is_tombstone, region.is_gone = False, False
        region.key_revision = self.touch()
        self.begin_open(self.routes[region_id].leader or 0, region_id, leads=True)

    def finish_drop(self, region_id: int, after: int) -> None:
        """Nobody can put it back any more, and nobody misses its rows."""
        region = self.regions[region_id]
        if region.is_tombstone or (region.is_gone and self.now - region.gone_at >= after):
            region.is_tombstone, region.is_gone = False, True
            region.gone_at = self.now - after
            region.acknowledged = [set() for _ in region.acknowledged]
            self.touch()

    # --- processes

    def kill(self, node: int) -> None:
        """Killed with -9, and a new process that opens what the routes give it. What was sent may still arrive."""
        old = self.processes[node]
        old.alive = False
        self.former.append(old)
        self.openings = [opening for opening in self.openings if opening.process is not old]
        self.processes[node] = Process(node, old.epoch + 1, old.skew, beats=old.beats)
        for region_id, route in self.routes.items():
            region = self.regions[region_id]
            if route.leader == node and not region.is_tombstone and not region.is_gone:
                self.begin_open(node, region_id, leads=route.state is LeaderState.NORMAL)

    def begin_open(self, node: int, region_id: int, *, leads: bool) -> None:
        """A process reads manifest, checkpoint and marker: this is where it will start to read."""
        region, process = self.regions[region_id], self.processes[node]
        process.regions.pop(region_id, None)
        marker = self.markers[region.topic].pruned_entry_id if self.mode.reads_marker else None
        starts = [
            max(known for known in (flushed, checkpoint, marker) if known is not None) + 1
            for flushed, checkpoint in zip(region.flushed, region.checkpoint, strict=True)
        ]
        self.openings.append(Opening(process, region_id, starts, leads))

    def finish_open(self, number: int) -> None:
        """It replays and, if the route says so, leads."""
        if not self.openings:
            return
        opening = self.openings.pop(number % len(self.openings))
        region = self.regions[opening.region_id]
        log = self.logs[region.topic]
        if log.log_start > min(opening.starts):
            self.failed_opens.append(f"region {opening.region_id}: {log.log_start} > {min(opening.starts)}")
            self.begin_open(opening.process.node, opening.region_id, leads=opening.leads)
            return
        inner = [
            Inner(
                region.flushed[number],
                {row for row in rows - region.durable[number] if start <= row < log.high_watermark},
            )
            for number, (rows, start) in enumerate(zip(region.acknowledged, opening.starts, strict=True))
        ]
        opening.process.regions[opening.region_id] = OpenRegion(inner, opening.leads)

    def begin_migration(self, region_id: int, target: int, *, old_answers: bool) -> None:
        """Downgrade the route; the old leader flushes and closes, or does not answer and keeps the region open."""
        route, region = self.routes[region_id], self.regions[region_id]
        if route.state is not LeaderState.NORMAL or route.leader == target or region.is_tombstone or region.is_gone:
            return
        source = self.processes[route.leader or 0]
        if region_id not in source.regions:
            return
        self._change_route(region_id, route.leader, LeaderState.DOWNGRADING)
        if old_answers:
            self.flush(region_id)
            source.regions.pop(region_id)
        else:
            source.regions[region_id].leads = False
        self.begin_open(target, region_id, leads=False)

    def end_migration(self, region_id: int, target: int) -> None:
        """The target has opened it: the route is switched."""
        route, held = self.routes[region_id], self.processes[target].regions.get(region_id)
        if route.state is LeaderState.DOWNGRADING and held is not None and route.leader != target:
            held.leads = True
            self._change_route(region_id, target, LeaderState.NORMAL)

    def roll_back_migration(self, region_id: int) -> None:
        """It failed: the old leader leads again, or opens it again."""
        route, region = self.routes[region_id], self.regions[region_id]
        if route.state is not LeaderState.DOWNGRADING or region.is_tombstone or region.is_gone:
            return
        node = route.leader or 0
        self._change_route(region_id, node, LeaderState.NORMAL)
        self.openings = [opening for opening in self.openings if opening.region_id != region_id]
        for process in self.processes.values():
            if process.node != node:
                process.regions.pop(region_id, None)
        if (held := self.processes[node].regions.get(region_id)) is not None:
            held.leads = True
        else:
            self.begin_open(node, region_id, leads=True)

    def begin_staging(self, region_id: int) -> None:
        """A repartition begins: its leader stages from now. Mode B: in A the database loses it by itself."""
        route, region = self.routes[region_id], self.regions[region_id]
        held = self._leader(region_id)
        if self.mode is not Mode.B or route.state is not LeaderState.NORMAL or held is None or not held.leads:
            return
        if not region.is_tombstone and not region.is_gone:
            self.flush(region_id)
            self._change_route(region_id, route.leader, LeaderState.STAGING)
            held.stages = True

    def end_staging(self, region_id: int, *, fails: bool) -> None:
        """The route is as before. What is staged becomes the region's, or is forgotten; who leads hears of it later."""
        route, region = self.routes[region_id], self.regions[region_id]
        if route.state is not LeaderState.STAGING or region.is_tombstone or region.is_gone:
            return
        node, held = route.leader or 0, self._leader(region_id)
        self._change_route(region_id, node, LeaderState.NORMAL)
        self.openings = [opening for opening in self.openings if opening.region_id != region_id]
        if held is None:
            self.begin_open(node, region_id, leads=True)
            return
        held.leads = True
        for number, inner in enumerate(held.inner if not fails else ()):
            region.durable[number] |= held.staged[number]
            region.flushed[number] = inner.flushed = max(region.flushed[number], *held.staged[number], 0)
            held.staged[number].clear()

    # --- reports

    def heartbeat(self, node: int) -> None:
        """A process says what it believes; its clock may be hours off. The answer tells it what it leads."""
        process = self.processes[node]
        process.beats += 1
        at = EPOCH + timedelta(milliseconds=process.skew + self.now * 10 + process.beats)
        process.outbox.append(
            DatanodeReport(
                node, f"node-{node}", process.epoch, at,
                (
                    *(self._report(process, region_id, held, at) for region_id, held in process.regions.items()),
                    *(self._follows(process, region_id, at) for region_id in self.standbys if node == STANDBY),
                ),
            )
        )  # fmt: skip
        for region_id, held in process.regions.items():
            held.stages &= self.routes[region_id].state is LeaderState.STAGING

    def deliver(self, node: int) -> None:
        """What a node sent arrives, in its order; what a former process sent may arrive after its death."""
        if node in self.cut_off:
            return
        for process in (*(one for one in self.former if one.node == node), self.processes[node]):
            self.delivered += process.outbox
            process.outbox.clear()
        mine = [one for one in self.delivered if one.datanode_id == node]
        self.delivered = [one for one in self.delivered if one.datanode_id != node] + mine[-KEPT_REPORTS:]

    def _report(self, process: Process, region_id: int, held: OpenRegion, at: datetime) -> RegionReport:
        inner = [InnerReport(one.flushed, one.idle) for one in held.inner]
        role = RegionRole.STAGING if held.stages else RegionRole.LEADER
        return RegionReport(
            region_id, process.node, process.epoch, role, at,
            "metric" if len(inner) > 1 else "mito", 1, inner[0], inner[1] if len(inner) > 1 else None,
        )  # fmt: skip

    def _follows(self, process: Process, region_id: int, at: datetime) -> RegionReport:
        inner = [InnerReport(position, None) for position in self.standbys[region_id].positions]
        return RegionReport(
            region_id, process.node, process.epoch, RegionRole.FOLLOWER, at,
            "metric" if len(inner) > 1 else "mito", 1, inner[0], inner[1] if len(inner) > 1 else None,
        )  # fmt: skip

    def _leader(self, region_id: int) -> OpenRegion | None:
        route = self.routes[region_id]
        return self.processes[route.leader].regions.get(region_id) if route.leader is not None else None
