"""Chaos: everything that Seawall does at once, beside a seeded nemesis, and what came of it.

In the end, when the nemesis is gone, all has to be as it is declared within a bound, and no acknowledged row is lost.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from seawall_e2e.acked_rows import AckedRows
from seawall_e2e.cluster import BROKERS
from seawall_e2e.faults import AllDatanodesKilled, BrokerKilled, Fault, FaultKind
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.nemesis import Draw, Nemesis, Pace, draws
from seawall_e2e.node_faults import DaemonKilled, DiskFull, Ended, Frozen, Killed, Partitioned, Slowed, Target, pods_of
from seawall_e2e.operator_faults import LeadingPodCrashed, OperatorFrozen
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.restarts import RIGHTS, SAFETY, Restarts
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until
from seawall_e2e.work_loops import Holds, Loops, Moves, Patient, Rolls, Work

VALUES = (RIGHTS, "replayVerification.create=true")
"""Of the chart, for all that is done."""
SETTLED_SECONDS = 420.0
"""Within which all is as declared after the last fault: a roll, a run of moves and a purge may be under way."""
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
            kind.ETCD_KILLED: lambda _: Killed(kind.ETCD_KILLED, Target(self.site.namespace, "etcd-0", "etcd")),
            kind.API_SERVER_KILLED: lambda _: DaemonKilled(kind.API_SERVER_KILLED, "kube-apiserver"),
            kind.STORE_KILLED: lambda _: DaemonKilled(kind.STORE_KILLED, "etcd"),
            kind.OPERATOR_KILLED: lambda _: LeadingPodCrashed(operator),
            kind.OPERATOR_STOPPED: lambda _: OperatorFrozen(operator),
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

    def _of_spark(self, draw: Draw, role: str) -> Target:
        return draw.of(pods_of(self.site.namespace, f"spark-role={role}", "java"))

    def _partition(self, draw: Draw) -> Partitioned:
        """Between any two that speak with each other."""
        broker, other = self._broker(draw), Target("kafka", f"kafka-{(draw.victim + 1) % BROKERS}", "java")
        leading = self.site.operator.leader()
        leader = Target(self.site.operator.namespace, draw.of([] if leading is None else [leading]), "python")
        etcd = Target(self.site.namespace, "etcd-0", "etcd")
        pairs = (
            lambda: (broker, other),
            lambda: (leader, broker),
            lambda: (leader, etcd),
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

    def run(self, *more: Work) -> dict[str, Any]:
        """All of it; the counts, which have been judged.

        Raises:
            AssertionError: an invariant was broken, a row is lost, or something does not come to its end.
        """
        restarts, over = Restarts(self.site, self.database), threading.Event()
        restarts.declare(replayBudget="5m")
        self.site.operator.scale(2)
        faults = Faults(self.site, self.database).all()
        nemesis = Nemesis(draws(self.seed, list(faults), self.pace), faults, over)
        moves, holds = Moves(restarts), Holds(self.purges, restarts)
        with ExitStack() as stack:
            stack.enter_context(self.rows)
            sampler = stack.enter_context(InvariantSampler(self.site, self.rows))
            self.purges.apply_policy(interval=self.interval, safety=SAFETY)
            timer = threading.Timer(self.seconds, over.set)
            timer.start()
            loops = Loops(over, (Rolls(restarts), moves, holds, *more))
            try:
                with loops:
                    nemesis.run()
            finally:
                timer.cancel()
            sampler.check()
            self._settle(restarts, moves)
            self.rows.wait_until_written_everywhere()
        with AllDatanodesKilled(self.database).applied():
            pass  # what is only in memory does not count
        verdict = self.rows.judge()
        return {
            "seed": self.seed,
            "seconds": round(self.seconds),
            "faults": nemesis.counts(),
            "done": dict(sorted(loops.counts.items())),
            "heldRecordsReadTwice": holds.granted_records,
            "purges": dict(Counter(str(one.stage) for one in self.purges.runs())),
            "entriesDeleted": self.purges.entries_deleted(),
            "samples": sampler.samples,
            "unansweredSamples": sampler.unanswered,
            "violations": sampler.violations,
            **verdict,
            "history": nemesis.told(),
        }

    def _settle(self, restarts: Restarts, moves: Moves) -> None:
        """Everything becomes as it is declared, of itself."""
        moves.declare(3)
        began, patient = time.monotonic(), Patient(threading.Event())
        operator, wal = self.site.operator, restarts.wal
        wait_until(operator.is_ready, "the operator is ready", within=120, explain=operator.log)
        self.purges.suspend()
        self.purges.wait_until_over()

        def is_at_rest() -> bool:
            stage = restarts.status().get("stage")
            factors = {len(topic["replicas"]["0"]) for topic in self.site.topics().values()}
            behind = self.site.toolbox.under_replicated(f"{self.site.prefix}_")
            return stage in {None, "Completed"} and factors == {3} and not behind

        patient.until(is_at_rest, "rolls and moves are over", within=SETTLED_SECONDS)
        wal.wait("Ready", within=120)
        patient.until(lambda: not self.database.in_maintenance(), "the database is out of maintenance", within=120)
        configs = [topic["configs"] for topic in self.site.topics().values()]
        if left := [key for each in configs for key in each if "throttled" in key]:
            raise AssertionError(f"throttles are left: {left}")
        print(f"settled within {time.monotonic() - began:.0f} s", flush=True)


def judged(counts: Mapping[str, Any]) -> None:
    """That nothing is lost, and that everything took place.

    Raises:
        AssertionError: it is not so.
    """
    wrong = [
        what
        for what, holds in {
            "a row is lost": counts["lost"] == 0 and counts["holds"],
            "an invariant was broken": not counts["violations"],
            "nothing was sampled": counts["samples"] > 0,
            "no fault reached the writers": bool(counts["failedWrites"]),
            "nothing was deleted": counts["entriesDeleted"] > 0,
            "a region was not written": counts["regions"] > 0,
        }.items()
        if not holds
    ]
    if wrong:
        raise AssertionError(f"{wrong}: {counts}")
