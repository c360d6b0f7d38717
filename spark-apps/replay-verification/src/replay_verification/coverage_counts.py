"""The reading of Coverage, as functions DataFrame → DataFrame."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from sparkjob.integrity.findings import Finding, Kind
from sparkjob.integrity.judge import noops_sentence


def counted(records: DataFrame) -> DataFrame:
    """Records and bytes of each topic (whoever counts all of them has read them), and what shows without decoding.

    That is how many noops beyond offset 0, tombstones and records without a key there are, and where the first one is.
    """
    size = F.coalesce(F.length("value"), F.lit(0))
    no_key, no_value = F.col("key").isNull(), F.col("value").isNull()
    columns = [F.count("offset").alias("records"), F.sum(size).alias("bytes")]
    for name, condition in {
        Kind.NOOPS: no_key & no_value & (F.col("offset") > 0),
        Kind.TOMBSTONE: ~no_key & no_value,
        Kind.MISSING_KEY: no_key & ~no_value,
    }.items():
        columns += [F.count_if(condition).alias(name), F.min(F.when(condition, F.col("offset"))).alias(f"first{name}")]
    return records.groupBy("topic").agg(*columns)


def find_counted(row: Row) -> Iterator[Finding]:
    """What a line of `counted` says."""
    for kind, said in {
        Kind.NOOPS: noops_sentence(row[Kind.NOOPS]),
        Kind.TOMBSTONE: f"{row[Kind.TOMBSTONE]} records have a key and no value: the database skips them",
        Kind.MISSING_KEY: f"{row[Kind.MISSING_KEY]} records have a value but no key: no region can be opened",
    }.items():
        if row[kind]:
            yield Finding(kind, row["topic"], said, row[f"first{kind}"])
