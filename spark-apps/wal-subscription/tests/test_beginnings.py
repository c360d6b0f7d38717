"""What must be so before a topic begins with a snapshot, and how much of it a micro-batch hands on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from decoders import ALL, REGION, selecting
from record_logs import CPU, MEM
from test_snapshots import FILE, FOLDER, OTHER, TOPIC

from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_subscription.records import beginnings, checks
from wal_subscription.records.beginnings import MOST_FILES
from wal_subscription.records.jobs import Job
from wal_subscription.records.progress import FilePlace
from wal_subscription.records.request import RecordsRequest, parse_records_request
from wal_subscription.records.selection import Selection
from wal_subscription.records.snapshot import Base
from wal_subscription.stops import MustStop, Reason


def request(uri: str | None = FOLDER) -> RecordsRequest:
    """The contract's, with this snapshot."""
    found = json.loads((Path(__file__).parents[1] / "contract" / "records-request.json").read_bytes())
    return parse_records_request(json.dumps(found | {"snapshot": None if uri is None else {"uri": uri}}).encode())


BASE = Base(FOLDER, "d", (), {OTHER: 3, REGION: 9})
NOT_MEM, NOT_CPU = (replace(selecting(one), others=frozenset({other})) for one, other in ((CPU, MEM), (MEM, CPU)))
UNSUITABLE: list[tuple[Selection, int, tuple[int, int], Reason | None, int | None]] = [
    (ALL, 0, (4, 10), None, None),
    (ALL, 0, (5, 10), Reason.SOURCE_GAP, 4),
    (NOT_MEM, 0, (5, 10), None, None),
    (NOT_MEM, 0, (10, 10), None, None),
    (NOT_MEM, 0, (11, 20), Reason.SOURCE_GAP, 10),
    (ALL, 0, (0, 9), Reason.DIVERGED, 9),
    (NOT_CPU, 0, (0, 9), None, None),
    (selecting(CPU), 3, (0, 10), Reason.TABLE_UNKNOWN, 3),
    (selecting(CPU), 4, (0, 10), None, None),
    (selecting(MEM), 9, (0, 9), Reason.DIVERGED, 9),
]
"""What is selected, up to where names are known, the log, and why it must stop."""


@pytest.mark.parametrize(("selection", "known_to", "log", "reason", "offset"), UNSUITABLE)
def test_the_log_goes_on_from_what_selected_regions_begin_with_and_all_names_are_known(
    selection: Selection, known_to: int, log: tuple[int, int], reason: Reason | None, offset: int | None
) -> None:
    topic = replace(TOPIC, start=log[0], names_known_to=known_to)
    assert stopped_by(lambda: checks.require_base(BASE, selection, topic, log[1])) == (reason, offset)


def stopped_by(require: Callable[[], None]) -> tuple[Reason | None, int | None]:
    """Why a topic must stop, and where."""
    try:
        require()
    except MustStop as must:
        return must.stop.reason, must.stop.offset
    return None, None


def every_base() -> None:
    """All of them."""
    for case in UNSUITABLE:
        test_the_log_goes_on_from_what_selected_regions_begin_with_and_all_names_are_known(*case)


def test_a_topic_goes_on_with_the_snapshot_that_it_has_begun_with() -> None:
    ours, unusable = FilePlace("d", 1, 0), (Reason.SNAPSHOT_UNUSABLE, None)
    for place, base, uri, why in (
        (None, None, None, (None, None)),
        (ours, None, FOLDER, (None, None)),
        (ours, BASE, FOLDER, (None, None)),
        (ours, None, None, unusable),
        (FilePlace("other", 1, 0), BASE, FOLDER, unusable),
    ):
        found = request(uri)
        assert stopped_by(lambda: checks.require_snapshot(place, base, found, TOPIC)) == why  # noqa: B023 - at once


def test_a_micro_batch_hands_on_some_files_of_as_many_topics_as_it_can() -> None:
    job = Job(TOPIC, 50, 10, 3, Base(FOLDER, "d"), (FILE,) * 100)
    assert [len(each.files) for each in beginnings.first_files([job] * 3)] == [MOST_FILES // 3] * 3
    assert [len(each.files) for each in beginnings.first_files([job] * 100)] == [1] * MOST_FILES
    assert beginnings.first_files([]) == []


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(checks, "require_base", "entry_id + 1 < topic.start", "False"), every_base),
    (rewritten(checks, "require_base", "entry_id >= end", "False"), every_base),
    (rewritten(checks, "require_base", "if not is_selected and not is_unknown", "if False"), every_base),
    (
        rewritten(checks, "require_base", "is_selected is None and entry_id >= topic.names_known_to", "False"),
        every_base,
    ),
    (rewritten(checks, "require_base", "and entry_id >= topic.names_known_to", ""), every_base),
    (
        rewritten(checks, "require_snapshot", "base.digest != place.digest", "False"),
        test_a_topic_goes_on_with_the_snapshot_that_it_has_begun_with,
    ),
    (
        rewritten(beginnings, "first_files", "jobs[:MOST_FILES]", "jobs"),
        test_a_micro_batch_hands_on_some_files_of_as_many_topics_as_it_can,
    ),
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []
