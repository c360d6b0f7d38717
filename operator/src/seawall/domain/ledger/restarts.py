"""Topics that a datanode reads when it comes back: nothing is deleted from them while it restarts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seawall.domain.ledger.columns import Mask, any_by
from seawall.domain.ledger.tables import Bounds, Regions, Topics


@dataclass(frozen=True, slots=True)
class RestartClaims:
    """The datanodes that restart, or cannot come up.

    Attributes:
        datanodes: nothing is deleted from their topics.
        lets_finish: nothing begins to be deleted from their topics; what has an intent already is waited for.
    """

    datanodes: frozenset[int] = frozenset()
    lets_finish: frozenset[int] = frozenset()


def kept_for_restarts(claims: RestartClaims, regions: Regions, topics: Topics, bounds: Bounds) -> Mask:
    """By topic, whether a region of it is led by such a datanode."""
    has_begun = bounds.intent.above(topics.log_start)
    stopped = _topics_of(claims.datanodes, regions, topics)
    return stopped | (_topics_of(claims.lets_finish, regions, topics) & ~has_begun)


def _topics_of(datanodes: frozenset[int], regions: Regions, topics: Topics) -> Mask:
    led = regions.leader.known & np.isin(regions.leader.numbers, np.array(sorted(datanodes), np.int64))
    return any_by(led, regions.topic, len(topics))
