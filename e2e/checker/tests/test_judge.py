"""The judge finds exactly what was planted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.judge import Finding, FindingKind, examine, required_batches
from checker.ledger import Ack
from checker.rows import Batch, Row, value_of

REGION, TOPIC = 4398046511105, "wal_0"
BATCHES = {f"00-w.1-{number:06}": Batch(f"00-w.1-{number:06}", 2, 1000 * number, 8) for number in range(1, 5)}
ACKED = dict(list(BATCHES.items())[:3])
ACKS = {name: Ack(REGION, TOPIC, 10 + number) for number, name in enumerate(ACKED)}
UNKNOWN = BATCHES["00-w.1-000004"]
ACKED_ROWS = [row for batch in ACKED.values() for row in batch.rows()]


def findings(rows: list[Row], seen: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    return examine(rows, BATCHES, ACKS, ACKED.keys(), seen).findings


@pytest.mark.parametrize("unknown", [[], UNKNOWN.rows(), UNKNOWN.rows()[:1]])
def test_all_acknowledged_rows_are_fine_and_those_of_unknown_outcome_may_be_there(unknown: list[Row]) -> None:
    found = examine([*reversed(ACKED_ROWS), *unknown], BATCHES, ACKS, ACKED.keys(), frozenset())
    assert found.findings == ()
    assert found.good == len(ACKED_ROWS) + len(unknown)
    assert found.seen == {row.key for row in unknown}


def test_a_missing_row_is_lost_and_told_with_its_region_and_offset() -> None:
    gone = ACKED_ROWS[3]
    assert findings([row for row in ACKED_ROWS if row != gone]) == (
        Finding(FindingKind.LOST, gone.key, REGION, TOPIC, 11),
    )


def test_an_empty_table_has_lost_every_row() -> None:
    assert [finding.key for finding in findings([])] == [row.key for row in ACKED_ROWS]


@pytest.mark.parametrize("wrong", [{"value": value_of("another", 8)}, {"value": ""}, {"time": 7}])
def test_a_row_with_another_value_or_time_is_changed(wrong: dict[str, str | int]) -> None:
    first, *others = ACKED_ROWS
    changed = first._replace(**wrong)  # type: ignore[arg-type]
    assert findings([changed, *others]) == (Finding(FindingKind.CHANGED, first.key, REGION, TOPIC, 10),)


def test_a_row_of_unknown_outcome_must_be_right_too() -> None:
    row = UNKNOWN.rows()[0]
    assert findings([*ACKED_ROWS, row._replace(value="x")]) == (Finding(FindingKind.CHANGED, row.key),)


def test_a_row_that_is_there_twice_is_a_duplicate() -> None:
    assert findings([*ACKED_ROWS, ACKED_ROWS[0]]) == (
        Finding(FindingKind.DUPLICATE, ACKED_ROWS[0].key, REGION, TOPIC, 10),
    )


@pytest.mark.parametrize("key", ["00-w.1-000009.0", "00-w.1-000001.2", "x"])
def test_a_row_that_nobody_wrote_is_invented(key: str) -> None:
    assert findings([*ACKED_ROWS, Row(key, 1, "v")]) == (Finding(FindingKind.INVENTED, key),)


def test_a_row_that_was_seen_once_must_stay_although_its_outcome_is_unknown() -> None:
    seen = UNKNOWN.rows()[1].key
    assert findings(ACKED_ROWS, frozenset({seen})) == (Finding(FindingKind.LOST, seen),)


def test_a_cut_must_hold_what_was_acknowledged_before_and_what_it_claims() -> None:
    names = list(ACKS)
    other = {"01-w.1-000001": Ack(REGION + 1, TOPIC, 5)}
    acks = ACKS | other
    assert required_batches(set(), acks, {REGION: 11}) == set(names[:2])
    assert required_batches({names[2]}, acks, {REGION: 9}) == {names[2]}
    assert required_batches(set(), acks, {REGION: 4, REGION + 1: 5}) == other.keys()


@given(st.data())
def test_what_is_planted_is_found_and_nothing_else(data: st.DataObject) -> None:
    planted: dict[str, FindingKind] = {}
    rows: list[Row] = []
    for row in ACKED_ROWS:
        match data.draw(st.sampled_from([None, FindingKind.LOST, FindingKind.CHANGED, FindingKind.DUPLICATE])):
            case None:
                rows.append(row)
            case FindingKind.LOST as kind:
                planted[row.key] = kind
            case FindingKind.CHANGED as kind:
                rows.append(row._replace(value=row.value[1:]))
                planted[row.key] = kind
            case kind:
                rows += [row, row]
                planted[row.key] = kind
    found = examine(data.draw(st.permutations(rows)), BATCHES, ACKS, ACKED.keys(), frozenset())
    assert {finding.key: finding.kind for finding in found.findings} == planted
    assert found.good == sum(planted.get(row.key) in {None, FindingKind.DUPLICATE} for row in ACKED_ROWS)
