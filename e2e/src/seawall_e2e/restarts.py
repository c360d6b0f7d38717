"""Restarts of a database's datanodes by Seawall: what is asked for, what the status says, and who is down meanwhile."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from seawall_e2e.cluster import WALCluster
from seawall_e2e.commands import CommandFailed, Object, kubectl
from seawall_e2e.refdb import DATANODES, RefDb, in_sight
from seawall_e2e.site import Site
from seawall_e2e.telling import follow
from seawall_e2e.waiting import wait_until

STATEFUL_SET = "datanode"
_ANNOTATION = "seawall.dev/restart"
RIGHTS = "datanodes.statefulSets={" + STATEFUL_SET + "}"
"""The chart's value that lets the operator restart them."""

SAFETY = {"staleAfter": "10s", "openGrace": "20s"}
"""Of purges beside restarts: a datanode that replays for a while is not stale at once."""

TOPICS = 4

PAUSE = 0.3
"""Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """What restarts the datanodes of a site's database."""

    site: Site
    database: RefDb

    @property
    def wal(self) -> WALCluster:
        """The WALCluster."""
        return self.site.wal_cluster()

    def declare(self, replication_factor: int = 3, **restart: Any) -> None:
        """Names the datanodes, and what is asked of replicas and restarts."""
        named = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}, "restart": restart}
        data_plane = {**in_sight(self.site.namespace), **named}
        pool = self.site.pool(TOPICS, maxMessageBytes="16Ki", replicationFactor=replication_factor)
        self.wal.apply(pool, dataPlane=data_plane)

    def ask(self, value: str) -> None:
        """A person asks for a restart of all datanodes."""
        of_walc = ("-n", self.site.namespace, "annotate", "walc", self.wal.name)
        kubectl(*of_walc, "--overwrite", f"{_ANNOTATION}={value}")

    def status(self) -> Object:
        """`status.restart`; empty: there is none."""
        return roll_of(self.wal)

    def is_over(self) -> bool:
        """Whether what was asked for last, if anything was, is done."""
        found = self.wal.find() or {}
        asked_for = found.get("metadata", {}).get("annotations", {}).get(_ANNOTATION)
        status = found.get("status", {}).get("restart") or {}
        return status.get("stage") in {None, "Completed"} and status.get("doneRequest") == asked_for

    def wait_for_stage(self, *stages: str, within: float = 60) -> Object:
        """Waits until the roll is in one of these stages."""
        return self._wait(lambda status: status.get("stage") in stages, f"the roll is {' or '.join(stages)}", within)

    @contextmanager
    def watched(self) -> Iterator[Callable[[str], None]]:
        """Waits for a stage by a watch, and so hears of it within milliseconds."""
        stages = ("-o", 'jsonpath={.status.restart.stage}{"\\n"}')
        command = ["kubectl", "-n", self.site.namespace, "get", "walc", self.wal.name, "--watch", *stages]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:

            def wait_for(stage: str) -> None:
                for line in watch.stdout or ():
                    if line.strip() == stage:
                        return
                raise AssertionError(f"the watch ended before the roll was {stage}")

            try:
                yield wait_for
            finally:
                watch.terminate()

    def wait_for_reason(self, reason: str, within: float = 60) -> Object:
        """Waits until the roll says that this is why it waits."""
        return self._wait(lambda status: status.get("reason") == reason, f"the roll waits: {reason}", within)

    def _wait(self, holds: Callable[[Object], bool], what: str, within: float) -> Object:
        def found() -> Object | None:
            status = self.status()
            return status if holds(status) else None

        return wait_until(found, what, within=within, every=0.3, explain=self.explain)

    def uids(self) -> dict[str, str]:
        """By name the UIDs of the datanodes' pods."""
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.database.datanode_pods()}

    def explain(self) -> str:
        """The WALCluster, the database's pods and the operator's log, for people."""
        return f"{self.wal.explain()}\n{self.database.explain()}\n{self.site.operator.log()}"


def roll_of(wal: WALCluster) -> Object:
    """`status.restart` of a WALCluster; empty: there is none."""
    found: Object = wal.status().get("restart") or {}
    return found


def follow_roll(wal: WALCluster, request: str, *, within: float, explain: Callable[[], object]) -> None:
    """Prints how far the roll is that was asked for so, until it is over, in which all datanodes were restarted."""

    def look() -> tuple[str, bool]:
        status = roll_of(wal)
        done = (status.get("stage"), status.get("doneRequest")) == ("Completed", request)
        return f"{status.get('stage')}: {status.get('message')}", done

    follow(look, "the roll is over", within=within, explain=explain)
    if (restarted := roll_of(wal)["restarted"]) != DATANODES:
        raise AssertionError(f"{restarted} of {DATANODES} datanodes were restarted")


@dataclass(slots=True)
class DownSampler:
    """Looks all the time how many datanodes are down, in a thread, as long as the `with` lasts.

    Attributes:
        samples: how often it looked.
        most: the greatest number of pods that were not Ready, or ended, at once; by name at that time.
    """

    database: RefDb
    samples: int = 0
    most: frozenset[str] = frozenset()
    seen: set[str] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            try:
                pods = self.database.datanode_pods()
            except CommandFailed:
                continue
            down = frozenset(each["metadata"]["name"] for each in pods if not _serves(each))
            self.samples += 1
            self.seen |= down
            self.most = max(self.most, down, key=len)


def _serves(pod: Object) -> bool:
    conditions = {each["type"]: each["status"] for each in pod.get("status", {}).get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]
