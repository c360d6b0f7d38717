"""Chaos: everything that Seawall does at once, beside a seeded nemesis, and what came of it.

In the end, when the nemesis is gone, all has to be as it is declared within a bound, each kind of work comes to its
end once more, and no acknowledged row is lost.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.clock_faults import ClockSkewed
from seawall_e2e.cluster import BROKERS
from seawall_e2e.commands import Object, asked
from seawall_e2e.etcd_restored import EtcdCopy, EtcdRestored
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, Fault, FaultKind
from seawall_e2e.invariants import SHOWN, InvariantSampler
from seawall_e2e.loops import Loops, Patient, Work
from seawall_e2e.nemesis import Draw, Nemesis, Pace, draws
from seawall_e2e.node_faults import DaemonKilled, DiskFull, Ended, Frozen, Killed, Partitioned, Slowed, Target, pods_of
from seawall_e2e.objects import get
from seawall_e2e.operator_faults import LeadingPodCrashed, OperatorFrozen
from seawall_e2e.purges import Purges
from seawall_e2e.reassignments import Reassignments
from seawall_e2e.refdb import RefDb
from seawall_e2e.restarts import RIGHTS, SAFETY, Restarts
from seawall_e2e.site import Site
from seawall_e2e.work_loops import Holds, Moves, Rolls

VALUES = (RIGHTS, "replayVerification.create=true")
"""Of the chart, for all that is done."""
SETTLED_SECONDS = 420.0
"""Within which all is as declared after the last fault: a roll, a run of moves and a purge may be under way."""
PEACE_SECONDS = 600.0
"""Within which all work is done once without faults: jobs on Spark are the longest."""
REST_SECONDS = 2700.0
"""Beside those of the faults, after which a run hangs: it begins, settles and comes to its end on a busy machine."""
SAMPLED_EACH = 15.0
"""Seconds: so often at least all that the invariants are about was read, on the average."""
DATANODES_LABELS = "app.kubernetes.io/name=refdb,app.kubernetes.io/component=datanode"
METASRV_LABELS = "app.kubernetes.io/name=refdb,app.kubernetes.io/component=metasrv"


@dataclass(frozen=True, slots=True)
class Faults:
    """All kinds of faults for a site's database, its Kafka and its operator."""

    site: Site
    database: RefDb

    def all(self) -> Mapping[FaultKind, Callable[[Draw], Fault]]:
        """How each kind is done."""
        kind, operator = FaultKind, self.site.operator
        return {
            kind.BROKER_KILLED: lambda draw: BrokerKilled(self.site, draw.victim % BROKERS),
            kind.BROKER_FROZEN: lambda draw: Frozen(kind.BROKER_FROZEN, self._broker(draw)),
            kind.DATANODE_KILLED: lambda draw: Killed(kind.DATANODE_KILLED, self._datanode(draw)),
            kind.DATANODE_FROZEN: lambda draw: Frozen(kind.DATANODE_FROZEN, self._datanode(draw)),
            kind.METASRV_KILLED: lambda draw: Killed(kind.METASRV_KILLED, self._metasrv(draw)),
            kind.METASRV_FROZEN: lambda draw: Frozen(kind.METASRV_FROZEN, self._metasrv(draw)),
            kind.ETCD_KILLED: lambda _: Killed(kind.ETCD_KILLED, self._etcd()),
            kind.API_SERVER_KILLED: lambda _: DaemonKilled(kind.API_SERVER_KILLED, "kube-apiserver"),
            kind.STORE_KILLED: lambda _: DaemonKilled(kind.STORE_KILLED, "etcd"),
            kind.OPERATOR_KILLED: lambda _: LeadingPodCrashed(operator),
            kind.OPERATOR_STOPPED: lambda _: OperatorFrozen(operator),
            kind.CLOCK_SKEWED: lambda draw: ClockSkewed.drawn(self._leader(draw), draw.victim),
            kind.DRIVER_KILLED: lambda draw: Ended(kind.DRIVER_KILLED, self._of_spark(draw, "driver")),
            kind.EXECUTOR_KILLED: lambda draw: Ended(kind.EXECUTOR_KILLED, self._of_spark(draw, "executor")),
            kind.PARTITIONED: self._partition,
            kind.SLOWED: lambda draw: Slowed(self._broker(draw)),
            kind.DISK_FULL: lambda draw: DiskFull((self._broker, self._datanode)[draw.victim // 8 % 2](draw)),
        }

    def _broker(self, draw: Draw) -> Target:
        return Target("kafka", f"kafka-{draw.victim % BROKERS}", "java")

    def _datanode(self, draw: Draw) -> Target:
        return draw.of(pods_of(self.site.namespace, DATANODES_LABELS, "refdb"))

    def _metasrv(self, draw: Draw) -> Target:
        return draw.of(pods_of(self.site.namespace, METASRV_LABELS, "refdb"))

    def _etcd(self) -> Target:
        return Target(self.site.namespace, "etcd-0", "etcd")

    def _leader(self, draw: Draw) -> Target:
        leader = self.site.operator.leader()
        return Target(self.site.operator.namespace, draw.of([] if leader is None else [leader]), "python")

    def _of_spark(self, draw: Draw, role: str) -> Target:
        return draw.of(pods_of(self.site.namespace, f"spark-role={role}", "java"))

    def _partition(self, draw: Draw) -> Partitioned:
        """Between any two that speak with each other."""
        broker, other = self._broker(draw), Target("kafka", f"kafka-{(draw.victim + 1) % BROKERS}", "java")
        pairs = (
            lambda: (broker, other),
            lambda: (self._leader(draw), broker),
            lambda: (self._leader(draw), self._etcd()),
            lambda: (self._datanode(draw), broker),
            lambda: (self._datanode(draw), self._metasrv(draw)),
        )
        return Partitioned(*pairs[draw.victim // 8 % len(pairs)]())


@dataclass(frozen=True, slots=True)
class Chaos:
    """What a run is made of."""

    site: Site
    database: RefDb
    purges: Purges
    rows: AckedRows
    seed: int
    seconds: float
    pace: Pace
    interval: str
    """Of purges."""
    without: frozenset[FaultKind] = frozenset()
    """Kinds of faults for which there is nothing here."""
    works_once_more: bool = True
    """Whether all work is done once more in the end, in peace."""

    def run(self, *more: Work) -> dict[str, Any]:
        """All of it; the counts, which are to be judged.

        Raises:
            AssertionError: an invariant was broken, or something does not come to its end.
        """
        restarts = Restarts(self.site, self.database)
        restarts.declare(replayBudget="5m")
        self.site.operator.scale(2)
        moves, holds = Moves(restarts), Holds(self.purges, restarts)
        work: Sequence[Work] = (Rolls(restarts), moves, holds, *more)
        with ExitStack() as stack:
            stack.enter_context(self.rows)
            sampler = stack.enter_context(InvariantSampler(self.site, self.rows))
            self.purges.apply_policy(interval=self.interval, safety=SAFETY)
            self.purges.wait_for_a_whole_run(within=SETTLED_SECONDS)  # there are markers, and whose they are
            copy = EtcdCopy(self.database)
            copy.save()
            nemesis, done = self._beside_faults(work, EtcdRestored(copy, self.purges, sampler))
            sampler.check()
            rest = _Rest(self.site, self.database, restarts, moves)
            settled = rest.wait_until_reached()
            in_peace = _once_more(work) if self.works_once_more else {}
            self.purges.wait_for_a_whole_run(within=SETTLED_SECONDS)
            self.purges.suspend()
            self.purges.wait_until_over()
            rest.wait_until_reached()
            Reassignments(self.site).check()
            self.rows.wait_until_written_everywhere()
            sampler.check()
        with AllDatanodesKilled(self.database).applied():
            pass  # what is only in memory does not count
        verdict = self.rows.judge()
        return {
            "seed": self.seed,
            "seconds": round(self.seconds),
            "faults": nemesis.counts(),
            "done": done,
            "secondsUntilSettled": settled,
            "doneInPeace": in_peace,
            "heldRecordsReadTwice": holds.granted_records,
            "purges": dict(Counter(str(one.stage) for one in self.purges.runs())),
            "entriesDeleted": self.purges.entries_deleted(),
            "samples": sampler.samples,
            "unansweredSamples": sampler.unanswered,
            "mostHoldsAtOnce": sampler.largest["granted"],
            "violations": sampler.violations,
            "partitions": self.rows.partitions,
            **verdict,
            "history": nemesis.told(),
        }

    def _beside_faults(self, work: Sequence[Work], once: Fault) -> tuple[Nemesis, dict[str, int]]:
        """Everything again and again, and a fault after another, half-way this one; the faults, and what was done."""
        over = threading.Event()
        faults = Faults(self.site, self.database).all()
        drawn = draws(self.seed, [kind for kind in faults if kind not in self.without], self.pace)
        nemesis = Nemesis(drawn, {**faults, once.kind: lambda _: once}, over)
        with Loops(over, work) as loops:
            nemesis.run(self.seconds / 2)
            nemesis.do(Draw(once.kind, pause=0, seconds=0, victim=0))
            nemesis.run(self.seconds / 2)
        return nemesis, dict(sorted(loops.counts.items()))


def _once_more(work: Sequence[Work]) -> dict[str, int]:
    """All work at once, and nobody disturbs it: each comes to its end."""
    with Loops(threading.Event(), work, once=True) as loops:
        loops.wait(PEACE_SECONDS)
    return dict(sorted(loops.counts.items()))


@dataclass(frozen=True, slots=True)
class _Rest:
    """Everything as it is declared: three replicas, in sync; no roll, no maintenance; all is Ready."""

    site: Site
    database: RefDb
    restarts: Restarts
    moves: Moves

    def wait_until_reached(self) -> int:
        """After how many seconds it is so, of itself.

        Raises:
            AssertionError: it is not, within so long.
        """
        began, patient = time.monotonic(), Patient(threading.Event())

        def is_declared() -> bool:
            self.moves.declare(3)
            return True

        patient.until(is_declared, "three replicas are declared", within=60)
        patient.until(lambda: not self._lacking(), "all is as declared", SETTLED_SECONDS, self._explain)
        seconds = round(time.monotonic() - began)
        print(f"all is as declared within {seconds} s", flush=True)
        return seconds

    def _lacking(self) -> list[str]:
        """What is not as declared. Who does not answer raises."""
        return [what for what, holds in self._looks() if not holds()]

    def _looks(self) -> Sequence[tuple[str, Callable[[], object]]]:
        """What is to be so, and whether it is."""
        site = self.site
        found = get(site.namespace, "walclusters", self.restarts.wal.name)
        ready: Object = next((each for each in found["status"]["conditions"] if each["type"] == "Ready"), {})
        is_new = found["status"].get("observedGeneration") == found["metadata"]["generation"]
        return (
            ("the operator is ready", site.operator.is_ready),
            (f"the roll is over: {_said(found['status'].get('restart'))}", self.restarts.is_over),
            ("each topic has three replicas", lambda: self.moves.factors() == {3}),
            ("all are in sync", lambda: not site.toolbox.under_replicated(f"{site.prefix}_")),
            ("no throttle is left", lambda: not Reassignments(site).throttled()),
            ("the database is out of maintenance", lambda: not self.database.in_maintenance()),
            (
                f"Ready: {ready.get('reason')}, {ready.get('message')}",
                lambda: is_new and ready.get("reason") == "Ready",
            ),
        )

    def _explain(self) -> str:
        """Each by itself: one who does not answer is what it lacks, too."""
        lacks = [what for what, holds in self._looks() if not asked(holds)]
        return f"it lacks {lacks}\n{asked(self.restarts.explain)}"


def _said(roll: Object | None) -> str:
    return ", ".join(str((roll or {}).get(what)) for what in ("stage", "reason", "message"))


def judged(counts: Mapping[str, Any]) -> None:
    """That nothing is lost, and that everything took place.

    Raises:
        AssertionError: it is not so.
    """
    missed = [f"{each['kind']}, {each['victim']}" for each in counts["history"] if each["good_after"] is None]
    first, deleted, failed = counts["first"], counts["entriesDeleted"], counts["failedWrites"]
    held, at_once = counts["heldRecordsReadTwice"], counts["mostHoldsAtOnce"]
    is_read, is_right = counts["unreadable"] is None, counts["holds"] or counts["unreadable"] is not None
    wrong = [
        what
        for what, holds in {
            f"a row is lost: {first}": counts["lost"] == 0,
            f"the table could not be read: {counts['unreadable']}": is_read,
            f"a row is not as it was written: {first}": is_right or counts["lost"] > 0,
            f"an invariant was broken: {counts['violations'][:SHOWN]}": not counts["violations"],
            f"invariants were rarely looked at: {counts['samples']} times": _is_sampled(counts),
            "most faults could not be done": sum(counts["faults"].values()) > len(missed),
            "etcd was not restored": bool(counts["faults"].get(FaultKind.ETCD_RESTORED)),
            "no fault reached the writers": bool(failed),
            f"nothing was deleted: {deleted}": deleted > 0,
            f"nothing was held: {held} records, {at_once} holds at once": held > 0 and at_once > 0,
            f"a region was not written: {counts['regions']} of {counts['partitions']}": (
                counts["regions"] == counts["partitions"]
            ),
        }.items()
        if not holds
    ]
    if wrong:
        numbers = {what: count for what, count in counts.items() if what not in {"history", "first", "violations"}}
        undone = "".join(f"\ncould not be done: {each}" for each in missed[:SHOWN])
        raise AssertionError("\n".join(wrong) + f"{undone}\n{numbers}")


def _is_sampled(counts: Mapping[str, Any]) -> bool:
    return bool(counts["samples"] * SAMPLED_EACH >= counts["seconds"])
