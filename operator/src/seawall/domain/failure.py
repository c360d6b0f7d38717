"""What became of actions that failed, as a value: the same tick decides again and then knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from seawall.domain.errors import Refused, SeawallError


@dataclass(frozen=True, slots=True)
class Failure:
    """What the outside answered to the actions of this tick.

    `final` means that it said no; otherwise it did not answer and the same may work later.
    """

    message: str
    final: bool

    @classmethod
    def of(cls, error: SeawallError) -> Self:
        """The failure that an error tells of."""
        return cls(str(error), final=isinstance(error, Refused))
