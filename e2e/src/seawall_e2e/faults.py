"""Faults: each is applied, seen to have happened, and made good again; a log counts them by kind."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from seawall_e2e.cluster import signal_in_pod
from seawall_e2e.commands import asked
from seawall_e2e.objects import count_restarts, get, is_ready
from seawall_e2e.refdb import DATANODES, RefDb
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

REGION_NOT_FOUND = 4005
"""The database's code for a region that the datanode does not lead any more."""


class FaultKind(StrEnum):
    """What was done."""

    DATANODE_KILLED = "datanode killed"
    """SIGKILL; it starts again and replays."""
    ALL_DATANODES_KILLED = "all datanodes killed"
    """SIGKILL of all of them, before the first one starts again."""
    BROKER_KILLED = "broker killed"
    """SIGKILL of one broker of Kafka; its replicas come back in sync."""
    OPERATOR_KILLED = "operator killed"
    """SIGKILL of the operator that leads; it starts again, or another leads."""
    OPERATOR_STOPPED = "operator stopped"
    """SIGSTOP of the operator that leads until another does; then it goes on, not knowing that."""
    DRIVER_KILLED = "driver killed"
    """SIGKILL of the driver of a replay verification in the middle of its job."""
    EXECUTOR_KILLED = "executor killed"
    """SIGKILL of the executor of a replay verification in the middle of its task."""
    LOG_CUT = "log cut"
    """DeleteRecords by somebody else, of records that a replay verification is reading."""
    LEADER_STOPPED = "leader stopped"
    """SIGSTOP of a datanode until others lead all of its regions; then it goes on, not knowing that."""
    BROKER_FROZEN = "broker frozen"
    """SIGSTOP of a broker for some seconds."""
    DATANODE_FROZEN = "datanode frozen"
    """SIGSTOP of a datanode for some seconds, which may be too short for a failover."""
    METASRV_KILLED = "metasrv killed"
    """SIGKILL of the database's metasrv."""
    METASRV_FROZEN = "metasrv frozen"
    """SIGSTOP of the database's metasrv for some seconds."""
    ETCD_KILLED = "etcd killed"
    """SIGKILL of the database's etcd."""
    API_SERVER_KILLED = "API server killed"
    """SIGKILL of the API server: all watches and all that is on its way end."""
    STORE_KILLED = "store of the API server killed"
    """SIGKILL of the etcd of Kubernetes itself."""
    PARTITIONED = "network partitioned"
    """Nothing passes between two pods."""
    SLOWED = "network slowed"
    """What is sent to a pod comes late."""
    DISK_FULL = "disk full"
    """No file of a broker or a datanode can grow."""
    CLOCK_SKEWED = "clock skewed"
    """The operator's clock is ahead of all others, or behind them, for some seconds."""
    ETCD_RESTORED = "etcd restored"
    """The database is stopped, its etcd gets the data that it had before, and a person says that it is right."""
    REGION_MOVED = "region moved"
    """No fault by itself: a region changes its leader while it is written, and both are well."""
    TABLE_FLUSHED = "table flushed"
    """No fault by itself: the start of replay moves while rows are written."""


class Fault(Protocol):
    """Something that can be done to a database."""

    @property
    def kind(self) -> FaultKind:
        """What it is counted as."""
        ...

    def applied(self) -> AbstractContextManager[None]:
        """Does it; at the end all is well again. Raises AssertionError when it cannot be seen to have happened."""
        ...


@dataclass(frozen=True, slots=True)
class FaultLog:
    """Which faults were applied and made good again."""

    started: float = field(default_factory=time.monotonic)
    counts: Counter[FaultKind] = field(default_factory=Counter)

    @contextmanager
    def apply(self, fault: Fault) -> Iterator[None]:
        """Applies a fault, tells so, and counts it when it is over."""
        began = time.monotonic()
        with fault.applied():
            self._tell(f"{fault.kind}: {fault}, {time.monotonic() - began:.1f} s")
            yield
        self.counts[fault.kind] += 1
        self._tell(f"{fault.kind}: {fault}, made good after {time.monotonic() - began:.1f} s")

    def run(self, *faults: Fault) -> None:
        """Applies faults, one after another, and makes each good at once."""
        for fault in faults:
            with self.apply(fault):
                pass

    def _tell(self, text: str) -> None:
        print(f"{time.monotonic() - self.started:6.1f}s  {text}", flush=True)


@dataclass(frozen=True, slots=True)
class DatanodeKilled:
    """SIGKILL of a datanode."""

    database: RefDb
    datanode: int
    kind = FaultKind.DATANODE_KILLED

    def applied(self) -> AbstractContextManager[None]:
        """Kills it; at the end it is ready again, which is after its replay."""
        return self.database.killed(self.datanode)

    def __str__(self) -> str:
        return f"datanode-{self.datanode}"


