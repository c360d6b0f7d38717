"""The Parquet files of a snapshot as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
)

from sparkjob.errors import Refused
from sparkjob.session import sentence_of
from sparkjob.storage import Storage

_PLAIN_TYPES = (IntegralType, StringType, BooleanType, FloatType, DoubleType, BinaryType)


def read_files(
    spark: SparkSession, folder: str, names: Iterable[str], columns: Sequence[str], *, numbered: bool = False
) -> DataFrame:
    """The rows of files that have the same columns: the file's URI, if `numbered` its number in the file, the columns.

    Raises:
        Refused: a file cannot be read, does not have a column, or has one of a type that is made of others.
    """
    place = [F.col("_metadata.file_path"), *([F.col("_metadata.row_index")] if numbered else [])]
    given, storage = list(names), Storage(spark)
    for name in given:
        _require_columns(storage, folder, name, columns)
    try:
        frame = spark.read.parquet(*(f"{folder}/{name}" for name in given))
        chosen = frame.select(*place, *(F.col(f"`{name}`") for name in columns))
    except AnalysisException as error:
        raise Refused(f"the snapshot {folder} cannot be read: {sentence_of(error)}") from None
    for field in chosen.schema.fields[len(place) :]:
        if not _is_plain(field.dataType):
            said = f"column {field.name} is {field.dataType.simpleString()}; times must be integers"
            raise Refused(f"the snapshot {folder} cannot be compared: {said}")
    return chosen


def _require_columns(storage: Storage, folder: str, name: str, columns: Sequence[str]) -> None:
    """Spark takes the columns of one file for those of all, and reads those that another one lacks as nulls.

    (ParquetUtils.inferSchema of Spark 4.0.0 without mergeSchema: "just assume all schemas are consistent".)
    """
    try:
        missing = set(columns) - storage.parquet_columns(f"{folder}/{name}")
    except Py4JJavaError as error:
        raise Refused(f"the snapshot {folder} cannot be read: {sentence_of(error)}") from None
    if missing:
        raise Refused(f"the snapshot {folder} cannot be read: {name} has no column {min(missing)}")


def _is_plain(kind: DataType) -> bool:
    return isinstance(kind, _PLAIN_TYPES) or (isinstance(kind, DecimalType) and kind.scale == 0)
