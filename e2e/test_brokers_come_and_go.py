"""A broker that is away is said in the status, and nothing is done to the topics."""

from __future__ import annotations

import pytest

from seawall_e2e.cluster import broker_away
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


# `make test` kills a broker of real processes (integration/test_brokers.py, integration/test_refusals.py).
@pytest.mark.soak
def test_a_broker_that_is_away_is_reported_until_it_is_back(site: Site) -> None:
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(4))
    wal.wait("Ready")
    before = site.topics()

    with broker_away():
        missing = wal.wait("BrokersMissing")

    brokers = missing["status"]["kafka"]["brokers"]
    assert (brokers["total"], brokers["online"]) == (3, 2)
    conditions = {each["type"]: each["status"] for each in missing["status"]["conditions"]}
    assert conditions["Ready"] == "False"
    assert conditions["KafkaReachable"] == "True"
    brokers = wal.wait("Ready", within=90)["status"]["kafka"]["brokers"]
    assert (brokers["total"], brokers["online"]) == (3, 3)
    wait_until(wal.is_fully_replicated, "every replica is in sync", within=90, explain=wal.explain)
    assert site.topics() == before
