"""What comes back is what was backed up: the same records at the same offsets, and nothing else."""

from __future__ import annotations

import secrets

from backups import Bed
from restores import Restores, begin_at, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import transaction

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK


def test_logs_come_back_at_their_own_offsets_wherever_they_begin(bed: Bed) -> None:
    restores = Restores(bed)
    starts = {f"from_{start}_{secrets.token_hex(4)}": start for start in (0, 1, 10_000, 10_000_000)}
    empty, purged = (f"{name}_{secrets.token_hex(4)}" for name in ("empty", "purged"))
    bed.topics.create(*starts, empty, purged)
    for topic, start in starts.items():
        begin_at(bed, topic, start)
        write_raw(bed, topic, [(b"k", b"v%d" % number, None, 1_700_000_000_000 + number) for number in range(200)])
        transaction(bed, topic, [b"gone"], commits=False)
        write_raw(bed, topic, [(None, None, None, 1_700_000_000_500)])
    begin_at(bed, purged, 77)
    ranges = [*((topic, start, start + 203) for topic, start in starts.items()), (empty, 0, 0), (purged, 77, 77)]
    assert bed.back_up(*ranges).code == 0
    before = {topic: bed.log(topic, start, end) for topic, start, end in ranges}

    answer = restores.restore(*before)
    assert answer.summary["outcome"] == "Passed", answer.summary
    assert (answer.summary["restored"], answer.summary["notRestored"]) == (6, [])
    for topic, start, end in ranges:
        state = restores.state(topic)
        assert (state.start, state.end) == (start, end)
        assert same(restores.log(topic), before[topic], start, end)
