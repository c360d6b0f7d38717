"""Backups every minute, while rows are written and all that nobody holds is purged: the chain has every record."""

from __future__ import annotations

from itertools import pairwise

from seawall_e2e.acked_rows import TABLE, AckedRows
from seawall_e2e.backups import Backups
from seawall_e2e.faults import FaultLog, TableFlushed
from seawall_e2e.objects import get
from seawall_e2e.purges import FAST, Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until


def test_no_purge_takes_a_record_between_two_backups_and_what_is_stored_decodes_without_seawall(
    site: Site, database_in_sight: RefDb, purges: Purges, checker_image: str, backup_image: str
) -> None:
    flush, faults = TableFlushed(database_in_sight, TABLE), FaultLog()
    site.install("replayVerification.create=true")
    backups = Backups(site.wal_cluster(), backup_image)
    with AckedRows(database_in_sight, checker_image) as rows:
        faults.run(flush)
        purges.apply_policy(topics=sorted(site.topics()), safety=FAST)
        backups.begin()
        (first, *_) = backups.wait_until_completed(1)
        held = {topic: end for topic, (_, end) in first.ranges.items()}
        rows.wait_until_written_everywhere()
        faults.run(flush)
        wait_until(
            lambda: all(site.log_starts()[topic] >= end for topic, end in held.items()),
            "what is backed up is purged",
            within=90,
            explain=purges.explain,
        )
        backups.wait_until_completed(len(backups.all()) + 1)  # one more than have begun
        backups.suspend()
        chain = backups.wait_until_idle()
        purges.suspend()
        purges.wait_until_over()
    starts, policy = site.log_starts(), backups.policy()
    cluster_id = get(site.namespace, "walclusters", site.wal_cluster().name)["status"]["kafka"]["clusterId"]
    stored = backups.check(cluster_id)
    verdict = rows.judge()
    print(backups.table())

    assert [each.parent for each in chain] == [None, *(each.name for each in chain[:-1])]
    assert {(each.chain, each.verified, each.reason) for each in chain} == {(chain[0].chain, "Integrity", "BackedUp")}
    for before, after in pairwise(chain):
        assert {topic: end for topic, (_, end) in before.ranges.items()} == {
            topic: start for topic, (start, _) in after.ranges.items()
        }
    assert sum(each.records for each in chain) > sum(end for _, end in first.ranges.values()) // 2
    for topic, (_, end) in chain[-1].ranges.items():
        assert held[topic] <= starts[topic] <= end, "purged up to what the newest backup has, and no further"
    assert policy["last"]["name"] == chain[-1].name
    assert (stored["outcome"], stored["errors"]) == ("Passed", 0), stored
    assert [each["backups"] for each in stored["chains"]] == [len(chain)]
    assert verdict["lost"] == 0
