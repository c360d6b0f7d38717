"""The examples of `contract/` are what the program reads and writes; bad requests are refused with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkjob.errors import Refused
from sparkjob.wire.batches import Producer
from wal_subscription.__main__ import main
from wal_subscription.request import Topic, parse_request
from wal_subscription.stops import Reason, Stop
from wal_subscription.summary import MOST_BYTES, Outcome, summarize

CONTRACT = Path(__file__).parents[1] / "contract"
PAGES = "".join((CONTRACT / name).read_text() for name in ("README.md", "RECORDS.md"))
DIGEST = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_bytes())


def test_a_request_is_read() -> None:
    request = parse_request((CONTRACT / "request.json").read_bytes())
    assert (request.whom, request.run, request.milliseconds) == ("db/dr", 3, 500)
    assert request.producer == Producer(4001, 0)
    assert request.topics[0] == Topic("wal_0", "vPeOCWypqUOSepEvx0cbog", "6h5pFq2vQ0yFZ8mJ1rT3bw", 12)
    assert request.target.sasl is not None
    assert request.source.cluster_id != request.target.cluster_id


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "request has version 2; this program reads version 1"),
        ({"producer": {"id": 4001}}, "request.producer.epoch is missing"),
        ({"producer": {"id": 4001, "epoch": 40000}}, "request.producer.epoch is 40000, not a number from 0 to 32767"),
        ({"producer": {"id": -1, "epoch": 0}}, "request.producer.id is -1, not a number"),
        ({"intervalMilliseconds": 50}, "request.intervalMilliseconds is 50, not a number from 100 to 60000"),
        ({"topics": []}, "the request has no topics"),
        ({"topics": [*example("request.json")["topics"]] * 2}, "the request names a topic twice"),
        ({"topics": [{"name": "a", "sourceTopicId": "b", "from": 0}]}, r"request.topics\[0\].targetTopicId is missing"),
        ({"target": example("request.json")["source"]}, "source and target are one Kafka cluster, 5L6g3nShT"),
        ({"source": {"bootstrapServers": ["a:1"]}}, "request.source.clusterId is missing"),
        ({"target": None}, "request.target is not a JSON object"),
    ],
)
def test_a_bad_request_is_refused_with_its_place(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_request(json.dumps({**example("request.json"), **change}).encode())


def test_the_summaries_are_as_they_are_written() -> None:
    stopped, refused = example("stopped-summary.json"), example("refused-summary.json")
    stop = Stop("wal_0", Reason.SOURCE_GAP, 4711, stopped["message"])
    assert json.loads(summarize(Outcome.STOPPED, stop.message, DIGEST, [stop])) == stopped
    assert json.loads(summarize(Outcome.REFUSED, refused["message"], DIGEST)) == refused


def test_a_summary_of_many_topics_is_no_longer_than_kubernetes_keeps_and_counts_all() -> None:
    stops = [Stop(f"wal_{number}", Reason.DIVERGED, number, '"é😀' * 200) for number in range(1_000)]
    content = summarize(Outcome.STOPPED, stops[0].message, DIGEST, stops)
    found = json.loads(content)
    assert len(content) <= MOST_BYTES
    assert found["stoppedTopics"] == 1_000
    assert 0 < len(found["stopped"]) < 1_000
    assert found["stopped"][0]["topic"] == "wal_0"


def test_every_reason_and_outcome_is_in_the_contract() -> None:
    for word in (*Reason, *Outcome):
        assert f"`{word.value}`" in PAGES, word


def test_only_what_a_restart_may_change_ends_with_another_code_than_0() -> None:
    assert {outcome.value: outcome.exit_code for outcome in Outcome} == {"Stopped": 0, "Refused": 0, "Interrupted": 3}


def test_another_request_than_was_meant_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    given = ["--request", str(CONTRACT / "request.json"), "--summary", str(summary), "--digest", "0" * 64]
    assert main(given) == 0
    found = json.loads(summary.read_bytes())
    assert (found["outcome"], found["stopped"]) == ("Refused", [])
    assert "this application was made for 000" in found["message"]


def test_a_request_that_is_not_there_is_refused(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    assert main(["--request", str(tmp_path / "none.json"), "--summary", str(summary)]) == 0
    assert json.loads(summary.read_bytes())["requestDigest"] is None
