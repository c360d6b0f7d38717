"""What somebody else observes all the time: a tick never waits for it."""

from __future__ import annotations

from typing import Protocol

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.dataplane.connection import NoDataPlane
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage


class Ledgers(Protocol):
    """The newest looks at ledgers and their databases. A WALCluster is woken when there is news of it."""

    def latest(self, key: Key) -> LedgerPage | Unavailable | None:
        """What the newest look at the ledger of the object `key` found; None: there was none yet."""
        ...

    def latest_database(self, cluster: WALCluster) -> DataPlaneView | NoDataPlane | None:
        """What the newest look found of the database; None: nobody has looked yet by this spec."""
        ...
