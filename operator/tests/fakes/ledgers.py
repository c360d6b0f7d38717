"""Newest looks at ledgers, as a test sets them."""

from __future__ import annotations

from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage


@dataclass
class FakeLedgers:
    """The Ledgers port; nothing was looked at unless a test says so."""

    pages: dict[Key, LedgerPage | Unavailable] = field(default_factory=dict)
    database: DataPlaneView | NoDataPlane | None = None
    """What every look finds."""

    def latest(self, key: Key, uid: str | None = None) -> LedgerPage | Unavailable | None:  # noqa: ARG002 - the port has it
        """What the test set."""
        return self.pages.get(key)

    def latest_database(self, cluster: WALCluster) -> DataPlaneView | NoDataPlane | None:  # noqa: ARG002 - the port has it
        """What the test set."""
        return self.database
