"""What verifications found, as the gate of restarts sees it."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.datanodes.checks import refusal
from seawall.domain.datanodes.facts import BadRecord
from seawall.domain.datanodes.scans import bad_records
from seawall.domain.rollout_reasons import Blocker
from tests.domain.datanodes.builders import ask, make_facts, with_region
from tests.domain.verifications import make_verification

IDS = {"wal_0": "id-0", "wal_9": "id-9"}
ROWS = [{"name": name, "topicId": number, "verifiedFrom": 20, "end": 4711} for name, number in IDS.items()]
FACTS = make_facts()
BAD = BadRecord("wal_0", 300, "a value without a key")


def verified(kind: str = "MissingKey", *, stage: str = "Failed", rows: Any = ROWS, **finding: Any) -> WALVerification:
    found = {"kind": kind, "severity": "Error", "topic": "wal_0", "offset": 300, "message": BAD.what, **finding}
    return make_verification({"stage": stage, "topics": rows, "findings": [found]})


def test_a_bad_record_that_a_restart_would_read_shuts_the_gate() -> None:
    found = bad_records([verified()], IDS, FACTS.datanodes)
    assert found == {"datanode-0": BAD}
    blocked = refusal(ask(make_facts(bad_records=found)))
    assert blocked is not None
    assert (blocked.reason, blocked.clause) == (Blocker.BAD_RECORD, "offset 300 of wal_0: a value without a key")


def test_a_record_on_a_shared_topic_is_everybodys() -> None:
    assert set(bad_records([verified(topic="wal_9")], IDS, FACTS.datanodes)) == set(FACTS.datanodes)


@pytest.mark.parametrize(("reads_from", "counts"), [(299, True), (300, True), (301, False), (None, True)])
def test_what_was_flushed_beyond_the_record_does_not_read_it(reads_from: int | None, counts: bool) -> None:  # noqa: FBT001
    facts = with_region(FACTS, 0, reads_from=reads_from)
    assert bool(bad_records([verified()], IDS, facts.datanodes)) is counts


def test_the_entry_of_one_region_crashes_only_who_replays_that_one() -> None:
    found = bad_records([verified("UndecodableEntry", topic="wal_9", region="12")], IDS, FACTS.datanodes)
    assert set(found) == {"datanode-1"}


def test_another_log_another_kind_and_a_run_that_is_not_over_say_nothing() -> None:
    others = [
        verified(rows=[{**ROWS[0], "topicId": "id-before"}]),
        verified("SequenceGap"),
        verified("OrphanPart"),
        verified(stage="Running"),
        verified(offset=None),
    ]
    assert bad_records(others, IDS, FACTS.datanodes) == {}


def test_the_first_of_all_that_were_found_is_told() -> None:
    runs = [verified(offset=400), verified(offset=300), verified(offset=350)]
    assert bad_records(runs, IDS, FACTS.datanodes)["datanode-0"].offset == 300
