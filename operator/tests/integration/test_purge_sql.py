"""A purge of a database with its metadata in PostgreSQL or MySQL, all of it real; and what a restored backup stops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import KafkaProcesses, OperatorProcess
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.refdb import RefDbProcesses, store_name
from tests.integration.test_purge import Purged, make_pool_and_table, restart, shrink, skipped
from tests.support.kube import KubeClient
from tests.support.site import condition, new_site

# In every run, contract tests ask both servers all that a purge asks, and test_postgresql.py restores a backup.
pytestmark = [pytest.mark.integration, pytest.mark.soak]

OTHER_WRITES = 300
"""More than the database makes between its restore and the next look: what the server writes is counted."""


@pytest.fixture(params=[PostgresProcess, MysqlProcess], ids=["postgresql", "mysql"])
def own(request: pytest.FixtureRequest) -> Iterator[PostgresProcess | MysqlProcess]:
    """A server that is restored."""
    with request.param() as process:
        yield process


@pytest.fixture
def purged(
    kube: KubeClient, kafka: KafkaProcesses, operator: OperatorProcess, own: PostgresProcess | MysqlProcess
) -> Iterator[Purged]:
    """A database on two datanodes, with a table of two regions: Seawall moves the markers in its table."""
    with RefDbProcesses(kafka.bootstrap_servers, own, datanodes=2) as database:
        site = new_site(kube, kafka, operator)
        try:
            user = own.connection.user
            site.make_secret(store_name(own), username=user.name, password=user.password)
            make_pool_and_table(site, database)
            yield Purged(site, database)
        finally:
            site.clear()


def test_a_purge_by_markers_in_sql_loses_no_row_and_what_is_restored_stops_the_next(
    purged: Purged, own: PostgresProcess | MysqlProcess
) -> None:
    shrink(purged)
    restart(purged)
    prefix = purged.database.prefix
    markers = [own.get(f"{prefix}/__topic_name/kafka/wal_{prefix}_{number}") for number in range(2)]
    assert all(marker and marker != '{"pruned_entry_id":0}' for marker in markers), "Seawall has moved them"
    assert own.get(f"{prefix}/seawall/claim/wal_{prefix}"), "and said so"
    identity = purged.site.read()["status"]["dataPlane"]["identity"]
    assert identity.startswith(f"{store_name(own)}/")
    assert identity.endswith(f"/{prefix}/")

    copy = own.back_up()
    for number in range(OTHER_WRITES):
        own.put("another database's", str(number))
    shrink(purged)
    before = purged.log_starts()
    own.restore(copy)
    purged.write()
    run = purged.run()
    assert set(skipped(run).values()) <= {"IdentityFenceBroken", "IdentityFenceSuspected"}, run["status"]
    assert skipped(run).keys() == before.keys(), run["status"]
    assert purged.log_starts() == before, "nothing is deleted by what an older copy says"
    assert purged.missing() == set()
    damage = purged.site.wait_for("WALIntact", "False")
    assert "revision went back" in condition(damage, "WALIntact")["message"]

    own.restore_dump()
    changed = purged.site.wait_for("DataPlaneReachable", "False", "DatabaseChanged")
    assert f"and {identity} is pinned" in condition(changed, "DataPlaneReachable")["message"]
    assert purged.log_starts() == before
