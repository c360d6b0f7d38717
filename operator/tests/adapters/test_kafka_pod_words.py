"""What the entrypoint of a Kafka node said, by the status of its containers: only its refusals are of a volume."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from seawall.adapters.kube.kafka_objects import placed, said_by


def ended(name: str, code: int, message: str) -> dict[str, Any]:
    return {
        "name": name,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": code, "message": message}},
    }


@pytest.mark.parametrize(
    "word", ["VolumeEmpty 1b2c: nothing is on it", "ForeignVolume: of node 1", "NotEmpty: it has x"]
)
@pytest.mark.parametrize("name", ["format", "kafka"])
def test_a_refusal_of_the_entrypoint_is_of_a_volume(name: str, word: str) -> None:
    assert said_by(ended(name, 3, f"{word}\n")) == word
    assert not said_by(ended(name, 1, word)), "another program's end"


def test_the_end_of_a_log_is_none_although_java_ends_with_the_same_code() -> None:
    """-XX:+ExitOnOutOfMemoryError ends Java with 3, and Kubernetes takes the last words from the log."""
    assert not said_by(ended("kafka", 3, "Terminating due to java.lang.OutOfMemoryError: Java heap space"))


def test_what_runs_again_has_said_nothing() -> None:
    runs = {**ended("kafka", 3, "ForeignVolume: of node 1"), "state": {"running": {}}}
    assert not said_by(runs)


def test_a_pod_tells_when_it_got_its_machine() -> None:
    at = {"lastTransitionTime": "2026-11-28T07:30:00Z"}
    assert placed({"status": "True", **at}) == datetime(2026, 11, 28, 7, 30, tzinfo=UTC)
    assert placed({"status": "False", **at}) is None
    assert placed({"status": "True"}) is None
    assert placed(None) is None
