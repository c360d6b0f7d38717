"""Entries with the rows of "cpu-only" of the Time Series Benchmark Suite: what a database of machine metrics is sent.

Ten tags of a host, ten usages in per cent that walk at random by whole numbers (timescale/tsbs,
pkg/data/usecases/devops/cpu.go); every ten seconds a row of each host.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from walrecord import encode_entry
from walrecord.pb.wal_pb2 import ColumnSchema, Mutation, Row, Rows, Value, WalEntry

HOSTS, ROWS = 100, 10
"""How many hosts there are, and how many rows are in an entry."""
_BEGIN, _STEP = 1_451_606_400_000, 10_000
_TAGS = {
    "region": ("us-east-1", "us-west-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-southeast-1", "sa-east-1"),
    "datacenter": ("a", "b", "c"),
    "rack": tuple(map(str, range(100))),
    "os": ("Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"),
    "arch": ("x64", "x86"),
    "team": ("SF", "NYC", "LON", "CHI"),
    "service": tuple(map(str, range(20))),
    "service_version": ("0", "1"),
    "service_environment": ("production", "staging", "test"),
}
_USAGES = ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
_SCHEMA = [
    *(ColumnSchema(column_name=name, datatype=ColumnSchema.STRING, semantic_type=ColumnSchema.TAG)
      for name in ("hostname", *_TAGS)),
    ColumnSchema(column_name="ts", datatype=ColumnSchema.TIMESTAMP_MILLISECOND, semantic_type=ColumnSchema.TIMESTAMP),
    *(ColumnSchema(column_name=f"usage_{name}", datatype=ColumnSchema.INT64, semantic_type=ColumnSchema.FIELD)
      for name in _USAGES),
]  # fmt: skip


def entries(count: int, seed: int = 1) -> Iterator[bytes]:
    """So many entries of `ROWS` rows each, the same ones for the same seed."""
    drawn = random.Random(seed)  # noqa: S311 - a workload
    tags = [[f"host_{host}", *(drawn.choice(values) for values in _TAGS.values())] for host in range(HOSTS)]
    usages = [[drawn.randint(0, 100) for _ in _USAGES] for _ in range(HOSTS)]
    for number in range(count):
        rows = []
        for index in range(number * ROWS, (number + 1) * ROWS):
            tick, host = divmod(index, HOSTS)
            usages[host] = [min(100, max(0, usage + round(drawn.gauss(0, 1)))) for usage in usages[host]]
            rows.append(_row(tags[host], _BEGIN + tick * _STEP, usages[host]))
        put = Mutation(op_type=Mutation.PUT, sequence=number * ROWS + 1, rows=Rows(schema=_SCHEMA, rows=rows))
        yield encode_entry(WalEntry(mutations=[put]))


def _row(tags: list[str], at: int, usages: list[int]) -> Row:
    values = [Value(text=tag) for tag in tags]
    return Row(values=[*values, Value(ts_ms=at), *(Value(i64=usage) for usage in usages)])
