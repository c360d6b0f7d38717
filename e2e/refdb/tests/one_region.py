"""A region without a database around it, for tests of its log and its files."""

from __future__ import annotations

import time

from refdb.region.region import Region
from refdb.schema import Column, ColumnType, Schema

SCHEMA = Schema((Column("ts", ColumnType.TIMESTAMP), Column("v", ColumnType.STRING)), (), "ts")
REGION = 4398046511105


def leading(region: Region) -> Region:
    """The same with the lease of a leader."""
    region.extend_lease(time.monotonic() + 60)
    return region
