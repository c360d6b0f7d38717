"""Opens Spark, and says in a sentence why it does not."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from sparkjob.errors import Interrupted
from sparkjob.session import open_session, sentence_of


def open_spark(name: str, options: Mapping[str, str] | None = None) -> SparkSession:
    """A session.

    Raises:
        Interrupted: Spark does not start.
    """
    try:
        return open_session(name, options)
    except (OSError, RuntimeError) as error:
        raise Interrupted(f"Spark does not start: {sentence_of(error)}") from error
