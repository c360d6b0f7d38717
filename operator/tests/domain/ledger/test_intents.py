"""Intents and records in their shards: what is written is read, and nothing else is accepted."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seawall.domain.ledger.intents import (
    SHARDS,
    FenceRecord,
    Going,
    UnreadableRecord,
    decode_shard,
    encode_shard,
    name_hash,
    raise_intent,
    shard_of,
)

OFFSET = st.integers(0, 2**62)
TOPIC_ID = st.binary(min_size=16, max_size=16).map(lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"=").decode())


@st.composite
def records(draw: st.DrawFn) -> FenceRecord:
    log_start = draw(OFFSET)
    return FenceRecord(
        draw(TOPIC_ID),
        draw(st.none() | st.integers(0, 2**31 - 1)),
        log_start,
        log_start + draw(st.integers(0, 2**40)),
        draw(OFFSET),
        draw(st.none() | OFFSET),
        draw(st.none() | OFFSET),
        draw(st.booleans()),
        draw(st.none() | st.integers(0, 2**32 - 1)),
        going=draw(st.none() | st.builds(Going, st.integers(0, 2**32 - 1), OFFSET)),
        issued=draw(st.none() | OFFSET),
        readopted_at=draw(st.none() | st.integers(0, 2**40)),
    )


SHARD = st.dictionaries(st.text(min_size=1).map(name_hash), records(), max_size=4)


@given(SHARD)
def test_what_is_written_is_read(shard: dict[bytes, FenceRecord]) -> None:
    assert decode_shard(encode_shard(shard)) == shard


@given(SHARD, st.data())
def test_a_damaged_shard_is_refused(shard: dict[bytes, FenceRecord], data: st.DataObject) -> None:
    good = encode_shard(shard)
    at = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[at] ^= 1 << data.draw(st.integers(0, 7))
    for broken in (bytes(bad), good[:at]):
        with pytest.raises(UnreadableRecord):
            decode_shard(broken)


def test_the_layout_is_frozen() -> None:
    topic_id = base64.urlsafe_b64encode(bytes(range(16))).rstrip(b"=").decode()
    database = bytes(range(8))
    record = FenceRecord(
        topic_id, 3, 1000, 5000, 900, 990, 4990, True, 0xDEADBEEF, 77, database, Going(0xFEEDFACE, 5001)
    )
    written = encode_shard({name_hash("greptimedb_wal_topic_7"): record})
    assert written.hex() == (
        "53574c03" + "669aba7e" + "01" + name_hash("greptimedb_wal_topic_7").hex() + bytes(range(16)).hex()
        + "ff" + "e807" + "a01f" + "c701" + "03" + "13" + "ac3e" + "deadbeef" + "4d" + "0001020304050607"
        + "feedface" + "c23e"
    )  # fmt: skip


def test_another_format_is_written_only_where_the_store_has_two_revisions() -> None:
    """An older Seawall reads all others, so that whoever goes back has lost nothing."""
    topic_id = base64.urlsafe_b64encode(bytes(range(16))).rstrip(b"=").decode()
    record, name = (
        FenceRecord(topic_id, 3, 1000, 5000, 900, revision=77, issued=200),
        name_hash("greptimedb_wal_topic_7"),
    )
    written = encode_shard({name: record})
    assert written.hex() == (
        "53574c04" + written[4:8].hex() + "01" + name.hex() + bytes(range(16)).hex()
        + "a102" + "e807" + "a01f" + "c701" + "03" + "4d" + "c801"
    )  # fmt: skip
    assert decode_shard(written) == {name: record}
    assert encode_shard({name: replace(record, issued=None)})[3] == 3


def test_the_time_of_a_readoption_is_kept_and_an_older_seawall_reads_all_other_records() -> None:
    """One that knows no such time takes it for none; one that knows no such flag deletes nothing of these topics."""
    topic_id = base64.urlsafe_b64encode(bytes(range(16))).rstrip(b"=").decode()
    name = name_hash("greptimedb_wal_topic_7")
    record = FenceRecord(topic_id, 3, 1000, 5000, 900, readopted=0xDEADBEEF, readopted_at=1_800_000_000)
    written = encode_shard({name: record})
    assert written.hex() == (
        "53574c04" + written[4:8].hex() + "01" + name.hex() + bytes(range(16)).hex()
        + "8904" + "e807" + "a01f" + "c701" + "03" + "deadbeef" + "80a4a7da06"
    )  # fmt: skip
    assert decode_shard(written) == {name: record}
    assert encode_shard({name: replace(record, readopted_at=None)})[3] == 3


def test_the_version_before_is_read() -> None:
    """An operator that is upgraded goes on with the records that there are."""
    topic_id = base64.urlsafe_b64encode(bytes(range(16))).rstrip(b"=").decode()
    written = bytes.fromhex(
        "53574c02" + "384c0b74" + "01" + name_hash("greptimedb_wal_topic_7").hex() + bytes(range(16)).hex()
        + "1f" + "e807" + "a01f" + "c701" + "03" + "13" + "ac3e" + "deadbeef"
    )  # fmt: skip
    record = FenceRecord(topic_id, 3, 1000, 5000, 900, 990, 4990, broken=True, readopted=0xDEADBEEF)
    assert decode_shard(written) == {name_hash("greptimedb_wal_topic_7"): record}


def test_another_version_is_refused() -> None:
    newer = bytearray(encode_shard({}))
    for version in (1, 5):
        newer[3] = version
        with pytest.raises(UnreadableRecord, match=f"format {version}, this version of Seawall knows 4"):
            decode_shard(bytes(newer))


def test_the_greatest_flushed_id_is_kept_while_the_lowest_is_unknown() -> None:
    """Found here: both had one flag, so a region without a start let the fence forget what was flushed."""
    record = FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 0, 5, 90, 5, min_flushed=None, max_flushed=80)
    assert decode_shard(encode_shard({b"12345678": record})) == {b"12345678": record}


def test_ten_thousand_topics_fit_easily() -> None:
    record = FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 12, 10**10, 10**10 + 10**7, 10**10 + 10**6, 10**10, 10**10 + 10**7)
    names = [f"greptimedb_wal_topic_{number}" for number in range(10_000)]
    shards: list[dict[bytes, FenceRecord]] = [{} for _ in range(SHARDS)]
    for name in names:
        shards[shard_of(name)][name_hash(name)] = record
    sizes = [len(encode_shard(shard)) for shard in shards]
    print(f"10,000 topics: {sum(sizes) / len(names):.1f} bytes a topic, the largest shard has {max(sizes)}")  # noqa: T201 - the count is the evidence
    assert sum(sizes) / len(names) < 60
    assert max(sizes) < 2**20 / 16


def test_a_record_is_good_for_its_own_log_as_long_as_the_fence_was_not_found_broken() -> None:
    record = FenceRecord("A" * 22, leader_epoch=0, log_start=0, high_watermark=9, intent=0)
    assert record.is_good_for("A" * 22)
    assert not record.is_good_for("B" * 22)
    assert not record.is_good_for(None)
    assert not replace(record, broken=True).is_good_for("A" * 22)


def test_an_intent_never_falls() -> None:
    record = FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 0, 0, 10, 5)
    assert raise_intent(record, 7).intent == 7
    assert raise_intent(record, 3) == record


def test_what_is_no_topic_id_is_refused() -> None:
    record = FenceRecord("AAAAAAAAAAAAAAAAAAAAAA", 0, 0, 10, 5)
    for wrong in ("", "short", "!" * 22):
        with pytest.raises(ValueError, match="topic id"):
            encode_shard({b"12345678": replace(record, topic_id=wrong)})
