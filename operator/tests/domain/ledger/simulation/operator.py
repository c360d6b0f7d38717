"""An operator as a program of single calls: between two of them anything may happen, and it may die or wake up late.

It stands for the controller that will call the ledger: it reads in the order that `read.Read` has, and it keeps the
order of intents, holds and deletes. Everything it decides is the ledger's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from seawall.domain.dataplane.metadata import StoreHead
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import DatanodeReport, newest_reports
from seawall.domain.ledger.assess import Assessment, assess
from seawall.domain.ledger.bounds import Verified
from seawall.domain.ledger.declarations import DeadRegions, Unused
from seawall.domain.ledger.fence import Readoption
from seawall.domain.ledger.held import HeldTopic, Hold, HoldView
from seawall.domain.ledger.holds import lowest_claims, next_change
from seawall.domain.ledger.intents import FenceRecord, raise_intent
from seawall.domain.ledger.ledger import Ledger, announcements, permit, plan, recorded_column
from seawall.domain.ledger.mode import PruneMode
from seawall.domain.ledger.policy import Policy
from seawall.domain.ledger.read import Memory, Read
from seawall.domain.ledger.tables import TopicLog
from tests.domain.ledger.simulation.database import Database
from tests.domain.two_clocks import agreed

START = datetime(2026, 11, 21, tzinfo=UTC)
PASSING = {"NotSeenTwice", "RegionStale", "RegionMissing", "RegionOpening", "WatchedTooShortly"}
"""Reasons that a run waits out."""
PATIENCE = 500
SILENCE = TopicLog(None, None, None, None)
Calls = Generator[str, None, None]


@dataclass
class Store:
    """The API server: the seen values, records with the intents, holds, verifications. Writes compare versions."""

    recorded: dict[str, int] = field(default_factory=dict)
    seen_version: int = 0
    records: dict[str, FenceRecord] = field(default_factory=dict)
    records_version: int = 0
    holds: dict[str, Hold] = field(default_factory=dict)
    hold_versions: dict[str, int] = field(default_factory=dict)
    verified: tuple[Verified, ...] = ()
    """What the verifications that passed, and are still there, say."""
    stopped: bool = False

    def put_seen(self, recorded: dict[str, int], version: int) -> bool:
        """The run's status."""
        if version != self.seen_version:
            return False
        self.recorded, self.seen_version = recorded, version + 1
        return True

    def put_records(self, records: dict[str, FenceRecord], version: int) -> bool:
        """The intents' shard."""
        if version != self.records_version:
            return False
        for name, record in self.records.items():
            same = record.topic_id == records[name].topic_id
            assert not same or records[name].intent >= record.intent, "an intent fell"
        self.records, self.records_version = records, version + 1
        return True

    def put_hold(self, hold: Hold, version: int) -> None:
        """A hold's status, or by its owner its spec."""
        if self.hold_versions.get(hold.name, 0) == version:
            self.holds[hold.name] = hold
            self.hold_versions[hold.name] = version + 1


