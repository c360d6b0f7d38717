"""The contract with the Spark application `wal-subscription`: its request, version 1, and the summary of its end."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from seawall.api.meta import StatusModel
from seawall.api.v1alpha1.subscription_status import MirroredTopic, Producer, StopReason
from seawall.domain.spark_job.request import Subject

VERSION = 1
SOURCE_FOLDER, TARGET_FOLDER = "/etc/seawall/source", "/etc/seawall/target"
"""Where the Secrets of both connections are, in the driver."""
INTERVAL_MILLISECONDS = 500
"""Between two micro-batches."""
MAX_MESSAGE = 1024


def request_body(
    subject: Subject, source: object, target: object, producer: Producer, topics: Iterable[MirroredTopic]
) -> dict[str, object]:
    """A request: `source` and `target` as `spark_job.request.kafka_of` writes them; the attempt is the run's number."""
    return {
        "version": VERSION,
        "object": {"namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
        "run": subject.attempt,
        "source": source,
        "target": target,
        "producer": {"id": producer.id, "epoch": producer.epoch},
        "intervalMilliseconds": INTERVAL_MILLISECONDS,
        "topics": [
            {
                "name": row.name,
                "sourceTopicId": row.source_id,
                "targetTopicId": row.target_id,
                "from": row.start,
            }
            for row in topics
        ],
    }


class End(StrEnum):
    """How the application ends by itself; whatever else ends it, the Spark Operator starts it again."""

    STOPPED = "Stopped"
    """Topics must not go on; the next run is without them."""
    REFUSED = "Refused"
    """Nothing can be done with the request."""


class SummaryStop(StatusModel):
    """A topic that must not go on, as the driver writes it."""

    topic: Annotated[str, Field(max_length=249)]
    reason: StopReason
    offset: Annotated[int, Field(ge=0)] | None = None
    message: str = ""


class Summary(StatusModel):
    """The driver's last word."""

    version: Literal[1]
    request_digest: str
    outcome: End
    message: str = ""
    stopped: tuple[SummaryStop, ...] = ()


def read_end(text: str, digest: str) -> Summary | str:
    """The last word about the request with this digest; or why there is none that counts, as a clause."""
    try:
        found = Summary.model_validate_json(text)
    except ValidationError:
        return "the driver left no summary" if not text.strip() else "the driver left a summary that cannot be read"
    return found if found.request_digest == digest else "the driver's summary is about another request"


def with_stops(rows: tuple[MirroredTopic, ...], stops: Iterable[SummaryStop]) -> tuple[MirroredTopic, ...]:
    """The topics, those that must not go on marked."""
    by_name = {stop.topic: stop for stop in stops}
    return tuple(_stopped(row, by_name.get(row.name)) for row in rows)


def _stopped(row: MirroredTopic, stop: SummaryStop | None) -> MirroredTopic:
    if stop is None or row.stopped is not None:
        return row
    update = {"stopped": stop.reason, "offset": stop.offset, "message": stop.message[:MAX_MESSAGE]}
    return row.model_copy(update=update)
