"""An entry as records: one, or several parts when it is large."""

from dataclasses import dataclass

from walrecord.key import First, Full, Last, Middle, RecordKey, RecordType, encode_key

KEY_RESERVE = 256
"""What the database leaves of `max_batch_bytes` for the key and the record's framing."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent to Kafka: no headers, partition 0."""

    key: bytes
    value: bytes


def split(region_id: int, payload: bytes, max_batch_bytes: int) -> list[Record]:
    """The records of an entry, to be appended in this order.

    Raises:
        RecordError: The region id is out of range.
        ValueError: `max_batch_bytes` leaves no room for a value.
    """
    size = max_batch_bytes - KEY_RESERVE
    if size < 1:
        raise ValueError(f"max_batch_bytes {max_batch_bytes} must be above {KEY_RESERVE}")
    values = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
    return [
        Record(encode_key(RecordKey(region_id=region_id, type=_part(number, len(values)))), value)
        for number, value in enumerate(values)
    ]


def _part(number: int, count: int) -> RecordType:
    if count == 1:
        return Full()
    if number == 0:
        return First()
    return Last() if number == count - 1 else Middle(number)
