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


Head = dict[str, object]
"""What requests of all sinks begin with."""


def request_head(subject: Subject, source: object, target: object = None) -> Head:
    """Both Kafkas as `spark_job.request.kafka_of` writes them; rows that go to a bucket have no target."""
    return {
        "version": VERSION,
        "object": {"namespace": subject.namespace, "name": subject.name, "uid": subject.uid},
        "run": subject.attempt,
        "source": source,
        **({} if target is None else {"target": target}),
    }


def request_body(head: Head, producer: Producer, topics: Iterable[MirroredTopic]) -> dict[str, object]:
    """A request to mirror topics."""
    return {
        **head,
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
    reason: StopReason | Literal["TableUnknown"]
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


TABLE_UNKNOWN = "TableUnknown"
"""The reason of a stop that needs nobody: the names of tables are read again."""


def with_stops(rows: tuple[MirroredTopic, ...], stops: Iterable[SummaryStop]) -> tuple[MirroredTopic, ...]:
    """The topics, those that must not go on marked; and of tables that are not known, that their names are asked."""
    by_name = {stop.topic: stop for stop in stops}
    return tuple(_stopped(row, by_name.get(row.name)) for row in rows)


def _stopped(row: MirroredTopic, stop: SummaryStop | None) -> MirroredTopic:
    if stop is None or row.stopped is not None:
        return row
    if not isinstance(stop.reason, StopReason):
        # The record stands there, so the log ended beyond it before the names are read the next time.
        known_to = max(row.names_known_to or 0, (stop.offset or 0) + 1)
        return row.model_copy(update={"names_known_to": known_to})
    update = {"stopped": stop.reason, "offset": stop.offset, "message": stop.message[:MAX_MESSAGE]}
    return row.model_copy(update=update)
