"""What Kafka says of a topic, judged without Kafka; and the place of a hole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay_verification.coverage import Extent, LogState, find_coverage, find_cuts, led_anew
from replay_verification.holes import missing, with_holes
from replay_verification.request import Region, Topic
from sparkjob.integrity.findings import Kind, Severity
from sparkjob.wire.reader import Range

TOPIC = Topic("wal", "id", 0, 20, 40, (Region(1, 20, 19),))
STATE = LogState("id", 0, 40, 40)
ASKED = Range("wal", 20, 40)


def kinds(state: LogState) -> list[tuple[Kind, int | None]]:
    return [(found.kind, found.offset) for found in find_coverage((TOPIC,), {"wal": state})]


def test_a_healthy_topic_has_no_finding() -> None:
    assert kinds(STATE) == []


@pytest.mark.parametrize(("offset", "counts"), [(19, False), (20, True), (39, True), (40, False)])
def test_a_timestamp_out_of_range_counts_where_the_range_is(offset: int, counts: bool) -> None:  # noqa: FBT001 - a table
    expected = [(Kind.TIMESTAMP_OUT_OF_RANGE, offset)] if counts else []
    assert kinds(replace(STATE, bad_time=offset)) == expected


def test_more_partitions_are_a_warning() -> None:
    ((kind, _),) = kinds(replace(STATE, partitions=2))
    assert (kind, kind.severity) == (Kind.MORE_PARTITIONS, Severity.WARNING)


def test_a_log_that_another_leader_leads_by_now_is_asked_for_its_last_record() -> None:
    """One that was deleted is found by who looks for it; where Kafka says no epoch there is nothing to compare."""
    extent = replace(STATE, epoch=3).read_to("wal", 40)
    assert extent == Extent("wal", 40, 3)
    for epoch, asked in ((3, []), (4, [extent]), (None, [extent])):
        assert led_anew([extent], {"wal": replace(STATE, epoch=epoch)}) == asked
    assert led_anew([extent], {}) == []
    assert led_anew([STATE.read_to("wal", 40)], {"wal": replace(STATE, epoch=4)}) == []


@pytest.mark.parametrize(("epoch", "is_cut"), [(2, False), (3, False), (4, True)])
def test_a_log_whose_last_record_is_of_a_later_leader_was_cut(epoch: int, is_cut: bool) -> None:  # noqa: FBT001 - a table
    """It has the id and the offsets that it had."""
    found = find_cuts({Extent("wal", 40, 3): epoch})
    assert [(each.kind, each.topic, each.severity) for each in found] == [
        (Kind.LOG_ENDS_BEFORE_RANGE, "wal", Severity.ERROR)
    ] * is_cut


@pytest.mark.parametrize(("records", "is_holed"), [(20, False), (19, True), (21, True), (0, True)])
def test_as_many_records_as_offsets_and_no_other_number(records: int, is_holed: bool) -> None:  # noqa: FBT001 - a table
    assert bool(with_holes([ASKED], {"wal": records} if records else {})) == is_holed


@pytest.mark.parametrize(
    ("found", "first"),
    [
        (None, 20),
        ({"first": 22, "before": None, "last": 39}, 20),
        ({"first": 20, "before": 25, "last": 39}, 26),
        ({"first": 20, "before": None, "last": 38}, 39),
    ],
)
def test_the_first_offset_that_is_missing_is_named(found: dict[str, int | None] | None, first: int) -> None:
    finding = missing(ASKED, found, 18)
    assert (finding.kind, finding.offset) == (Kind.OFFSETS_MISSING, first)
    assert finding.message.startswith(f"2 offsets are missing between 20 and 40, the first at {first}: ")
