"""The whole world, what is true of it at every moment, and the moves that people, machines and luck make in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from seawall.domain.ledger.held import Claim, Hold
from seawall.domain.ledger.mode import Mode, PruneMode
from seawall.domain.ledger.policy import Policy, Requirement, Safety
from seawall.domain.ledger.reasons import Reason
from tests.domain.ledger.simulation.database import Database
from tests.domain.ledger.simulation.log import Log
from tests.domain.ledger.simulation.operator import Operator, Store
from tests.domain.ledger.simulation.verifications import Verifications

STALE_AFTER = 60
GRACE = 80
SAFETY = Safety(0, timedelta(milliseconds=STALE_AFTER), timedelta(milliseconds=GRACE))


class World:
    """Topics `wal_0` …, a database on two nodes, and two operators that do not know of each other."""

    def __init__(
        self,
        mode: Mode,
        topics: int = 1,
        operators: int = 2,
        *,
        keeps_tombstones: bool = True,
        required: Requirement | None = None,
    ) -> None:
        self.mode = mode
        self.required = required
        self.logs = {f"wal_{number}": Log(f"wal_{number}") for number in range(topics)}
        self.database = Database(mode, self.logs, keeps_tombstones=keeps_tombstones)
        self.store = Store()
        self.verifications = Verifications(self.database, self.store, self.logs)
        policy = Policy("policy", safety=replace(SAFETY, verification=required))
        self.operators = [
            Operator(self.database, self.store, PruneMode(mode), policy, self._judge_delete) for _ in range(operators)
        ]
        self.broken_since: dict[str, int] = {}
        """Topics whose log or files somebody damaged: what the database loses by that is not the operator's doing."""
        self.given_up: set[int] = set()
        """Regions that a person declared dead: their rows are lost by that word."""
        self.markers = dict.fromkeys(self.logs, 0)
        self.promised: dict[str, dict[str, int]] = {}
        """By hold what its consumer was promised when it was granted."""

    # --- what is always true

    def check(self) -> None:
        """I1, I2 and the promises of holds; nobody opens a region in vain."""
        for region in self.database.regions.values():
            is_judged = region.topic not in self.broken_since and region.region_id not in self.given_up
            if not region.is_gone and is_judged:
                self._check_rows(region.region_id)
            if region.region_id in self.database.standbys and is_judged:
                self._check_standby(region.region_id)
        for name, marker in self.database.markers.items():
            value = marker.pruned_entry_id or 0
            assert value >= self.markers[name], f"I2: the marker of {name} fell"
            self.markers[name] = value
        assert not self.database.failed_opens or self.broken_since, self.database.failed_opens
        self._check_holds()
        for operator in self.operators if not self.broken_since else ():
            assert not operator.memory.findings, f"a false alarm: {operator.memory.findings}"
            assert operator.plan is None or operator.plan.reason(0) != Reason.LOG_START_BEYOND_REPLAY, "a false alarm"

    def _check_rows(self, region_id: int) -> None:
        region = self.database.regions[region_id]
        log, marker = self.logs[region.topic], self.database.markers[region.topic].pruned_entry_id
        for number, offset in region.needed():
            known = (region.flushed[number], region.checkpoint[number], marker if self.mode.reads_marker else None)
            skipped = max(value for value in known if value is not None)
            what = f"row {offset} of region {region_id} is not durable"
            assert offset >= log.log_start, f"I1: {what} and was deleted, the log starts at {log.log_start}"
            assert offset > skipped, f"I1: {what} and a restart reads from {skipped + 1}"

    def _check_standby(self, region_id: int) -> None:
        region = self.database.regions[region_id]
        start = self.logs[region.topic].log_start
        for position, rows in zip(self.database.standbys[region_id].positions, region.acknowledged, strict=True):
            lost = [offset for offset in rows if position < offset < start]
            assert not lost, f"I1: rows {lost} of region {region_id}'s follower at {position} were deleted"

    def _check_holds(self) -> None:
        for name, hold in self.store.holds.items():
            if hold.state.is_final or hold.granted is None:
                self.promised.pop(name, None)
                continue
            if name not in self.promised or dict(hold.granted.offsets) != self.promised[name]:
                self.promised[name] = dict(hold.granted.offsets) or self._earliest()
            for topic, offset in self.promised[name].items():
                start = self.logs[topic].log_start
                assert start <= offset, f"hold {name} was granted {topic} from {offset} and it starts at {start}"

    def _earliest(self) -> dict[str, int]:
        return {name: max(log.log_start, self.store.records[name].intent) for name, log in self.logs.items()}

    def _judge_delete(self, topic: str, before: int, decided_at: int) -> None:
        """Even of a damaged log or region nothing is deleted that only the log has, once an operator had looked.

        Where a verification is required, nothing is that none licenses.
        """
        if self.required is not None:
            self.verifications.judge(self.required, topic, before, decided_at)
        if topic in self.broken_since and decided_at > self.broken_since[topic]:
            for region in self.database.regions.values():
                if region.topic == topic and not region.is_gone:
                    lost = [offset for _, offset in region.needed() if offset < before]
                    assert not lost, f"rows {lost} of a damaged region were deleted after the operator had looked"

    # --- moves

    def beat(self, times: int = 1, wait: int = 5) -> None:
        """Everybody lives: reports are made and arrive, and each operator makes a whole look."""
        for _ in range(times):
            self.database.now += wait
            while self.database.openings:
                self.database.finish_open(0)
            for node in self.database.processes:
                self.database.sample_idle(node)
                self.database.heartbeat(node)
                self.database.deliver(node)
            for operator in self.operators:
                operator.cycle()
            self.check()

    def place_hold(self, name: str, claim: Claim, ttl: int = 10_000) -> None:
        """Somebody places a hold."""
        if name not in self.store.holds:
            self.store.holds[name] = Hold(name, claim, timedelta(milliseconds=ttl))
            self.store.hold_versions[name] = 0

    def change_hold(self, name: str, what: str, by: int, now: datetime) -> None:
        """Its owner renews it (by a clock that may be wrong), claims something else, or lets it go."""
        hold = self.store.holds.get(name)
        if hold is None:
            return
        match what:
            case "renew":
                changed = replace(hold, renew_time=now + timedelta(hours=by))
            case "edit":
                offsets = {topic: max(0, offset + by) for topic, offset in hold.claim.offsets.items()}
                changed = replace(hold, claim=replace(hold.claim, offsets=offsets))
            case _:
                changed = replace(hold, release=True)
        self.store.put_hold(changed, self.store.hold_versions[name])

    def restart_everything(self) -> None:
        """Every node dies and comes back, and every row is there."""
        for node in self.database.processes:
            self.database.kill(node)
        while self.database.openings:
            before = len(self.database.failed_opens)
            self.database.finish_open(0)
            assert len(self.database.failed_opens) == before, self.database.failed_opens[-1]
        for region in self.database.regions.values():
            route = self.database.routes[region.region_id]
            if region.is_gone or region.is_tombstone:
                continue
            held = self.database.processes[route.leader or 0].regions[region.region_id]
            for number, rows in enumerate(region.acknowledged):
                found = held.inner[number].memtable | region.durable[number]
                assert rows <= found, f"rows {rows - found} of region {region.region_id} are lost"
