"""Integrity on Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sparkjob.integrity.judge import JudgePieces
from sparkjob.integrity.scan import Starts, scan_records
from sparkjob.integrity.schemas import PIECES, VERDICTS
from sparkjob.log_records import LogRecords


def pieces_of(records: LogRecords, starts: Starts) -> DataFrame:
    """Records → PIECES, without a shuffle: each Spark partition by itself."""
    return records.map(scan_records(starts), PIECES)


def verdicts_on(pieces: DataFrame, starts: Starts, *, drops_repeats: bool) -> DataFrame:
    """PIECES → VERDICTS: only pieces are shuffled, never a record that holds a whole entry."""
    ordered = pieces.repartition("topic", "region").sortWithinPartitions("topic", "region", "offset", "place")
    return ordered.mapInArrow(JudgePieces(starts, drops_repeats=drops_repeats), VERDICTS)
