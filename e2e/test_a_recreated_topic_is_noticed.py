"""A topic that was deleted and made again takes writes that no restart would replay: Seawall notices, and says so."""

from __future__ import annotations

from seawall_e2e import guide
from seawall_e2e.commands import run
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.site import Site


def test_a_topic_that_was_recreated_breaks_the_fence_and_is_not_purged(
    site: Site, database_in_sight: RefDb, purges: Purges
) -> None:
    wal = purges.wal
    _, *inserted = database_in_sight.execute(guide.CREATE_TABLE, *guide.INSERTS)
    topic = str(inserted[0]["regions"][0]["topic"])
    wal.wait("Intact", kind="WALIntact")

    site.toolbox.delete_topics(topic)  # the operator makes it again, as it does with any topic of its pool
    wal.wait("IdentityFenceBroken", kind="WALIntact")
    purged = purges.purge_once("after", flush={"whenBehindEntries": 1, "timeout": "5s"})

    assert purged.skipped[topic] == "IdentityFenceBroken"
    assert site.log_starts()[topic] == 0
    line = purges.ledger()[topic]
    assert line["reason"] == "IdentityFenceBroken"
    assert line["purge_to"] is None
    assert "seawall.dev/readopt" in run(*purges.ledger_command("--topic", topic))
