"""What the operator asks of `wal-subscription` and takes from it is what the application's contract has as examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seawall.api.v1alpha1.kafka_access import ExternalKafka
from seawall.api.v1alpha1.subscription_status import MirroredTopic, Producer, StopReason
from seawall.domain.spark_job.request import Subject, kafka_of, paths_in
from seawall.domain.subscription.contract import (
    SOURCE_FOLDER,
    TARGET_FOLDER,
    End,
    Summary,
    read_end,
    request_body,
    with_stops,
)

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
    body = request_body(
        Subject(**wanted["object"], attempt=wanted["run"]),
        kafka(wanted["source"], SOURCE_FOLDER),
        kafka(wanted["target"], TARGET_FOLDER, sasl={"credentialsSecretRef": {"name": "user"}}),
        Producer(**wanted["producer"]),
        rows,
    )
    assert body == wanted


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
    text = (CONTRACT / "README.md").read_text()
    rows = [line.split("|")[1].strip(" `") for line in text.splitlines() if line.startswith("| `")]
    reasons = [row for row in rows if row in set(StopReason)]
    assert set(reasons) == set(StopReason) - {StopReason.TARGET_NOT_EMPTY}


def test_what_says_nothing_stops_nothing() -> None:
    assert read_end("", "0" * 64) == "the driver left no summary"
    assert read_end("Traceback", "0" * 64) == "the driver left a summary that cannot be read"
    wanted = example("stopped-summary.json")
    assert read_end(json.dumps(wanted), "0" * 64) == "the driver's summary is about another request"
