"""Newest looks at ledgers, as a test sets them."""

from __future__ import annotations

from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.ledger.page import LedgerPage


@dataclass
class FakeLedgers:
    """The Ledgers port; nothing was looked at unless a test says so."""

    pages: dict[Key, LedgerPage | CannotLook] = field(default_factory=dict)

    def latest(self, key: Key) -> LedgerPage | CannotLook | None:
        """What the test set."""
        return self.pages.get(key)
