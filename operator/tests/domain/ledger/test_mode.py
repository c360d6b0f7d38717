"""Which database may be purged in which mode."""

from __future__ import annotations

import pytest

from seawall.domain.dataplane.identity import parse_version
from seawall.domain.ledger.mode import GreptimeDB, Mode, PruneMode, prune_mode_of
from seawall.domain.ledger.reasons import Reason

TOO_OLD = PruneMode(Mode.C, Reason.DATABASE_TOO_OLD)


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        (GreptimeDB("1.1.0", 1800, logical_delete=True, running="1.1.0"), PruneMode(Mode.A)),
        (GreptimeDB("1.2.1", None, logical_delete=True, running="1.2.1"), PruneMode(Mode.A)),
        (GreptimeDB("1.1", 0, running="1.1"), PruneMode(Mode.B)),
        (GreptimeDB("v1.2.0-beta.2", 0, running="v1.2.0-beta.2"), PruneMode(Mode.B)),
        (GreptimeDB("1.1.0", running="1.1.0"), PruneMode(Mode.A, Reason.SECOND_PRUNER)),
        (GreptimeDB("1.1", 0, running="1.0.2"), PruneMode(Mode.C, Reason.VERSION_DIFFERS)),
        (GreptimeDB("1.2", 0, running="1.1.4"), PruneMode(Mode.B, Reason.VERSION_DIFFERS)),
        (GreptimeDB("1.1", 0, running="1.1.0-rc.1"), PruneMode(Mode.C, Reason.VERSION_DIFFERS)),
        (GreptimeDB("1.1", running="1.0.2"), PruneMode(Mode.C, Reason.VERSION_DIFFERS)),
        (GreptimeDB("1.1", 0, running=None), PruneMode(Mode.B, Reason.VERSION_UNKNOWN)),
        (GreptimeDB("1.1", running=None), PruneMode(Mode.A, Reason.SECOND_PRUNER)),
        (GreptimeDB("1.0", 0, running="1.1.0"), TOO_OLD),
        (GreptimeDB("1.1", 0, running="1.2.1"), PruneMode(Mode.B)),
        (GreptimeDB("1.1.0", 60, running="1.1.0"), PruneMode(Mode.A, Reason.SECOND_PRUNER)),
        (GreptimeDB("1.1.0-rc.1", 0, running="1.1.0-rc.1"), TOO_OLD),
        (GreptimeDB("1.0.2", 0, running="1.0.2"), TOO_OLD),
        (GreptimeDB("0.17.0", 1800, running="0.17.0"), TOO_OLD),
        (GreptimeDB("nightly", 0, running="nightly"), TOO_OLD),
    ],
)
def test_the_regime(database: GreptimeDB, expected: PruneMode) -> None:
    assert prune_mode_of(database) == expected


def test_a_pre_release_counts_as_older() -> None:
    assert parse_version("1.1.4-x") == (1, 1, 3)
    assert parse_version("2.0.0-alpha") == (1, 0, 0)
    assert parse_version("1") is None
