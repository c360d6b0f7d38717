"""A datanode crashes again and again at a record that no database wrote: Seawall says which, and keeps purges away.

A person gets it out as docs/restarting.md says, and no row is lost.
"""

from __future__ import annotations

import pytest

from seawall_e2e import guide
from seawall_e2e.bad_records import copy_rows, crash, region_of, step_over, wait_for_diagnosis
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb, RefDbImages, in_sight
from seawall_e2e.restarts import RIGHTS, STATEFUL_SET
from seawall_e2e.site import Site

CHANGED = 'INSERT INTO dist_table(ts, n, row_num) VALUES ({}, "{}", 100)'
"""The same row with another value: behind the record."""


# In every run: what a datanode says of such a record (e2e/refdb/tests/test_bad_logs.py), and what the operator makes of
# it (operator/tests/datanodes, operator/tests/domain/datanodes/test_diagnosis.py).
@pytest.mark.soak
def test_a_crash_loop_is_told_with_the_offset_of_its_record_and_ends_without_the_loss_of_a_row(
    site: Site, refdb_images: RefDbImages
) -> None:
    site.install(RIGHTS)
    wal, purges = site.wal_cluster(), Purges(site.wal_cluster(), site.operator)
    named = {"datanodes": {"statefulSetRef": {"name": STATEFUL_SET}}}
    wal.apply(site.pool(3), dataPlane={**in_sight(site.namespace), **named})
    wal.wait("Ready")
    database = RefDb(site.namespace, refdb_images)
    database.start()
    wal.wait("Serving", kind="DatanodesHealthy")
    _, *inserted = database.execute(guide.CREATE_TABLE, *guide.INSERTS)
    written = database.rows(guide.SELECT)
    assert len(written) == len(guide.ROWS)
    region = region_of(database, inserted[0]["regions"][0])
    purges.apply_policy(interval="1h", entries=1)

    at, name, _ = next(row for row in written if row[1] == guide.ROWS[0][0])
    bad = crash(database, site.toolbox, region, CHANGED.format(at, name))
    before = [[at, name, 100] if row[1] == name else row for row in written]
    told = wait_for_diagnosis(wal)
    assert told["status"] == "False"
    assert f"datanode-{region.datanode}: " in told["message"]
    assert bad.where in told["message"]
    run = purges.purge_once("meanwhile", topics=[region.topic])
    assert run.entries_deleted == 0
    assert set(run.skipped) == {region.topic}
    assert wal.status()["restart"]["datanodes"][region.datanode]["ailment"] == told["reason"]

    assert copy_rows(site.toolbox, bad) == 6
    step_over(database, bad)
    wal.wait("Serving", kind="DatanodesHealthy")
    assert database.rows(guide.SELECT) == before
    assert all(database.restarts(f"datanode-{other}") == 0 for other in range(3))
