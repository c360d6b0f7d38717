"""Batches as they are on the wire: what is read is what was written, and nothing that is damaged passes."""

from __future__ import annotations

import pytest

from sparkjob.wire.batches import Batch, Producer, nulls, to_bytes
from wal_subscription.log_batches import Damaged, LogBatch, split

US = Producer(4001, 3)
CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, DELETE_HORIZON, ZSTD = 0x20, 0x08, 0x10, 0x40, 0x04


def in_log(base: int, *batches: Batch) -> bytes:
    """As a broker keeps them: with their offsets, which the checksum leaves out."""
    content = b""
    for batch in batches:
        content += base.to_bytes(8, "big") + to_bytes(batch, US, base)[8:]
        base += batch.count
    return content


def test_what_was_written_is_read_and_passed_on_byte_by_byte() -> None:
    (made,) = nulls(7, 1_700_000_000_000)
    content = in_log(40, made, made)
    found = list(split(content))
    assert [(batch.base, batch.end, batch.number) for batch in found] == [(40, 47, 7), (47, 54, 7)]
    assert [batch.to_batch() for batch in found] == [made, made]
    assert sum(batch.size for batch in found) == len(content)


def test_a_batch_says_which_leader_appended_it() -> None:
    (made,) = nulls(7, 0)
    content = in_log(40, made)
    led = content[:12] + (9).to_bytes(4, "big") + content[16:]
    assert [batch.epoch for batch in split(content + led)] == [0, 9]


@pytest.mark.parametrize("cut", [1, 11, 12, 30, 60, 61, 70])
def test_a_batch_that_was_cut_off_is_left_out(cut: int) -> None:
    (made,) = nulls(7, 0)
    content = in_log(0, made)
    assert [batch.base for batch in split(content + in_log(7, made)[:cut])] == [0]
    assert list(split(content[:-1])) == []


def test_a_bit_that_is_another_one_is_damage_wherever_the_checksum_reaches() -> None:
    (made,) = nulls(7, 0)
    honest = in_log(0, made)
    for at in range(16, len(honest)):
        harmed = honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :]
        with pytest.raises(Damaged):
            list(split(harmed))


def test_the_format_before_kafka_0_11_is_told() -> None:
    (made,) = nulls(1, 0)
    old = in_log(3, made)
    with pytest.raises(Damaged, match="the batch at offset 3 has format 1, and 2 is what this program reads"):
        list(split(old[:16] + b"\x01" + old[17:]))


KINDS = (
    (0, 5, True, False),
    (ZSTD | TRANSACTIONAL, 5, True, False),
    (LOG_APPEND_TIME, 5, False, False),
    (DELETE_HORIZON, 5, False, False),
    (0, 4, False, False),
    (0, 0, False, True),
    (CONTROL | TRANSACTIONAL, 1, False, True),
)


@pytest.mark.parametrize(("attributes", "number", "passes", "is_empty"), KINDS)
def test_only_what_a_producer_could_have_sent_passes(
    attributes: int,
    number: int,
    passes: bool,  # noqa: FBT001 - pytest gives it by its name
    is_empty: bool,  # noqa: FBT001 - as above
) -> None:
    batch = LogBatch(10, 15, attributes, 1, 2, number, b"", 0)
    assert (batch.passes, batch.is_empty) == (passes, is_empty)


def test_the_bits_of_a_transaction_are_not_sent() -> None:
    assert LogBatch(10, 15, ZSTD | TRANSACTIONAL, 1, 2, 5, b"x", 0).to_batch() == Batch(5, 1, 2, ZSTD, b"x")
