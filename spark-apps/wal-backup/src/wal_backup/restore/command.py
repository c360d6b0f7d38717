"""The commands `plan` and `restore`."""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from wal_backup.answer import Answer
from wal_backup.restore.plan import Plan
from wal_backup.restore.planner import make_plan
from wal_backup.restore.request import parse_plan, parse_restore
from wal_backup.restore.run import ONE_WRITER, Restore, about
from wal_backup.restore.source import ChainBroken
from wal_backup.spark import open_spark
from wal_backup.store import Store

LOG = logging.getLogger(__name__)


def plan(content: bytes, _: SparkSession | None) -> Answer:
    """Plans a restore, and puts the plan into the store for people to read."""
    request = parse_plan(content)
    store = Store(request.place)
    try:
        made = make_plan(store, request)
    except ChainBroken as broken:
        return Answer(str(broken), broken.findings)
    if store.size(made.name) is None:  # the same plan has the same name: nothing is overwritten
        store.write(made.name, made.to_bytes())
    for topic in made.topics:
        LOG.info("%s", topic.to_json())
    details = about(made, request.names)
    counts = details["counts"]
    said = f"{counts['records']} records of {counts['topics']} topics come back from {made.backup.name}"
    return Answer(f"{said}; {counts['lostAtMost']} offsets are lost at most{_missing(made)}", (), details)


def _missing(made: Plan) -> str:
    """Of which topic regions read what the chain never had, as a clause; empty: of none."""
    found = next((topic for topic in made.topics if topic.missing), None)
    if found is None:
        return ""
    return (
        f": of topic {found.name} regions read from {found.start - found.missing}, and the chain begins at "
        f"{found.start}; another chain may have that"
    )


def restore(content: bytes, given: SparkSession | None) -> Answer:
    """Restores what was planned."""
    request = parse_restore(content)
    spark = given or open_spark("wal-backup restore", ONE_WRITER)
    try:
        return Restore(spark, request).run()
    finally:
        if given is None:
            spark.stop()
