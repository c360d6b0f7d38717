"""Entries for tests: as in a real log, no two are alike, and neither are two parts."""

from itertools import count
from struct import pack

from hypothesis import strategies as st

from walrecord import KEY_RESERVE, First, Full, Last, Middle, RecordType, encode_entry
from walrecord.pb.wal_pb2 import Mutation, Row, Rows, Value, WalEntry

REGION = 4398046511105
U64 = st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**53 + 1, 2**63, 2**64 - 1])
_NAMED: list[RecordType] = [Full(), First(), Last()]
TYPES = st.sampled_from(_NAMED) | U64.filter(bool).map(Middle)
PART_BYTES = 32
"""A part's value in these tests is this long, and a Last has eight bytes or more: room for a number of its own."""
MAX_BATCH_BYTES = KEY_RESERVE + PART_BYTES

_numbers = count(1)


def make_payload(parts: int) -> bytes:
    """An entry that `split` with MAX_BATCH_BYTES cuts into this many parts."""
    words = [] if parts == 1 else [pack(">I", next(_numbers)) for _ in range((parts - 1) * PART_BYTES // 4)]
    row = Row(values=[Value(binary=b"".join(words))])
    rows = Rows(rows=[row])
    return encode_entry(WalEntry(mutations=[Mutation(op_type=Mutation.PUT, sequence=next(_numbers), rows=rows)]))
