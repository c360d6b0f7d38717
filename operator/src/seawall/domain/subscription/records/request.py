"""What the application of the sink of rows is told: the request of spark-apps/wal-subscription/contract/RECORDS.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seawall.api.v1alpha1.subscription import RecordsSink, TableSelection
from seawall.api.v1alpha1.subscription_status import MirroredTopic, RecordsTopics, TargetTopic
from seawall.domain.subscription.contract import Head


def request_body(
    head: Head,
    database_version: str | None,
    sink: dict[str, object],
    tables: dict[str, object],
    topics: Iterable[MirroredTopic],
) -> dict[str, object]:
    """A request to hand rows on."""
    return {
        **head,
        "sink": "Records",
        "databaseVersion": database_version,
        "records": sink,
        "tables": tables,
        "topics": [
            {
                "name": row.name,
                "sourceTopicId": row.source_id,
                "from": row.start,
                "progressPartition": row.progress_partition,
                "generation": row.generation,
                "namesKnownTo": row.names_known_to,
            }
            for row in topics
        ],
    }


def sink_of(writer: str, sink: RecordsSink, topics: RecordsTopics) -> dict[str, object]:
    """The `records` of a request."""
    return {
        "writer": writer,
        "by": sink.by.value,
        "rows": _output(topics.rows),
        "progress": _output(topics.progress),
        "deadLetters": None if topics.dead_letters is None else _output(topics.dead_letters),
    }


def _output(topic: TargetTopic) -> dict[str, object]:
    return {
        "topic": topic.name,
        "topicId": topic.id,
        "partitions": topic.partitions,
        "maxMessageBytes": topic.max_message_bytes,
    }


def tables_of(selection: TableSelection, names: Mapping[int, str]) -> dict[str, object]:
    """The `tables` of a request: of the tables that there are those that are selected, and those that are not."""
    chosen = {table for table, name in names.items() if selection.selects(name)}
    return {
        "include": list(selection.include),
        "exclude": list(selection.exclude),
        "known": [{"id": table, "name": names[table]} for table in sorted(chosen)],
        "notSelected": sorted(names.keys() - chosen),
    }
