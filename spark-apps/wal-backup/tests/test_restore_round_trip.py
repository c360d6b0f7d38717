"""Whatever a producer can write comes back as it was, at any time that it may have."""

from __future__ import annotations

import secrets

from backups import Bed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some
from restores import GUARDED, Restores, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import CONTENTS, HEADERS, NOW, PHASES, Written, transaction

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

TIMES = some.sampled_from([0, -1, -2, -(10**12), 1, NOW]) | some.integers(1, NOW)
LOG = some.lists(some.tuples(CONTENTS, CONTENTS, HEADERS, TIMES), max_size=8)
LOGS = some.lists(some.tuples(LOG, some.booleans(), some.booleans()), min_size=2, max_size=2)
"""Logs with a hole at their beginnings, and their ends, or without."""
LARGE: list[Written] = [(None, b"\x00" * 1_000_000, [("a", None), ("a", b""), ("b", b"\xff"), ("a", b"")], 0)]
ODD: list[Written] = [(b"", None, None, -1), (None, b"", None, 0), (b"k" * 70, b"v" * 9_000, None, NOW)]


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture], phases=PHASES)
@example(logs=[(LARGE, True, True), (ODD, False, True), ([], True, False), ([], False, False)])
@given(logs=LOGS)
def test_whatever_was_written_comes_back_as_it_was(bed: Bed, logs: list[tuple[list[Written], bool, bool]]) -> None:
    stem = secrets.token_hex(4)
    topics = [f"{stem}_{number}" for number in range(len(logs))]
    bed.topics.create(*topics, config=GUARDED)
    for topic, (records, holed_first, holed_last) in zip(topics, logs, strict=True):
        for is_holed, written in ((holed_first, records), (holed_last, [])):
            if is_holed:
                transaction(bed, topic, [b"gone"], commits=False)
            write_raw(bed, topic, written)
    ends = {topic: bed.topics.end(topic) for topic in topics}
    answer = bed.back_up(*((topic, 0, end) for topic, end in ends.items()), name=stem, chain=stem)
    assert answer.summary["outcome"] == "Passed", answer.summary
    before = {topic: bed.log(topic, 0, end) for topic, end in ends.items()}
    for topic, (records, _, _) in zip(topics, logs, strict=True):
        assert [(each.key, each.value, each.headers, each.timestamp) for each in before[topic]] == records

    restores = Restores(bed)
    answer = restores.restore(*topics, chain=stem)
    assert answer.summary["outcome"] == "Passed", answer.summary
    for topic, end in ends.items():
        assert (restores.state(topic).start, restores.state(topic).end) == (0, end)
        assert same(restores.log(topic), before[topic], 0, end)


def test_a_log_that_gave_records_its_own_time_comes_back_with_it_and_chains_are_glued(bed: Bed) -> None:
    topic = f"appended_{secrets.token_hex(4)}"
    bed.topics.create(topic, config={**GUARDED, "message.timestamp.type": "LogAppendTime"})
    write_raw(bed, topic, [(b"k", b"1", None, 0), (b"k", b"2", None, 0)])
    full = bed.back_up((topic, 0, 2))
    write_raw(bed, topic, [(b"k", b"3", None, 0)])
    assert bed.back_up((topic, 2, 3), parent=full, name="more").code == 0
    before = bed.log(topic, 0, 3)
    assert {record.timestamp_type for record in before} == {2}
    restores = Restores(bed)
    assert restores.restore(topic).summary["outcome"] == "Passed"
    assert same(restores.log(topic), before, 0, 3)
