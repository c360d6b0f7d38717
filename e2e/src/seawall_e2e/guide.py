"""The SQL of the remote-WAL guide."""

from __future__ import annotations

from string import ascii_lowercase

CREATE_TABLE = """\
CREATE TABLE dist_table(
    ts TIMESTAMP DEFAULT current_timestamp(),
    n STRING,
    row_num INT,
    PRIMARY KEY(n),
    TIME INDEX (ts)
)
PARTITION BY RANGE COLUMNS (n) (
    PARTITION r0 VALUES LESS THAN ("f"),
    PARTITION r1 VALUES LESS THAN ("z"),
    PARTITION r2 VALUES LESS THAN (MAXVALUE),
)
engine=mito;
"""
ROWS = tuple(zip(ascii_lowercase[:12], range(1, 13), strict=True))
INSERTS = tuple(f'INSERT INTO dist_table(n, row_num) VALUES ("{n}", {number});' for n, number in ROWS)  # noqa: S608 - our rows
SELECT = "SELECT * FROM dist_table;"
PEERS = "SELECT region_id, peer_id FROM information_schema.region_peers ORDER BY region_id"
