"""Reads a WALCluster's database: reports, what runs, and the metadata; if it is the pinned one, and one only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar, cast

from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.http_database import HTTPDatabase
from seawall.domain.clocks import TrustedTime
from seawall.domain.cluster.identity import is_about_the_claim, why_other_database
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.dataplane.connection import NoDataPlane, NotReached, PartRefused, PartUnavailable
from seawall.domain.dataplane.identity import Node, find_contradiction, weakest_version
from seawall.domain.dataplane.metadata import MetadataSnapshot, StoreHead
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.view import DataPlaneView, RunningWAL, reporting, view_data_plane
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.mode import PruneMode, prune_mode_by_contract, prune_mode_of
from seawall.domain.ledger.observation import UnavailableReason
from seawall.observe.connections import prunes
from seawall.observe.opened_cluster import Blocked, OpenedCluster
from seawall.ports import DataPlaneParts

_log = logging.getLogger(__name__)

T = TypeVar("T")


class DatabaseAnswers:
    """What the parts of a database say in one observation: each is asked once, when somebody first needs it.

    So a part that is silent hides no other: who decides stops at it, and who tells people asks the rest.
    """

    def __init__(self, parts: DataPlaneParts) -> None:
        self._parts = parts
        self._said: dict[str, object] = {}

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of each datanode.

        Raises:
            PartUnavailable, PartRefused: the metasrv did not answer.
        """
        return self._ask("reports", self._parts.data_plane.reports)

    def nodes(self) -> Sequence[Node]:
        """What runs.

        Raises:
            PartUnavailable, PartRefused: the frontend did not answer.
        """
        return self._ask("nodes", self._parts.data_plane.nodes)

    def wal_settings(self) -> WALSettings:
        """What the metasrv runs with.

        Raises:
            PartUnavailable, PartRefused: the metasrv did not say.
        """
        return self._ask("wal settings", self._parts.data_plane.wal_settings)

    def wal_settings_or_none(self) -> WALSettings | None:
        """The same; a metasrv that does not say is no obstacle to all else, but nothing is deleted or granted then."""
        return _heard(self.wal_settings, [])

    def datanode_settings(self, now: datetime) -> Mapping[int, DatanodeSettings]:
        """What datanodes run with, of those that report and say so; nothing is decided by it."""
        living = reporting(self.reports(), now)
        ask = partial(self._parts.data_plane.datanode_settings, living)
        return _heard(lambda: self._ask("datanodes' settings", ask), []) or {}

    def snapshot(self) -> MetadataSnapshot:
        """The metadata at one revision.

        Raises:
            PartUnavailable, PartRefused: the metadata store did not answer.
        """
        return self._ask("snapshot", self._parts.metadata_store.snapshot)

    def contradiction(self) -> str | None:
        """Why what was answered is not of one database, in one sentence; it is compared once.

        Raises:
            PartUnavailable, PartRefused: metasrv or metadata store did not answer.
        """
        if "contradiction" not in self._said:
            reports, nodes, wal = self.reports(), _nodes_or_none(self), self.wal_settings_or_none()
            self._said["contradiction"] = find_contradiction(reports, self.snapshot(), nodes, wal)
        return cast("str | None", self._said["contradiction"])

    def _ask(self, name: str, ask: Callable[[], T]) -> T:
        if name not in self._said:
            self._said[name] = _answer(name, ask)
        found = self._said[name]
        if isinstance(found, (PartUnavailable, PartRefused)):
            raise found
        return cast("T", found)

    def view(self, now: datetime) -> DataPlaneView | NoDataPlane:
        """What people see of it; all that is silent is told, the metasrv first, and the frontend last."""
        troubles: list[PartUnavailable | PartRefused] = []
        reports = _heard(self.reports, troubles)
        snapshot = _heard(self.snapshot, troubles)
        nodes = _heard(self.nodes, troubles)
        if reports is None or snapshot is None or nodes is None:
            return NoDataPlane(troubles[0].why, "; ".join(map(str, troubles)))
        wal = RunningWAL(self.wal_settings_or_none(), self.datanode_settings(now))

        def see() -> DataPlaneView | NoDataPlane:
            contradiction = self.contradiction()
            if contradiction is not None:
                return NoDataPlane(NotReached.CONTRADICTION, contradiction)
            return view_data_plane(reports, snapshot, nodes, wal, now)

        found = _answer("view", see)
        return NoDataPlane(found.why, str(found)) if isinstance(found, (PartUnavailable, PartRefused)) else found


