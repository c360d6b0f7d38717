"""Strimzi, the operator of Kafka clusters, where it works on the same Kafka."""

from __future__ import annotations

from typing import Protocol

from seawall.domain.sharing import StrimziView


class Strimzi(Protocol):
    """Strimzi's resources. Reads are never cached."""

    def observe(self) -> StrimziView | None:
        """All that it has where the operator may read it; None: it is not installed.

        Raises:
            Refused: the operator may not read its resources.
        """
        ...
