"""What applications that hand rows on are told: RECORDS.md and TABLE.md of spark-apps/wal-subscription/contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from seawall.api.v1alpha1.subscription_sinks import RecordsSink, TableSelection, TableSink
from seawall.api.v1alpha1.subscription_status import MirroredTopic, RecordsTopics, TargetTopic
from seawall.domain.subscription.contract import INTERVAL_MILLISECONDS, Head


def request_body(
    head: Head, database_version: str | None, tables: dict[str, object], topics: Iterable[MirroredTopic]
) -> dict[str, object]:
    """A request to hand rows on; the head says where to."""
    return {
        **head,
        "intervalMilliseconds": INTERVAL_MILLISECONDS,
        "databaseVersion": database_version,
        "tables": tables,
        "topics": [
            {
                "name": row.name,
                "sourceTopicId": row.source_id,
                "from": row.start,
                **({} if row.progress_partition is None else {"progressPartition": row.progress_partition}),
                "generation": row.generation,
                "namesKnownTo": row.names_known_to,
            }
            for row in topics
        ],
    }


def records_of(writer: str, sink: RecordsSink, topics: RecordsTopics) -> dict[str, object]:
    """Rows that go to a topic."""
    records = {
        "writer": writer,
        "by": sink.by.value,
        "rows": _output(topics.rows),
        "progress": _output(topics.progress),
        "deadLetters": None if topics.dead_letters is None else _output(topics.dead_letters),
    }
    return {"sink": "Records", "records": records}


def table_of(writer: str, sink: TableSink, s3: dict[str, object]) -> dict[str, object]:
    """Rows that go to a bucket."""
    table = {
        "s3": s3,
        "writer": writer,
        "commitMilliseconds": sink.commit_interval // timedelta(milliseconds=1),
        "maxFileBytes": sink.max_file_bytes,
        "deadLetters": sink.dead_letters,
    }
    return {"sink": "Table", "table": table}


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
