"""Objects are Parquet files: a program that knows nothing of ours reads them."""

from __future__ import annotations

import secrets

import pyarrow.dataset
from backups import Bed
from spark_marks import WITH_SPARK

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK


def test_plain_pyarrow_reads_all_objects_of_a_chain_as_one_table(bed: Bed) -> None:
    one, other = (f"plain_{secrets.token_hex(4)}" for _ in range(2))
    bed.topics.fill({one: [(b"a", b"1"), (None, b"2")], other: [(b"b", None)]})
    full = bed.back_up((one, 0, 1), (other, 0, 1))
    assert bed.back_up((one, 1, 2), (other, 1, 1), parent=full, name="more").code == 0
    table = pyarrow.dataset.dataset(bed.chain / "data", format="parquet").to_table().sort_by("offset")
    rows = [(row["topic"], row["offset"], row["key"], row["value"]) for row in table.to_pylist()]
    assert sorted(rows, key=str) == sorted(
        [(one, 0, b"a", b"1"), (one, 1, None, b"2"), (other, 0, b"b", None)], key=str
    )
    assert {str(field.type) for field in table.schema if field.name == "timestamp"} == {"timestamp[ms, tz=UTC]"}
