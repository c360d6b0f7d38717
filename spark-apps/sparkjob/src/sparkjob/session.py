"""The Spark session: what spark-submit gives, or a local one; and the doors of its Java virtual machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

_TRACEBACK = "Traceback (most recent call last):"
ARROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
}
"""What one Arrow batch holds at most, which is in memory twice: a record may have a megabyte, or a hundred bytes."""


def open_session(app_name: str, options: Mapping[str, str] | None = None) -> SparkSession:
    """The session. Outside spark-submit it is local (SPARK_MASTER, default all cores) and listens on loopback only.

    `options` are the application's own.
    """
    builder: Any = SparkSession.builder
    builder = builder.appName(app_name)
    for name, value in {**ARROW, **(options or {})}.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.ansi.enabled", "true")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        builder = builder.master(os.environ.get("SPARK_MASTER", "local[*]")).config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.sql.shuffle.partitions", "8")
    session: SparkSession = builder.getOrCreate()
    return session


def java_of(spark: SparkSession) -> Any:
    """The packages of Java, as py4j shows them."""
    return spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other door


def sentence_of(error: BaseException) -> str:
    """What an error of Spark or Java says, without its stack: the deepest cause's first line.

    Of a task in Python that is what was raised in it.
    """
    java = getattr(error, "java_exception", None)
    if java is None:
        return (raised_in(str(error)) or str(error).strip().split("\n", 1)[0])[:500]
    while (cause := java.getCause()) is not None:
        java = cause
    text = str(java.getMessage() or "")
    said = text.strip().split("\n", 1)[0]
    return (raised_in(text) or f"{java.getClass().getSimpleName()}: {said}")[:500]


def raised_in(text: str) -> str | None:
    """What the last traceback in a text ends with, by its first line, and our own errors by their sentence alone.

    None: it has no traceback.
    """
    _, found, rest = text.rpartition(_TRACEBACK)
    raised = next((line for line in rest.splitlines() if line and not line[0].isspace()), None)
    return re.sub(r"^sparkjob\.[\w.]+: ", "", raised) if found and raised is not None else None
