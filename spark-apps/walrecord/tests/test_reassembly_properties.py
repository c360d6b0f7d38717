"""Whatever the order of the regions, whatever is sent again: what was written is read, and what is lost is seen."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from wal_entries import MAX_BATCH_BYTES, TYPES, make_payload

from walrecord import (
    AmbiguousLast,
    Entry,
    Finding,
    First,
    IllegalSequence,
    Legal,
    Middle,
    PartsDoNotJoin,
    Reassembler,
    Record,
    RecordError,
    RecordKey,
    Suspect,
    UnfinishedEntry,
    decode_key,
    encode_key,
    split,
)

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=6)
"""How many parts each entry of a region has."""


def written(region_id: int, payloads: list[bytes]) -> list[list[Record]]:
    """The records of each entry of a region."""
    return [split(region_id, payload, MAX_BATCH_BYTES) for payload in payloads]


def flat(entries: list[list[Record]]) -> list[Record]:
    return [record for records in entries for record in records]


def read(log: list[Record]) -> tuple[list[Entry], list[Finding]]:
    reassembler = Reassembler(drops_repeats=True)
    outcomes = [reassembler.feed(offset, record.key, record.value) for offset, record in enumerate(log)]
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return [outcome.entry for outcome in outcomes if outcome.entry], [*findings, *reassembler.unfinished()]


@given(st.lists(SIZES, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_regions_interleave_in_any_way(regions: list[list[int]], random: Random) -> None:
    payloads = {region: [make_payload(size) for size in sizes] for region, sizes in enumerate(regions)}
    logs = {region: flat(written(region, of_region)) for region, of_region in payloads.items()}
    turns = [region for region, log in logs.items() for _ in log]
    random.shuffle(turns)
    log = [logs[region].pop(0) for region in turns]
    entries, findings = read(log)
    assert findings == []
    for region, of_region in payloads.items():
        assert [entry.payload for entry in entries if entry.region_id == region] == of_region
    for entry in entries:
        assert log[entry.entry_id].value == entry.payload[-len(log[entry.entry_id].value) :]
        assert entry.payload.startswith(log[entry.first_offset].value)


@given(SIZES, st.data())
def test_a_dropped_part_is_seen(sizes: list[int], data: st.DataObject) -> None:
    payloads = [make_payload(size) for size in [2, *sizes]]
    records = written(1, payloads)
    dropped = data.draw(st.sampled_from([at for at, of_entry in enumerate(records) if len(of_entry) > 1]))
    part = data.draw(st.integers(0, len(records[dropped]) - 1))
    is_middle = 0 < part < len(records[dropped]) - 1
    del records[dropped][part]
    entries, findings = read(flat(records))
    assert [entry.payload for entry in entries] == payloads[:dropped] + payloads[dropped + 1 :]
    assert any(isinstance(finding, (Suspect | UnfinishedEntry)) for finding in findings)
    if is_middle:
        assert [type(finding) for finding in findings] in ([IllegalSequence], [PartsDoNotJoin])


@given(SIZES, st.data())
def test_the_log_may_end_anywhere(sizes: list[int], data: st.DataObject) -> None:
    payloads = [make_payload(size) for size in sizes]
    log = flat(written(1, payloads))
    end = data.draw(st.integers(0, len(log)))
    entries, findings = read(log[:end])
    assert [entry.payload for entry in entries] == payloads[: len(entries)]
    last = entries[-1].entry_id if entries else -1
    assert findings == ([] if last + 1 == end else [UnfinishedEntry(1, last + 1, end - 1)])


def until_the_second_great_part(records: list[Record]) -> int:
    """The longest batch of max_batch_bytes: a First or Middle fills it but for 256 bytes, so it holds one of them."""
    great = [at for at, record in enumerate(records) if isinstance(decode_key(record.key).type, First | Middle)]
    return great[1] if len(great) > 1 else len(records)


def sent_again(
    records: list[Record], data: st.DataObject, longest: Callable[[list[Record]], int] = until_the_second_great_part
) -> list[Record]:
    """The records, where batches of them are appended again because no answer came."""
    log: list[Record] = []
    while records:
        size = data.draw(st.integers(1, longest(records)))
        batch, records = records[:size], records[size:]
        log += batch * data.draw(st.integers(1, 3))
    return log


@given(SIZES, st.data())
def test_batches_of_an_entry_may_be_sent_again(sizes: list[int], data: st.DataObject) -> None:
    payloads = [make_payload(size) for size in sizes]
    log = flat([sent_again(records, data) for records in written(1, payloads)])
    entries, findings = read(log)
    assert list(dict.fromkeys(entry.payload for entry in entries)) == payloads
    assert all(isinstance(finding, Legal) for finding in findings)


@given(SIZES, st.data())
def test_batches_across_entries_may_be_sent_again(sizes: list[int], data: st.DataObject) -> None:
    payloads = [make_payload(size) for size in sizes]
    entries, findings = read(sent_again(flat(written(1, payloads)), data))
    ambiguous = {finding.last_offset for finding in findings if isinstance(finding, AmbiguousLast)}
    mixes = {entry.payload for entry in entries if entry.entry_id in ambiguous}
    assert set(payloads) <= {entry.payload for entry in entries} <= {*payloads, *mixes}


@given(
    st.lists(
        st.tuples(
            st.none()
            | st.binary(max_size=8)
            | TYPES.map(lambda record_type: encode_key(RecordKey(region_id=1, type=record_type))),
            st.none() | st.binary(max_size=3),
        ),
        max_size=12,
    )
)
def test_any_records_give_outcomes_or_record_errors(log: list[tuple[bytes | None, bytes | None]]) -> None:
    reassembler = Reassembler()
    for offset, (key, value) in enumerate(log):
        with suppress(RecordError):
            outcome = reassembler.feed(offset, key, value)
            assert outcome.entry is None or all(isinstance(finding, AmbiguousLast) for finding in outcome.findings)
    assert len(reassembler.unfinished()) <= 1