def _answer(name: str, ask: Callable[[], T]) -> T | PartUnavailable | PartRefused:
    try:
        return ask()
    except (PartUnavailable, PartRefused) as trouble:
        return trouble
    except Exception as error:  # noqa: BLE001 - a bug must not look like a database that is well
        _log.exception("asking the database for its %s failed", name)
        message = f"asking the database for its {name} failed ({type(error).__name__}): the operator's log says where"
        return PartUnavailable(NotReached.UNEXPECTED_ANSWER, message)


def _heard(ask: Callable[[], T], troubles: list[PartUnavailable | PartRefused]) -> T | None:
    try:
        return ask()
    except (PartUnavailable, PartRefused) as trouble:
        troubles.append(trouble)
        return None


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """What was read of the database, and what it means for deletes."""

    reports: Sequence[DatanodeReport]
    snapshot: MetadataSnapshot
    prune_mode: PruneMode
    wal: WALSettings | None
    """What the metasrv runs with; None: it did not say."""


def read_database(
    cluster: WALCluster, opened: OpenedCluster, answers: DatabaseAnswers, time: TrustedTime, *, readopts: bool
) -> DatabaseState:
    """Reports, what runs and with which settings, and the metadata, in this order.

    Args:
        cluster: the WALCluster, with what is pinned.
        opened: what its spec leads to.
        answers: those of its database.
        time: by which a readoption is in time, or not.
        readopts: whether who asks follows seawall.dev/readopt: a claim that is somebody else's is then no obstacle.

    Raises:
        Blocked: they are not of the pinned database, or not of one.
        PartUnavailable, PartRefused: metasrv or metadata store did not answer.
    """
    reports = answers.reports()
    nodes = _nodes_or_none(answers)
    wal = answers.wal_settings_or_none()
    snapshot = answers.snapshot()
    contradiction = answers.contradiction()
    if contradiction is not None:
        raise Blocked(UnavailableReason.CONTRADICTION, contradiction)
    other = why_other_database(cluster, snapshot.store_id, snapshot.claims)
    may_claim = readopts and read_readoption(cluster, time).unused is not None
    if other is not None and not (may_claim and is_about_the_claim(cluster, snapshot.store_id)):
        raise Blocked(other.why, other.message)
    prune_mode = _prune_mode(opened, weakest_version(nodes, reports), wal)
    return DatabaseState(reports, snapshot, prune_mode, wal)


def _prune_mode(opened: OpenedCluster, running: str | None, wal: WALSettings | None) -> PruneMode:
    """By what its spec and its processes say; a database that serves the contract says it."""
    if isinstance(opened.database, HTTPDatabase):
        return prune_mode_by_contract(wal)
    return prune_mode_of(prunes(opened.database, running, wal))


def _nodes_or_none(answers: DatabaseAnswers) -> Sequence[Node] | None:
    """What runs; a frontend that is away hides no disaster, but nothing is deleted then."""
    try:
        return answers.nodes()
    except (PartUnavailable, PartRefused):
        return None


def newest_head(
    opened: OpenedCluster, snapshot: MetadataSnapshot, records: Mapping[str, FenceRecord]
) -> StoreHead | None:
    """The store's now, where a record is newer than the snapshot: another operator may have written it."""
    newest = max((record.issued_revision or 0 for record in records.values()), default=0)
    return opened.parts.metadata_store.head() if newest > snapshot.issued_revision else None