@dataclass(frozen=True, slots=True)
class AllDatanodesKilled:
    """SIGKILL of all datanodes at once: what they had only in memory is gone everywhere."""

    database: RefDb
    kind = FaultKind.ALL_DATANODES_KILLED

    def applied(self) -> AbstractContextManager[None]:
        """Kills them; at the end they are ready again."""
        return self.database.killed(*range(DATANODES))

    def __str__(self) -> str:
        return f"{DATANODES} datanodes"


@dataclass(frozen=True, slots=True)
class BrokerKilled:
    """SIGKILL of a broker. All tests of the cluster share it: they run one after another."""

    site: Site
    broker: int
    kind = FaultKind.BROKER_KILLED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Kills it; at the end every replica of the site's topics is in sync again."""
        pod = f"kafka-{self.broker}"
        restarts = _restarts(pod)
        signal_in_pod("kafka", pod, "java")
        wait_until(lambda: asked(lambda: _restarts(pod) > restarts), f"{pod} died", every=0.5)
        yield
        wait_until(lambda: asked(lambda: _is_ready(pod)), f"{pod} is ready again", every=0.5)
        wait_until(self._is_in_sync, f"every replica of {self.site.prefix}_… is in sync", every=0.5)

    def _is_in_sync(self) -> bool:
        return asked(lambda: self.site.toolbox.under_replicated(f"{self.site.prefix}_")) == []

    def __str__(self) -> str:
        return f"kafka-{self.broker}"


@dataclass(frozen=True, slots=True)
class LeaderStopped:
    """SIGSTOP of a datanode until its regions failed over, then SIGCONT. The database must do failover by itself."""

    database: RefDb
    datanode: int
    kind = FaultKind.LEADER_STOPPED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Stops it until others lead its regions; at the end it goes on and has let go of them."""
        if not self.database.regions_of(self.datanode):
            raise AssertionError(f"datanode {self.datanode} leads no region: to stop it is no fault")
        explain = self.database.explain
        with self.database.stopped(self.datanode):
            wait_until(lambda: not self.database.regions_of(self.datanode), "others lead", every=0.5, explain=explain)
            yield
        wait_until(self._has_let_go, f"{self} has let go of its regions", every=0.5, explain=explain)

    def _has_let_go(self) -> bool:
        """Whether it has open only what it leads: failover may have given it a region meanwhile."""
        return set(self.database.open_regions(self.datanode)) <= set(self.database.regions_of(self.datanode))

    def __str__(self) -> str:
        return f"datanode-{self.datanode}"


@dataclass(frozen=True, slots=True)
class RegionMoved:
    """A planned migration of a region."""

    database: RefDb
    region_id: int
    target: int
    kind = FaultKind.REGION_MOVED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Moves it, also when failover is quicker and moves it elsewhere meanwhile."""
        wait_until(self._is_there, f"{self} is done", every=0.5, explain=self.database.explain)
        yield

    def _is_there(self) -> bool:
        leader = self.database.leaders()[self.region_id]
        if leader != self.target:
            self.database.execute(f"ADMIN migrate_region({self.region_id}, {leader}, {self.target})")
        return leader == self.target

    def __str__(self) -> str:
        return f"{self.region_id} to datanode-{self.target}"


@dataclass(frozen=True, slots=True)
class TableFlushed:
    """A flush of all regions of a table while they are written."""

    database: RefDb
    table: str
    kind = FaultKind.TABLE_FLUSHED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Flushes it."""
        wait_until(self._is_flushed, f"a flush of {self}", explain=self.database.explain)
        yield

    def _is_flushed(self) -> bool:
        """A region that moves away meanwhile, by a failover of a datanode that was silent, is asked for again."""
        (answer,) = self.database.execute(f"ADMIN flush_table('{self.table}')")
        if "code" in answer and answer["code"] != REGION_NOT_FOUND:
            raise AssertionError(f"flush of {self}: {answer}\n{self.database.explain()}")
        return "code" not in answer

    def __str__(self) -> str:
        return self.table


def homecoming(database: RefDb) -> list[RegionMoved]:
    """The moves after which the regions are spread evenly over the datanodes again."""
    leaders = enumerate(database.leaders().items())
    homes = ((region, leader, number % DATANODES) for number, (region, leader) in leaders)
    return [RegionMoved(database, region, home) for region, leader, home in homes if leader != home]


def _restarts(pod: str) -> int:
    return count_restarts(get("kafka", "pods", pod))


def _is_ready(pod: str) -> bool:
    return is_ready(get("kafka", "pods", pod))
