"""The reader's rules, one after the other."""

import pytest
from wal_entries import MAX_BATCH_BYTES, REGION, make_payload

from walrecord import (
    AmbiguousLast,
    Entry,
    Finding,
    First,
    Full,
    IllegalSequence,
    InvalidKey,
    Last,
    Middle,
    MissingKey,
    Noop,
    OrphanPart,
    PartsDoNotJoin,
    Reassembler,
    Record,
    RecordKey,
    RecordType,
    RepeatedPart,
    Tombstone,
    UnfinishedEntry,
    encode_key,
    split,
)

Log = list[tuple[RecordType, bytes]]


def read(log: Log, reassembler: Reassembler | None = None) -> tuple[list[Entry], list[Finding]]:
    """Entries and findings of a region's parts, whose offsets count from 10; the parts need not be protobuf."""
    reassembler = reassembler or Reassembler(joins=lambda _: True, drops_repeats=True)
    entries: list[Entry] = []
    findings: list[Finding] = []
    for offset, (record_type, value) in enumerate(log, start=10):
        outcome = reassembler.feed(offset, encode_key(RecordKey(region_id=1, type=record_type)), value)
        entries += [outcome.entry] if outcome.entry else []
        findings += outcome.findings
    return entries, [*findings, *reassembler.unfinished()]


A, B, B2, C, Z = (First(), b"a"), (Middle(1), b"b"), (Middle(2), b"c"), (Middle(3), b"d"), (Last(), b"z")
OTHER_A, OTHER_B = (First(), b"A"), (Middle(1), b"B")


@pytest.mark.parametrize(
    ("log", "entries", "findings"),
    [
        pytest.param([(Full(), b"x")], [Entry(1, 10, b"x", 10)], [], id="a whole entry"),
        pytest.param([(Full(), b"")], [Entry(1, 10, b"", 10)], [], id="an empty value is a value"),
        pytest.param([A, Z], [Entry(1, 11, b"az", 10)], [], id="two parts; the id is Last's offset"),
        pytest.param([A, B, B2, Z], [Entry(1, 13, b"abcz", 10)], [], id="four parts"),
        pytest.param([A, B2, B, Z], [], [IllegalSequence(1, 11, First(), Middle(2))], id="Middles in another order"),
        pytest.param([A, A, B, Z], [Entry(1, 13, b"abz", 11)], [RepeatedPart(1, First(), 11)], id="First again"),
        pytest.param([A, B, B, Z], [Entry(1, 13, b"abz", 10)], [RepeatedPart(1, Middle(1), 12)], id="Middle again"),
        pytest.param([A, B, Z, Z], [Entry(1, 12, b"abz", 10)], [RepeatedPart(1, Last(), 13)], id="Last again"),
        pytest.param(
            [A, B, Z, B, Z],
            [Entry(1, 12, b"abz", 10)],
            [RepeatedPart(1, Middle(1), 13), RepeatedPart(1, Last(), 14)],
            id="a batch of Middle and Last again",
        ),
        pytest.param(
            [A, Z, A, Z],
            [Entry(1, 11, b"az", 10), Entry(1, 13, b"az", 12)],
            [],
            id="an entry again",
        ),
        pytest.param(
            [A, Z, OTHER_A, Z],
            [Entry(1, 11, b"az", 10), Entry(1, 13, b"Az", 12)],
            [AmbiguousLast(1, 12, 13)],
            id="two entries that end alike",
        ),
        pytest.param([B], [], [OrphanPart(1, Middle(1), 10)], id="a Middle without a First"),
        pytest.param([Z], [], [OrphanPart(1, Last(), 10)], id="a Last without a First"),
        pytest.param([A, Z, (Last(), b"y")], [Entry(1, 11, b"az", 10)], [OrphanPart(1, Last(), 12)], id="another Last"),
        pytest.param([A, B], [], [UnfinishedEntry(1, 10, 11)], id="an incomplete tail"),
        pytest.param([A, B, OTHER_A, Z], [Entry(1, 13, b"Az", 12)], [UnfinishedEntry(1, 10, 11)], id="the writer died"),
        pytest.param(
            [A, (Full(), b"x"), Z], [Entry(1, 11, b"x", 11), Entry(1, 12, b"az", 10)], [], id="a Full between parts"
        ),
        pytest.param([A, B2, Z], [], [IllegalSequence(1, 11, First(), Middle(2))], id="a missing Middle"),
        pytest.param([A, B, C, Z], [], [IllegalSequence(1, 12, Middle(1), Middle(3))], id="a missing Middle later on"),
        pytest.param(
            [A, B, OTHER_B, Z],
            [],
            [IllegalSequence(1, 12, Middle(1), Middle(1))],
            id="two different Middles of one number",
        ),
        pytest.param(
            [A, B, B2, B, B2, Z],
            [],
            [IllegalSequence(1, 13, Middle(2), Middle(1))],
            id="a block of Middles again",
        ),
        pytest.param(
            [A, B, B2, A, OTHER_B, Z],
            [Entry(1, 15, b"aBz", 13)],
            [UnfinishedEntry(1, 10, 12)],
            id="the writer died and began again with the same First",
        ),
        pytest.param(
            [A, B, A, B2, Z],
            [],
            [UnfinishedEntry(1, 10, 11), IllegalSequence(1, 13, First(), Middle(2))],
            id="a First again takes the Middles before it away",
        ),
        pytest.param(
            [B2, B, Z, A, Z],
            [Entry(1, 14, b"az", 13)],
            [OrphanPart(1, Middle(2), 10), IllegalSequence(1, 11, Middle(2), Middle(1))],
            id="Middles without a First have an order, too",
        ),
    ],
)
def test_the_parts_of_one_region(log: Log, entries: list[Entry], findings: list[Finding]) -> None:
    assert read(log) == (entries, findings)


def test_the_version_decides_whether_a_middle_may_come_twice() -> None:
    entries, findings = read([A, B, B, Z], Reassembler(joins=lambda _: True))
    assert (entries, findings) == ([], [IllegalSequence(1, 12, Middle(1), Middle(1))])


def test_the_middle_before_last_is_missed_by_what_the_payload_says() -> None:
    records = split(REGION, make_payload(parts=4), MAX_BATCH_BYTES)
    reassembler = Reassembler()
    outcomes = [reassembler.feed(offset, records[offset].key, records[offset].value) for offset in (0, 1, 3)]
    assert [outcome.entry for outcome in outcomes] == [None, None, None]
    assert outcomes[-1].findings == (PartsDoNotJoin(REGION, 0, 3),)


@pytest.mark.parametrize(("key", "finding"), [(None, Noop(7)), (b"", Tombstone(7)), (b"not a key", Tombstone(7))])
def test_a_record_without_a_value_is_no_entry(key: bytes | None, finding: Finding) -> None:
    outcome = Reassembler().feed(7, key, None)
    assert (outcome.entry, outcome.findings) == (None, (finding,))


def test_a_value_without_a_key_names_its_offset() -> None:
    with pytest.raises(MissingKey, match=r"^offset 7: the record has a value but no key$"):
        Reassembler().feed(7, None, b"")


@pytest.mark.parametrize("bad", [Record(b"not a key", b"x"), Record(b"{}", b"x")])
def test_a_record_that_raises_changes_nothing(bad: Record) -> None:
    reassembler = Reassembler(joins=lambda _: True)
    assert read([A, B], reassembler)[0] == []
    with pytest.raises(InvalidKey, match="offset 12"):
        reassembler.feed(12, bad.key, bad.value)
    assert read([Z], reassembler)[0] == [Entry(1, 10, b"abz", 10)]