class Operator:
    """One process of the operator."""

    def __init__(
        self,
        database: Database,
        store: Store,
        prune_mode: PruneMode,
        policy: Policy,
        judge_delete: Callable[[str, int, int], None],
    ) -> None:
        self.database, self.store, self.prune_mode, self.policy = database, store, prune_mode, policy
        self.judge_delete = judge_delete
        self.readoption: Readoption | None = None
        self.unused: Unused | None = None
        self.dead: DeadRegions | None = None
        self.lapsed: frozenset[int] = frozenset()
        self.old_reports: list[DatanodeReport] | None = None
        self.silent: frozenset[str] = frozenset()
        self.unreadable: frozenset[str] = frozenset()
        self.holds_readable = True
        self.start()

    def start(self) -> None:
        """A new process: nothing is remembered."""
        self.memory = Memory.at_start(self.database.now)
        self.calls: Calls = self._run()
        self.plan: Ledger | None = None
        self.permit: Ledger | None = None

    def step(self) -> str:
        """Goes on to the next call; says what that one will be."""
        self.database.now += 1
        return next(self.calls)

    def cycle(self) -> None:
        """Goes on to the begin of the next look."""
        while self.step() != "reports":
            pass

    def _run(self) -> Calls:
        while True:
            self.observation = yield from self._observe()
            self.plan = plan(self.observation.inputs)
            version = self.store.seen_version
            yield from self._write_records(self.observation, {})
            if not self.read.recorded:
                yield from self._see(self.plan, version)
            else:
                yield from self._purge(self.observation)
            yield from self._tend_holds(self.plan)

    def _observe(self) -> Generator[str, None, Assessment]:
        database, store = self.database, self.store
        earlier = dict(store.records)
        yield "reports"
        began = database.now
        reports = self.old_reports if self.old_reports is not None else list(database.delivered)
        self.old_reports = None
        yield "metadata"
        snapshot = database.snapshot()
        yield "offsets"
        logs = {name: log.recorded() for name, log in database.logs.items()}
        logs = {name: SILENCE if name in self.silent else log for name, log in logs.items()}
        yield "intents"
        self.records_version = store.records_version
        records = {name: record for name, record in store.records.items() if name not in self.unreadable}
        newest = max((record.revision or 0 for record in records.values()), default=0)
        head = StoreHead(snapshot.store_id, database.revision, {}) if newest > snapshot.revision else None
        yield "epoch ends"
        epochs = {name: record.leader_epoch for name, record in records.items()}
        ends = {name: log.end_of_epoch(epochs.get(name)) for name, log in database.logs.items()}
        yield "verifications"
        verified = store.verified
        yield "holds"
        holds = list(store.holds.values())
        yield "run"
        self.read = Read(
            began=began,
            reports=region_reports(newest_reports(reports)),
            snapshot=snapshot,
            logs=logs,
            epoch_ends={name: end for name, end in ends.items() if end is not None},
            records=records,
            holds=holds if self.holds_readable else None,
            unreadable_records=self.unreadable,
            readoption=self.readoption,
            unused=self.unused,
            dead=self.dead,
            lapsed=self.lapsed,
            processes={one.datanode_id: one.node_epoch for one in newest_reports(reports)},
            recorded=dict(store.recorded),
            ended=database.now,
            now=START + timedelta(milliseconds=database.now),
            verified=verified,
            stopped=store.stopped,
            newest_head=head,
            earlier=earlier,
        )
        found = assess(self.memory, self.read, self.prune_mode, (self.policy,))
        self.memory = found.memory
        return found

    def _write_records(self, found: Assessment, delete_up_to: dict[str, int]) -> Generator[str, None, bool]:
        """By compare-and-swap: what is urgent, and the intents."""
        records = {**self.read.records, **found.marked}
        for name, identity in found.identities.items():
            if identity.record is not None and (identity.is_urgent or name in delete_up_to):
                records[name] = raise_intent(identity.record, delete_up_to.get(name, 0))
        if records == self.read.records or self.unreadable:
            return True
        yield "write intents"
        if not self.store.put_records(records, self.records_version):
            return False
        self.records_version += 1
        return True

    def _see(self, planned: Ledger, version: int) -> Calls:
        """What may be seen is announced where the mode asks for it, then recorded."""
        recorded = seen_values(planned)
        for one in announcements(planned):
            yield "announce"
            if not self.database.announce(one.topic, one.expected, one.marker, one.revision):
                recorded.pop(one.topic)
        if recorded:
            yield "record seen"
            self.store.put_seen(recorded, version)

    def _purge(self, found: Assessment) -> Calls:
        """Intent, then holds anew, then the delete. A run whose topics are all purged or left alone ends."""
        recorded = dict(self.read.recorded)
        self.permit = permit(found.inputs, recorded_column(found.inputs.topics.names, recorded))
        targets = {
            name: target
            for row, name in enumerate(found.inputs.topics.names)
            if (target := self.permit.purge_to.at(row)) is not None
        }
        if not targets:
            waits = any(self.permit.reason(row) in PASSING for row in range(len(found.inputs.topics)))
            since = min(self.memory.recorded_since.values())
            if not waits or self.read.began - since > PATIENCE:
                yield "end run"
                self.store.put_seen({}, self.store.seen_version)
            return
        written = yield from self._write_records(found, targets)
        if not written:
            return
        yield "holds again"
        lowest, everything = lowest_claims(self.store.holds.values())
        for name, target in targets.items():
            before = min(target, lowest[name][0]) if name in lowest else target
            if everything is None:
                yield "delete"
                self.delete(name, before, self.read.began)

    def alive(self) -> list[Hold]:
        """What arithmetic says of holds; nobody may go by it (a mutant does)."""
        now = START + timedelta(milliseconds=self.database.now)
        return [
            one for one in self.store.holds.values() if one.renewal is None or one.renewal.observed_at + one.ttl > now
        ]

    def delete(self, topic: str, before: int, decided_at: int) -> None:
        """DeleteRecords, which may arrive long after it was decided."""
        if 1 <= before <= self.database.logs[topic].high_watermark:
            self.judge_delete(topic, before, decided_at)
            self.database.logs[topic].delete_records(before)

    def _tend_holds(self, planned: Ledger) -> Calls:
        for name in list(self.store.holds):
            yield "read hold"
            hold, version = self.store.holds[name], self.store.hold_versions[name]
            yield "offsets for hold"
            logs = {topic: log.recorded() for topic, log in self.database.logs.items()}
            yield "intents for hold"
            records = dict(self.store.records)
            yield "write hold"
            now = agreed(START + timedelta(milliseconds=self.database.now))
            change = next_change(hold, _view(planned, logs, records), now)
            if change is not None:
                self.store.put_hold(change.hold, version)


def _view(planned: Ledger, logs: Mapping[str, TopicLog], records: Mapping[str, FenceRecord]) -> HoldView:
    """What the granter sees: an intent counts for its topic id only."""
    floors = dict(zip(planned.topics.names, planned.floor.listed(), strict=True))
    return HoldView(
        {
            name: HeldTopic(
                log.log_start,
                log.high_watermark,
                records[name].intent if name in records and records[name].topic_id == log.topic_id else None,
                floors.get(name),
                log.record_bytes,
            )
            for name, log in logs.items()
        }
    )


def seen_values(ledger: Ledger) -> dict[str, int]:
    """By topic the value that a run records in its status: of topics that it would purge (in B: once announced)."""
    rows = np.flatnonzero(~ledger.finding.known)
    return {ledger.topics.names[row]: int(ledger.floor.numbers[row]) for row in rows}
