"""What a person declared, as an action relied on it when it was decided.

Declarations are annotations: they change neither uid nor generation of their object, and they expire. So an action
carries those under which it was decided, and right before the act they are read again and judged by the clock anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from seawall.domain.ledger.dead import DeadRegions
from seawall.domain.ledger.fence import Readoption
from seawall.domain.ledger.unused import Unused


@dataclass(frozen=True, slots=True)
class Licence:
    """The declarations that count; None: nothing is declared, or it does not count (any more)."""

    unused: Unused | None = None
    dead: DeadRegions | None = None
    readoption: Readoption | None = None
    """Only of who follows it."""
