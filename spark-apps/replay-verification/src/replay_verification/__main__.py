"""`spark-submit … --request … --report … --summary …`: what goes in and what comes out is in `contract/README.md`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from replay_verification.job import UNREADABLE_LOG, Verifier
from replay_verification.page import render_page
from replay_verification.report import Report, Seen, make_report
from replay_verification.request import Request, read_request
from replay_verification.summary import summarize, summarize_failure
from sparkjob.command_line import NONE, begin_logging, request_parser, write_summary
from sparkjob.errors import Denied, Interrupted, Refused
from sparkjob.outcome import Outcome
from sparkjob.request_file import check_digest
from sparkjob.session import open_session, sentence_of
from sparkjob.storage import Storage

LOG = logging.getLogger("replay_verification")


def run() -> None:
    """Entry point of the process."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None, spark: SparkSession | None = None) -> int:
    """Verifies and returns the exit code; a summary is written whatever happens. A session that is given stays open."""
    parser = request_parser("replay-verification", __doc__)
    parser.add_argument(
        "--report", required=True, help="URI of the JSON report; the page is written beside it; - for none"
    )
    given = parser.parse_args(arguments)
    begin_logging()
    request: Request | None = None
    try:
        request = read_request(given.request)
        check_digest(request.digest, given.digest)
        report = _verify(request, None if given.report == NONE else given.report, spark)
        outcome, message = report.outcome, report.message
        summary = summarize(report, None if given.report == NONE else given.report)
    except Refused as refused:
        outcome, message = Outcome.REFUSED, str(refused)
    except Interrupted as interrupted:
        outcome, message = Outcome.INTERRUPTED, str(interrupted)
    except Exception as error:
        LOG.exception("The verification broke off")
        outcome, message = Outcome.INTERRUPTED, f"the verification broke off: {sentence_of(error)}"
    if outcome in {Outcome.REFUSED, Outcome.INTERRUPTED}:
        digest, level = (None, None) if request is None else (request.digest, request.level.value)
        summary = summarize_failure(outcome, message, digest, level)
    LOG.info("%s: %s", outcome, message)
    write_summary(given.summary, summary)
    return outcome.exit_code


def _verify(request: Request, report_uri: str | None, given: SparkSession | None) -> Report:
    started = datetime.now(UTC)
    spark = given or _open(request)
    try:
        storage = Storage(spark)
        if report_uri is not None:
            storage.check_writable(report_uri)
        report = make_report(request, _verified(spark, request), started)
        if report_uri is not None:
            _write(storage, report, report_uri)
        return report
    finally:
        if given is None:
            spark.stop()


def _verified(spark: SparkSession, request: Request) -> Seen:
    try:
        return Verifier(spark, request).verify()
    except Denied as denied:  # who rotates keys or grants rights mends it: it is tried again
        raise Interrupted(str(denied)) from denied


def _open(request: Request) -> SparkSession:
    whom = request.verification
    try:
        return open_session(f"replay-verification {whom.namespace}/{whom.name}")
    except (*UNREADABLE_LOG, OSError, RuntimeError) as error:
        raise Interrupted(f"Spark does not start: {sentence_of(error)}") from error


def _write(storage: Storage, report: Report, uri: str) -> None:
    try:
        storage.write(uri.removesuffix(".json") + ".html", render_page(report).encode())
        storage.write(uri, report.to_bytes())
    except Py4JError as error:
        raise Interrupted(f"the report could not be written to {uri}: {sentence_of(error)}") from error


if __name__ == "__main__":
    run()
