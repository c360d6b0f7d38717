"""Replicas are moved under a load by an operator that is killed in mid-move; Kafka's own tools say where they are."""

from __future__ import annotations

from typing import Any

import pytest

from seawall_e2e.reassignments import Reassignments
from seawall_e2e.site import Site

COUNT = 4
RECORDS = 4_000
"""Of a kilobyte, in each topic: at a megabyte a second the moves last for ten seconds and more."""
SLOWLY: dict[str, Any] = {"throttleBytesPerSecond": "1Mi", "maxConcurrentPartitions": 2}


# `make test` moves replicas on real brokers under a load (integration/test_reassignment.py), and dies at every call.
@pytest.mark.soak
def test_a_replication_factor_grows_under_load_and_no_produce_fails(site: Site) -> None:
    site.install()
    moves = Reassignments(site)
    moves.declare(COUNT, 1, **SLOWLY)
    moves.wal.wait("Ready")
    with site.toolbox.loading(sorted(site.topics()), RECORDS) as load:
        moves.declare(COUNT, 3, **SLOWLY)
        moves.wait(moves.throttled, "a topic is moved")
        (pod,) = site.operator.pods()
        site.operator.crash(pod)
        assert moves.throttled(), "it was killed in mid-move"
        moves.wal.wait("Ready", within=120)
    print(load)
    assert load["acknowledged"] > 0
    assert (load["failed"], load["lost"]) == ([], 0)
    assert moves.factors() == {3}
    moves.check()
    assert moves.run()["stage"] == "Completed"
    assert site.operator.restarts() == 1
