"""Reports that went back: copies that are repeated, or a new incarnation of a datanode.

A report that is older than one seen before (a lower epoch of the process, or an earlier time in the same epoch) makes
its region stale, because an old copy may be repeated for a while. But a datanode that was restored, or whose clock was
set back, reports so for ever. A copy does not advance; so reports that went back and then advance `RETURNS` times on
end, in one epoch, by the route's leader, and without a newer one between them, are believed. Believed means that a new
streak begins there: no evidence is taken over from before, and if its flushed ids went back too, the identity fence
says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.ledger.columns import Ids, Mask, Numbers, choose

RETURNS = 3
"""Advances after which reports that went back are believed."""


@dataclass(frozen=True, slots=True, eq=False)
class WentBack:
    """By region, the newest report that went back; unknown where none did."""

    epoch: Ids
    reported_at: Ids
    advances: Ids
    """How often such reports have advanced on end."""

    @classmethod
    def none(cls, rows: int = 0) -> WentBack:
        """No report went back."""
        unknown = Ids.unknown(rows)
        return cls(unknown, unknown, unknown)

    def take(self, at: Ids) -> WentBack:
        """These rows; unknown for a region that there was none of."""
        if not len(self.epoch):
            return WentBack.none(len(at))
        return WentBack(
            *(each.take(at.numbers).only(at.known) for each in (self.epoch, self.reported_at, self.advances))
        )

    def only(self, mask: Mask) -> WentBack:
        """With every other row unknown."""
        return WentBack(self.epoch.only(mask), self.reported_at.only(mask), self.advances.only(mask))

    def advance(self, late: Mask, epoch: Ids, reported_at: Ids) -> tuple[WentBack, Mask]:
        """What went back after one more look, and which regions are believed from now on.

        Args:
            late: whose report is older than one seen before. A newer one forgets what went back; none at all does not.
            epoch: of the reports of this look; unknown: there is none.
            reported_at: when they were made.
        """
        goes_on = late & self.epoch.equals(epoch) & ~self.reported_at.above(reported_at)
        counted: Numbers = self.advances.numbers + reported_at.above(self.reported_at)
        advances = Ids.of_known(np.where(goes_on, counted, 0))
        believed = late & (advances.numbers >= RETURNS)
        silent = ~epoch.known
        now = WentBack(
            choose(silent, self.epoch, epoch),
            choose(silent, self.reported_at, reported_at),
            choose(silent, self.advances, advances),
        )
        return now.only((late | silent) & ~believed), believed
