"""Equivalence as functions DataFrame → DataFrame: older rows + log = newer rows, by counts, digests and keys."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

SHOWN_KEYS = 20
_WIDE = "decimal(20,0)"
"""A long as a number whose sum does not overflow, which is an error by the rules of ANSI."""
_PAIR = ("topic", "region", "cut")


def latest(rows: DataFrame) -> DataFrame:
    """ROWS → one line for each key of a pair: the hash that is expected, the one found, and where the log has it.

    What counts is the row with the highest position: of the log that is its sequence number, as in the database, and
    not its offset. An entry that was sent again late changes nothing.
    """
    last = F.max_by(F.struct("hash", "offset"), F.struct("position", "place"))
    by_side = rows.where(F.col("why").isNull()).groupBy(*_PAIR, "key", "found").agg(last.alias("last"))
    expected, found = (F.when(F.col("found") == F.lit(side), F.col("last")) for side in (False, True))
    return by_side.groupBy(*_PAIR, "key").agg(
        F.max(expected.getField("hash")).alias("expected"),
        F.max(expected.getField("offset")).alias("offset"),
        F.max(found.getField("hash")).alias("found"),
    )


def totals(keys: DataFrame) -> DataFrame:
    """What `latest` gave → counts and order-independent digests of each pair, and how many keys differ."""
    differs = ~F.col("expected").eqNullSafe(F.col("found"))
    columns = [F.count_if(differs).alias("differing")]
    for side in ("expected", "found"):
        columns += [
            F.count(side).alias(f"{side}_rows"),
            F.bit_xor(side).alias(f"{side}_xor"),
            F.sum(F.col(side).cast(_WIDE)).alias(f"{side}_sum"),
        ]
    return keys.groupBy(*_PAIR).agg(*columns)


def differing(keys: DataFrame) -> DataFrame:
    """What `latest` gave → the keys that differ, at most 20 of each pair, those first that the log has first."""
    order = Window.partitionBy(*_PAIR).orderBy(F.col("offset").asc_nulls_last(), "key")
    found = keys.where(~F.col("expected").eqNullSafe(F.col("found"))).withColumn("nth", F.row_number().over(order))
    return found.where(F.col("nth") <= SHOWN_KEYS).orderBy(*_PAIR, "nth")


def twice(rows: DataFrame) -> DataFrame:
    """ROWS of files → a key of each region that one file has twice, and the newer cut of its pair."""
    of_files = rows.where(F.col("offset").isNull() & F.col("why").isNull())
    copies = of_files.groupBy(*_PAIR, "key", "found", "position").agg(F.count("*").alias("copies"))
    found = copies.where(F.col("copies") > 1).groupBy("topic", "region")
    return found.agg(F.min_by("key", F.struct("cut", "key")).alias("key"), F.min("cut").alias("cut"))


def reasons(rows: DataFrame) -> DataFrame:
    """ROWS → why regions cannot be compared: the first reason of each."""
    return rows.where(F.col("why").isNotNull()).groupBy("topic", "region").agg(F.min_by("why", "offset").alias("why"))


def union_of(frames: list[DataFrame]) -> DataFrame:
    """All of them, one after the other."""
    return reduce(DataFrame.unionByName, frames)
