"""The DataFrames of Equivalence, by small examples."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from spark_marks import WITH_SPARK

from replay_verification.equivalence import differing, latest, reasons, totals
from replay_verification.schemas import ROWS

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

KEYS = "topic string, region long, cut long, key string, expected long, offset long, found long"


def rows(spark: SparkSession, *given: dict[str, Any]) -> DataFrame:
    """ROWS of topic w, region 1, cut 9."""
    common = {
        "topic": "w",
        "region": 1,
        "cut": 9,
        "found": False,
        "place": 0,
        "offset": None,
        "hash": None,
        "why": None,
    }
    return spark.createDataFrame([tuple((common | row)[name] for name in ROWS.names) for row in given], ROWS)


def keys(spark: SparkSession, *given: tuple[Any, ...]) -> DataFrame:
    """What `latest` gives: key, expected, offset, found."""
    return spark.createDataFrame([("w", 1, 9, *row) for row in given], KEYS)


def assert_same(found: DataFrame, expected: DataFrame) -> None:
    """The same columns and the same rows, in any order (pyspark's own assertion warns of pandas-on-Spark)."""
    assert [(column.name, column.dataType) for column in found.schema] == [
        (column.name, column.dataType) for column in expected.schema
    ]
    assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect()))


def test_the_highest_sequence_counts_and_the_log_comes_after_the_files(spark: SparkSession) -> None:
    given = rows(
        spark,
        {"key": "a", "position": -2, "hash": 1},
        {"key": "a", "position": -1, "hash": 2},
        {"key": "b", "position": -1, "hash": 3},
        {"key": "b", "position": 5, "offset": 5, "hash": 4},
        {"key": "b", "position": 7, "offset": 6, "place": 6, "hash": 5},
        {"key": "b", "position": 7, "offset": 7, "place": 7, "hash": 6},
        {"key": "b", "position": 6, "offset": 9, "place": 9, "hash": 9},
        {"key": "c", "position": 8, "offset": 8},
        {"key": "c", "position": -1, "hash": 7},
        {"key": "b", "position": -1, "found": True, "hash": 6},
    )
    assert_same(latest(given), keys(spark, ("a", 2, None, None), ("b", 6, 7, 6), ("c", None, 8, None)))


def test_keys_differ_when_a_side_lacks_them_or_has_another_row(spark: SparkSession) -> None:
    given = keys(spark, ("a", 1, 3, 1), ("b", 1, 5, 2), ("c", 1, 4, None), ("d", None, None, 1), ("e", None, 6, None))
    found = differing(given).select("key", "offset", "nth")
    expected = spark.createDataFrame([("c", 4, 1), ("b", 5, 2), ("d", None, 3)], "key string, offset long, nth int")
    assert_same(found, expected)


def test_totals_are_equal_for_the_same_rows_and_never_overflow(spark: SparkSession) -> None:
    big = 2**63 - 1
    given = keys(spark, ("a", big, 3, big), ("b", big, 5, big), ("c", big - 1, 7, big - 1))
    (line,) = totals(given).collect()
    assert line["differing"] == 0
    assert line["expected_rows"] == line["found_rows"] == 3
    assert line["expected_sum"] == line["found_sum"] == 3 * big - 1
    assert line["expected_xor"] == big - 1


def test_the_first_reason_of_a_region_is_told(spark: SparkSession) -> None:
    given = rows(
        spark,
        {"key": "", "position": 9, "offset": 9, "why": "later"},
        {"key": "", "position": 4, "offset": 4, "why": "first"},
        {"key": "a", "position": 1, "offset": 1, "hash": 1},
    )
    expected = spark.createDataFrame([("w", 1, "first")], "topic string, region long, why string")
    assert_same(reasons(given), expected)
