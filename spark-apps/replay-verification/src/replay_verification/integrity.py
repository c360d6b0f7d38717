"""Integrity and the reading of Coverage, as functions DataFrame → DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from replay_verification.judge import JudgePieces
from replay_verification.scan import Starts, scan_records
from replay_verification.schemas import PIECES, VERDICTS


def counted(records: DataFrame) -> DataFrame:
    """Records and bytes of each topic: whoever counts all of them has read them from end to end."""
    size = F.coalesce(F.length("value"), F.lit(0))
    return records.groupBy("topic").agg(F.count("offset").alias("records"), F.sum(size).alias("bytes"))


def pieces_of(records: DataFrame, starts: Starts) -> DataFrame:
    """RECORDS → PIECES, without a shuffle: each Spark partition by itself."""
    return records.mapInArrow(scan_records(starts), PIECES)


def verdicts_on(pieces: DataFrame, starts: Starts) -> DataFrame:
    """PIECES → VERDICTS: only pieces are shuffled, never a record that holds a whole entry."""
    ordered = pieces.repartition("topic", "region").sortWithinPartitions("topic", "region", "offset", "place")
    return ordered.mapInArrow(JudgePieces(starts), VERDICTS)
