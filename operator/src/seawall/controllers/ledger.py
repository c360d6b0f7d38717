"""Watches the ledgers of all WALClusters, so that there always is a new look to tell of."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.permission import claim_database, require_licence
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.errors import SeawallError
from seawall.domain.hold.view import overtaken_holds
from seawall.domain.ledger.actions import ClaimDatabase, WriteRecords
from seawall.domain.ledger.numbers import ledger_numbers
from seawall.domain.ledger.observation import Observation, Unavailable, UnavailableReason
from seawall.domain.ledger.page import LedgerPage, build_page
from seawall.domain.ledger.watch import LedgerAction, LedgerDecision, Watched, decide, writes
from seawall.domain.step import Event
from seawall.observe.ledger import LedgerObserver
from seawall.observe.reading import Asked
from seawall.ports import Kube, LedgerMeter


@dataclass(frozen=True, slots=True)
class _Database:
    """What was found of a database, of which WALCluster, and where."""

    uid: str
    addresses: object
    found: DataPlaneView | NoDataPlane | None

    def is_of(self, cluster: WALCluster) -> bool:
        """Whether it was found where this WALCluster says now that its database is."""
        return (self.uid, self.addresses) == (cluster.metadata.uid, _addresses(cluster))


@dataclass(frozen=True, slots=True)
class LedgerWatch(Controller[WALCluster, Watched, WALClusterStatus, LedgerAction]):
    """A controller of WALClusters beside the one that tends topics: it never writes their status.

    Args:
        wake: told the key of a WALCluster of which there is news for people.
        wake_hold: told the key of a WALHold whose records somebody else has deleted: it says so at once.
        meter: where the numbers of each look go.
    """

    resource: ClassVar = WALCluster

    kube: Kube
    observer: LedgerObserver
    wake: Callable[[Key], None]
    wake_hold: Callable[[Key], None]
    meter: LedgerMeter
    kind: str = "Ledger"
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _uids: dict[Key, str] = field(default_factory=dict)
    """Of which WALCluster of that name the page is."""
    _pages: dict[Key, LedgerPage | Unavailable] = field(default_factory=dict)
    _databases: dict[Key, _Database] = field(default_factory=dict)
    _unwritten: dict[Key, str] = field(default_factory=dict)
    """Why what the newest looks wanted to write was not written, until it is, or need not be any more."""

    def latest(self, key: Key, uid: str | None = None) -> LedgerPage | Unavailable | None:
        """What the newest look found; None: there was none yet."""
        with self._lock:
            return self._pages.get(key) if uid is None or self._uids.get(key) == uid else None

    def latest_database(self, cluster: WALCluster) -> DataPlaneView | NoDataPlane | None:
        """What the newest look found of the database; None: nobody has looked yet at these addresses."""
        with self._lock:
            known = self._databases.get(cluster.metadata.key)
        return known.found if known is not None and known.is_of(cluster) else None

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._uids.pop(key, None)
            self._pages.pop(key, None)
            self._databases.pop(key, None)
            self._unwritten.pop(key, None)
        self.observer.forget(key)
        self.meter.forget_ledger(key)

    def observe(self, obj: WALCluster) -> Watched:
        """Looks, and keeps what was found."""
        # Topics that go must not be recorded again behind their deletion: made anew they would look recreated.
        may_write = not obj.metadata.is_paused and obj.metadata.deletion_timestamp is None
        asked = Asked(obj, readopts=may_write)
        try:
            observation = self.observer.observe_as(asked)
        except Exception:  # a bug: it is told elsewhere, and hides nothing of the database
            self._keep_database(obj, self.observer.database_of(asked))
            raise
        is_new = self._keep_database(obj, self.observer.database_of(asked))
        watched, page = (
            Watched(observation, may_write),
            observation if isinstance(observation, Unavailable) else build_page(observation),
        )
        with self._lock:
            if not writes(watched) and isinstance(page, LedgerPage):
                self._unwritten.pop(obj.metadata.key, None)
            page = _with_problem(page, self._unwritten.get(obj.metadata.key))
            before = self._pages.get(obj.metadata.key)
            self._pages[obj.metadata.key], self._uids[obj.metadata.key] = page, obj.metadata.uid
        if isinstance(page, LedgerPage) or page.why is not UnavailableReason.NO_DATA_PLANE:
            self._measure(obj.metadata.key, observation, page)
        elif page != before:  # once: what runs count afterwards stays
            self.meter.forget_ledger(obj.metadata.key)
            self.meter.measure_answer(obj.metadata.key, None)  # it is there, and counts
        if not is_new and _summary(before) != _summary(page):
            self.wake(obj.metadata.key)
        for name in overtaken_holds(observation) if isinstance(observation, Observation) else ():
            self.wake_hold(Key(obj.metadata.namespace, name))
        return watched

    def _keep_database(self, obj: WALCluster, found: DataPlaneView | NoDataPlane | None) -> bool:
        """Whether it is another than before; the WALCluster is woken then, also when the look itself ends badly."""
        database = _Database(obj.metadata.uid, _addresses(obj), found)
        self.meter.measure_answer(obj.metadata.key, found.answer_used if isinstance(found, DataPlaneView) else None)
        with self._lock:
            is_new = self._databases.get(obj.metadata.key) != database
            self._databases[obj.metadata.key] = database
        if is_new:
            self.wake(obj.metadata.key)
        return is_new

    def _measure(self, key: Key, observation: Observation | Unavailable, page: LedgerPage | Unavailable) -> None:
        if isinstance(observation, Observation) and isinstance(page, LedgerPage):
            self.meter.measure_ledger(key, ledger_numbers(observation, page))
        else:
            self.meter.measure_ledger(key, None)

    def decide(self, obj: WALCluster, observed: Watched) -> LedgerDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def record(self, obj: WALCluster, status: WALClusterStatus) -> None:
        """Never called: no step of this controller records."""
        raise TypeError(f"the ledger's watch must not write the status of {obj.metadata.key}: {status}")

    def perform(self, obj: WALCluster, action: LedgerAction) -> Event:
        """Writes the records, or claims the database; if right now everything is as it was decided."""
        key = obj.metadata.key
        self._write(require_licence(self.kube, self.observer.clock, key, action.cluster), action)
        with self._lock:
            self._unwritten.pop(key, None)
        return action.event()

    def remember_failure(self, obj: WALCluster, action: LedgerAction, error: SeawallError) -> None:
        """Who writes the WALCluster's status tells of it."""
        what = "records of its logs" if isinstance(action, WriteRecords) else "the claim on its database"
        self._keep_problem(obj.metadata.key, f"{what} could not be written: {error}")

    def _write(self, cluster: WALCluster, action: LedgerAction) -> None:
        match action:
            case WriteRecords():
                self.observer.write_shards(action.pool, action.shards)
            case ClaimDatabase():
                claim_database(self.observer, cluster, action)
            case _:
                assert_never(action)

    def _keep_problem(self, key: Key, problem: str) -> None:
        """Who writes the WALCluster's status tells of it by the page."""
        with self._lock:
            is_new = self._unwritten.get(key) != problem
            self._unwritten[key] = problem
            page = self._pages.get(key)
            if is_new and page is not None:
                self._pages[key] = _with_problem(page, problem)
        if is_new:
            self.wake(key)


def _addresses(cluster: WALCluster) -> object:
    """Where the spec says that the database is: with others it may be another one."""
    database = None if isinstance(cluster.spec, InvalidSpec) else cluster.spec.database
    return database and database.addresses


def _with_problem(page: LedgerPage | Unavailable, problem: str | None) -> LedgerPage | Unavailable:
    if problem is None or isinstance(page, Unavailable):
        return page
    return replace(page, problems=(*page.problems, problem))


def _summary(page: LedgerPage | Unavailable | None) -> object:
    """What is worth a word at once: reasons, and why nobody can look; not numbers."""
    if isinstance(page, LedgerPage):
        return page.problems, tuple((line.name, line.reason) for line in page.lines)
    return page
