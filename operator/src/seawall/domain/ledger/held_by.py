"""Who keeps the oldest record of a topic that stays, for people."""

from __future__ import annotations

from seawall.domain.ledger.ledger import Holder, Ledger


def held_by(ledger: Ledger, row: int) -> str | None:
    """One topic's holder by kind and name; None: nobody."""
    match ledger.holder_of(row):
        case Holder.REGION:
            at = ledger.holding_region.at(row)
            return None if at is None else f"region {int(ledger.case.regions.region[at])}"
        case Holder.HOLD:
            return f"WALHold {ledger.case.bounds.hold_names[row]}"
        case Holder.NOBODY:
            return None
        case holder:
            return str(holder.value)
