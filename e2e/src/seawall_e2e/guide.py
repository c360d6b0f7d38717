"""The SQL of the remote-WAL guide's demonstration."""

from __future__ import annotations

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
ROWS = tuple((name, number) for number, name in enumerate("abcdefghijkl", 1))
"""What the inserts write, without the time."""
INSERTS = tuple(
    f'INSERT INTO dist_table(n, row_num) VALUES ("{name}", {number});'  # noqa: S608 - for a test database
    for name, number in ROWS
)
SELECT = "SELECT * FROM dist_table;"
