"""The rows: all of a row follows from what the ledger keeps of its batch, so the ledger need not keep values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

TABLE = "acked_rows"
SELECT = f"SELECT k, ts, v FROM {TABLE}"  # noqa: S608 - a constant


class Row(NamedTuple):
    """A row as it is written and as it must be read; the time is in milliseconds."""

    key: str
    time: int
    value: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one INSERT. All are of one region, which acknowledges them together, as one entry of its log.

    A name is used once, also by a writer that was killed and started again; its first two digits choose the partition.
    """

    name: str
    count: int
    time: int
    size: int

    def rows(self) -> list[Row]:
        """What is written."""
        keys = (f"{self.name}.{number}" for number in range(self.count))
        return [Row(key, self.time + number, value_of(key, self.size)) for number, key in enumerate(keys)]

    def insert(self) -> str:
        """The statement."""
        values = ", ".join(f"('{row.key}', {row.time}, '{row.value}')" for row in self.rows())
        return f"INSERT INTO {TABLE}(k, ts, v) VALUES {values}"  # noqa: S608 - for a test database


def batch_name(partition: int, writer: str, number: int) -> str:
    """The name of a writer's batch for a partition; writers have different names."""
    return f"{partition:02}-{writer}-{number:06}"


def batch_of(key: str) -> str:
    """The name of the batch that a row belongs to."""
    return key.rsplit(".", 1)[0]


def value_of(key: str, size: int) -> str:
    """The value of a row, which no other row has: so many hexadecimal digits that hardly can be compressed."""
    return hashlib.shake_256(key.encode()).hexdigest((size + 1) // 2)[:size]


def create_table(partitions: int) -> str:
    """The statement that makes the table, with one region for each partition."""
    bounds = [f'"{number:02}"' for number in range(1, partitions)] + ["MAXVALUE"]
    parts = ", ".join(f"PARTITION p{number} VALUES LESS THAN ({bound})" for number, bound in enumerate(bounds))
    columns = "k STRING, ts TIMESTAMP(3) TIME INDEX, v STRING, PRIMARY KEY (k)"
    return f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns}) PARTITION BY RANGE COLUMNS (k) ({parts}) engine=mito"
