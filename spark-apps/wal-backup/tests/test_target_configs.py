"""A topic that would refuse a record in the middle of a restore is refused before the first; the rest is on a Kafka."""

from __future__ import annotations

import time

import pytest

from sparkjob.errors import Refused
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup.parquet import Section
from wal_backup.restore import target
from wal_backup.restore.plan import TopicPlan

HOUR = 3_600_000
KAFKA_4 = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(HOUR),
    "retention.bytes": "-1",
    "retention.ms": "-1",
}


def planned(*ahead: int) -> TopicPlan:
    """A topic with sections whose newest records are so many ms ahead of now."""
    now = int(time.time() * 1000)
    sections = tuple(Section("o", at, at, at, 1, 10, 80, now + each, "d") for at, each in enumerate(ahead))
    return TopicPlan("wal_0", "id", 0, len(ahead), len(ahead), (), sections, len(ahead))


def records_of_tomorrow_are_refused() -> None:
    with pytest.raises(Refused, match=r"after\.max\.ms=3600000, and its newest record is .* ms ahead of now"):
        target._require_configs(planned(-HOUR, 24 * HOUR, -HOUR), KAFKA_4)


def test_records_of_tomorrow_are_refused_before_one_is_written() -> None:
    records_of_tomorrow_are_refused()
    target._require_configs(planned(24 * HOUR), {**KAFKA_4, "message.timestamp.after.max.ms": str(2**63 - 1)})


def what_can_be_declared_is_said() -> None:
    for name, value in (("message.timestamp.type", "LogAppendTime"), ("message.timestamp.before.max.ms", "1000")):
        with pytest.raises(Refused, match=rf"{name}={value}, and .* is needed .*spec\.topics\.config"):
            target._require_configs(planned(0), {**KAFKA_4, name: value})
    with pytest.raises(Refused, match=r"spec\.topics\.config"):
        target._require_configs(planned(24 * HOUR), KAFKA_4)
    with pytest.raises(Refused, match=r"-1 is needed to restore it$"):
        target._require_configs(planned(0), {**KAFKA_4, "retention.ms": "1"})


def test_where_a_refused_config_is_declared_is_said_if_people_declare_it() -> None:
    what_can_be_declared_is_said()


@pytest.mark.parametrize("ahead", [(), (-365 * 24 * HOUR,), (0, HOUR // 2)])
def test_what_kafka_takes_is_written(ahead: tuple[int, ...]) -> None:
    target._require_configs(planned(*ahead), KAFKA_4)


def test_the_guard_cannot_be_taken_away() -> None:
    mutants: tuple[Mutant, ...] = (
        (
            rewritten(target, "_require_configs", "ahead > int(config[_MOST_AHEAD])", "False"),
            records_of_tomorrow_are_refused,
        ),
        (rewritten(target, "_require_configs", "if name in _TIMES", "if False"), what_can_be_declared_is_said),
    )
    assert find_survivors(mutants) == []
