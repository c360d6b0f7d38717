"""What the operator asks of `wal-subscription` and takes from it is what the application's contract has as examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.subscription_sinks import RecordsSink, TableSelection, TableSink
from seawall.api.v1alpha1.subscription_status import (
    MirroredTopic,
    Producer,
    RecordsTopics,
    StopReason,
    TargetTopic,
)
from seawall.api.v1alpha1.subscription_targets import TableBucket
from seawall.domain.spark_job.bucket import s3_of
from seawall.domain.spark_job.request import Subject, kafka_of, paths_in
from seawall.domain.subscription.committed.chain import Commit, folder_of, object_name, parse
from seawall.domain.subscription.committed.progress import Progress
from seawall.domain.subscription.contract import (
    SOURCE_FOLDER,
    TABLE_UNKNOWN,
    TARGET_FOLDER,
    End,
    Summary,
    read_end,
    request_body,
    request_head,
    with_stops,
)
from seawall.domain.subscription.records import request as of_rows

CONTRACT = Path(__file__).parents[3] / "spark-apps" / "wal-subscription" / "contract"


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_text())


def kafka(wanted: dict[str, Any], folder: str, **sasl: Any) -> object:
    tls = {"caSecretRef": {"name": "ca"}}
    spec = {"bootstrapServers": wanted["bootstrapServers"], "tls": tls, **sasl}
    return kafka_of(ExternalKafka.model_validate(spec), wanted["clusterId"], paths_in(folder))


def test_a_request_is_written_as_its_example() -> None:
    wanted = example("request.json")
    rows = [
        MirroredTopic(
            name=topic["name"],
            source_id=topic["sourceTopicId"],
            target_id=topic["targetTopicId"],
            start=topic["from"],
        )
        for topic in wanted["topics"]
    ]
    assert request_body(head_of(wanted), Producer(**wanted["producer"]), rows) == wanted


def test_a_request_for_rows_is_written_as_its_example() -> None:
    wanted = example("records-request.json")
    records = wanted["records"]
    sink = RecordsSink.model_validate({"target": "t", "topic": records["rows"]["topic"], "by": records["by"]})
    topics = RecordsTopics(
        rows=output(records["rows"]), progress=output(records["progress"]), dead_letters=output(records["deadLetters"])
    )
    head = {**head_of(wanted), **of_rows.records_of(records["writer"], sink, topics)}
    if "snapshot" in wanted:
        head["snapshot"] = {"uri": wanted["snapshot"]["uri"]}
    assert of_rows.request_body(head, wanted["databaseVersion"], tables_of(wanted), rows_of(wanted)) == wanted


def test_a_request_for_tables_is_written_as_its_example() -> None:
    wanted = example("table-request.json")
    table, s3 = wanted["table"], wanted["table"]["s3"]
    most, letters = table["maxFileBytes"], table["deadLetters"]
    sink = TableSink.model_validate({"target": "lake", "maxFileBytes": most, "deadLetters": letters})
    place = {key: s3[key] for key in ("bucket", "prefix", "region", "endpoint")}
    bucket = TableBucket.model_validate({**place, "credentialsSecretRef": {"name": "key"}})
    body = {**s3_of(bucket, "/etc/seawall/s3", has_key=True), "pathStyle": s3["pathStyle"]}
    head = {**head_of(wanted), **of_rows.table_of(table["writer"], sink, body)}
    found = of_rows.request_body(head, wanted["databaseVersion"], tables_of(wanted), rows_of(wanted))
    assert {**found, "intervalMilliseconds": wanted["intervalMilliseconds"]} == wanted


def test_a_commit_is_read_as_its_example() -> None:
    wanted = example("commit.json")
    row = MirroredTopic(
        name=wanted["topic"], source_id=wanted["sourceTopicId"], start=0, generation=wanted["generation"]
    )
    found = parse(json.dumps(wanted).encode(), wanted["writer"], row)
    assert isinstance(found, Commit)
    assert found.model_dump(by_alias=True).items() <= wanted.items()
    text = (CONTRACT / "TABLE.md").read_text()
    assert "`chains/<topic>/<sourceTopicId>/<generation>/log/<number, 20 digits>.json`" in text
    folder = folder_of(wanted["writer"], row)
    assert folder == f"{wanted['writer']}/chains/wal_0/{row.source_id}/{row.generation}/log"
    assert object_name(217) == "00000000000000000217.json"


def test_progress_is_read_as_its_example() -> None:
    wanted = example("progress.json")
    found = Progress.model_validate_json(json.dumps(wanted))
    assert found.model_dump(by_alias=True).items() <= wanted.items()


def rows_of(wanted: dict[str, Any]) -> list[MirroredTopic]:
    """The topics of a request for rows, as the status has them."""
    return [
        MirroredTopic(
            name=topic["name"],
            source_id=topic["sourceTopicId"],
            start=topic["from"],
            generation=topic["generation"],
            progress_partition=topic.get("progressPartition"),
            names_known_to=topic["namesKnownTo"],
        )
        for topic in wanted["topics"]
    ]


def tables_of(wanted: dict[str, Any]) -> dict[str, object]:
    """What the operator makes of the tables that there are."""
    tables = wanted["tables"]
    names = {table["id"]: table["name"] for table in tables["known"]}
    names |= dict.fromkeys(tables["notSelected"], "private.other")
    return of_rows.tables_of(TableSelection(include=tables["include"], exclude=tables["exclude"]), names)


def head_of(wanted: dict[str, Any]) -> dict[str, object]:
    head = request_head(Subject(**wanted["object"], attempt=wanted["run"]), kafka(wanted["source"], SOURCE_FOLDER))
    if "target" not in wanted:
        return head
    return {**head, "target": kafka(wanted["target"], TARGET_FOLDER, sasl={"credentialsSecretRef": {"name": "user"}})}


def output(wanted: dict[str, Any]) -> TargetTopic:
    most = wanted["maxMessageBytes"]
    return TargetTopic(
        name=wanted["topic"], id=wanted["topicId"], partitions=wanted["partitions"], max_message_bytes=most
    )


def test_a_word_that_stops_topics_is_read_as_its_example() -> None:
    wanted = example("stopped-summary.json")
    found = read_end(json.dumps(wanted), wanted["requestDigest"])
    assert isinstance(found, Summary)
    assert found.outcome is End.STOPPED
    rows = tuple(MirroredTopic(name=name, source_id="s", target_id="t", start=0) for name in ("wal_0", "wal_1"))
    first, second = with_stops(rows, found.stopped)
    assert (first.stopped, first.offset) == (StopReason.SOURCE_GAP, 4711)
    assert first.message == wanted["stopped"][0]["message"]
    assert second.stopped is None


def test_a_word_that_refuses_is_read_as_its_example() -> None:
    wanted = example("refused-summary.json")
    found = read_end(json.dumps(wanted), wanted["requestDigest"])
    assert isinstance(found, Summary)
    assert (found.outcome, found.message) == (End.REFUSED, wanted["message"])


def test_every_reason_of_the_contract_is_known() -> None:
    text = "".join((CONTRACT / name).read_text() for name in ("README.md", "RECORDS.md", "TABLE.md"))
    rows = {line.split("|")[1].strip(" `") for line in text.splitlines() if line.startswith("| `")}
    assert rows & {*StopReason, TABLE_UNKNOWN} == {*StopReason, TABLE_UNKNOWN} - {StopReason.TARGET_NOT_EMPTY}


def test_what_says_nothing_stops_nothing() -> None:
    assert read_end("", "0" * 64) == "the driver left no summary"
    assert read_end("Traceback", "0" * 64) == "the driver left a summary that cannot be read"
    wanted = example("stopped-summary.json")
    assert read_end(json.dumps(wanted), "0" * 64) == "the driver's summary is about another request"
