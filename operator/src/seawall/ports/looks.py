"""What was looked at in the background: a tick never waits for it."""

from __future__ import annotations

from typing import Protocol

from seawall.api.meta import Key
from seawall.domain.dataplane.connection import DataPlaneConnection, NoDataPlane
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.ledger.page import LedgerPage


class DataPlaneLooks(Protocol):
    """Looks at data planes in the background: a tick never waits for a database."""

    def latest(self, key: Key, connection: DataPlaneConnection) -> DataPlaneView | NoDataPlane | None:
        """What the last finished look of the object `key` found, and begins another if that is a while ago.

        None: there was none yet by this connection. The object is woken when a look finds something new.
        """
        ...

    def forget(self, key: Key) -> None:
        """Ends the looks of an object that is gone, or has no data plane any more."""
        ...


class Ledgers(Protocol):
    """The newest looks at ledgers, made by somebody else: a tick never waits for one."""

    def latest(self, key: Key) -> LedgerPage | CannotLook | None:
        """What the newest look at the ledger of the object `key` found; None: there was none yet."""
        ...
