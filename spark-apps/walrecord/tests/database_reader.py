"""The database's reader in our words, as a small automaton: what it makes of the records of one topic.

Written from GreptimeDB's source, and from nothing of walrecord's Reassembler, which is held against it:

* src/log-store/src/kafka/log_store.rs, `read`: a record without a value is skipped, whatever its key; one with a value
  and without a key, or with a key that is none, ends the reading with an error.
* src/log-store/src/kafka/util/record.rs, `maybe_emit_entry`, the same in v1.0.0 to v1.1.2 (blob 720f9891), and another
  one since v1.1.3 (blob aefb098e, also that of v1.2.0-beta.2 and of main at 2026-08-21): each region has a buffer.
  First replaces it; Middle(n) is appended if the buffer is empty, ends with First and n is 1, or ends with
  Middle(n - 1), and is else an error; since v1.1.3 a Middle is dropped before that if the buffer ends with the same
  number and the same bytes; Last empties the buffer, and what was in it with Last is given out.
* src/store-api/src/logstore/entry.rs, `is_complete`: what has both First and Last. The rest is passed over, with a
  warning (src/mito2/src/wal/entry_reader.rs), and so is what is buffered at the end.
* src/mito2/src/wal/entry_reader.rs, `decode_raw_entry`: a complete entry that is no WalEntry is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

RELEASES = {"1.0": False, "1.1.0": False, "1.1.2": False, "1.1.3": True, "1.2": True}
"""Version → whether its `maybe_emit_entry` is the one since v1.1.3; the last one is the newest that was read."""

Part = tuple[int, str, int, bytes]
"""Region, Full or First or Middle or Last, the number of a Middle (else 0), value."""
Emitted = tuple[int, int, bytes]
"""Region, entry id, payload."""


@dataclass(slots=True)
class Read:
    """What the reader gives out of a log, and the offset at which it ends with an error."""

    complete: list[Emitted] = field(default_factory=list)
    illegal_at: int | None = None


def read_topic(records: list[Part], version: str) -> Read:
    """Reads records whose offsets count from 0."""
    drops, read = RELEASES[version], Read()
    buffers: dict[int, list[tuple[str, int, bytes]]] = {}
    for offset, (region, kind, number, value) in zip(count(), records, strict=False):
        buffer = buffers.setdefault(region, [])
        if kind == "Full":
            read.complete.append((region, offset, value))
        elif kind == "First":
            buffers[region] = [(kind, 0, value)]
        elif kind == "Last":
            if buffer and buffer[0][0] == "First":
                read.complete.append((region, offset, b"".join(part for _, _, part in buffer) + value))
            buffers[region] = []
        elif drops and buffer and buffer[-1] == (kind, number, value):
            continue
        elif buffer and buffer[-1][1] + 1 != number:  # First counts as 0
            read.illegal_at = offset
            return read
        else:
            buffer.append((kind, number, value))
    return read
