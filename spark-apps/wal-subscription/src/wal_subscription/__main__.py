"""The command `wal-subscription`: what goes in and what comes out is in `contract/README.md`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

from sparkjob.command_line import begin_logging, request_parser, write_summary
from sparkjob.errors import Interrupted, Refused
from sparkjob.request_file import check_digest, digest_of, read_bytes
from sparkjob.session import open_session, sentence_of
from wal_subscription.requests import parse_any
from wal_subscription.stops import Stop
from wal_subscription.stream import stream
from wal_subscription.summary import Outcome, summarize

LOG = logging.getLogger("wal_subscription")


def run() -> None:
    """Entry point of the process."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Streams until somebody must act, and returns the exit code; a summary is written whatever happens."""
    parser = request_parser("wal-subscription", __doc__)
    given = parser.parse_args(arguments)
    begin_logging()
    digest: str | None = None
    stops: Sequence[Stop] = ()
    try:
        content = read_bytes(given.request)
        digest = digest_of(content)
        check_digest(digest, given.digest)
        stops = _stream(content, spark)
        outcome, message = Outcome.STOPPED, stops[0].message
    except Refused as refused:
        outcome, message = Outcome.REFUSED, str(refused)
    except Interrupted as interrupted:
        outcome, message = Outcome.INTERRUPTED, str(interrupted)
    except Exception as error:
        LOG.exception("It broke off")
        outcome, message = Outcome.INTERRUPTED, f"it broke off: {sentence_of(error)}"
    LOG.info("%s: %s", outcome, message)
    write_summary(given.summary, summarize(outcome, message, digest, stops))
    return outcome.exit_code


def _stream(content: bytes, given: SparkSession | None) -> Sequence[Stop]:
    request = parse_any(content)
    spark = given or open_session(f"wal-subscription {request.whom}")
    try:
        return stream(spark, request)
    finally:
        if given is None:
            spark.stop()


if __name__ == "__main__":
    run()
